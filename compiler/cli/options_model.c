/* options_model.c: the options that say what model is made, as the engine takes
 * them and as a line of text.                                                */
#include <string.h>

#include "cli/cli.h"

/* What a hint about records may name: nothing that the command would refuse. */
static int offers_of(const Options *o)
{
    static const struct {
        const char *name;
        Offers offer;
    } rows[] = {
        { "--march", OfferMarch },     { "--width", OfferWidth },
        { "--threads", OfferThreads }, { "--backend", OfferBackend },
        { "--cc", OfferCc },           { "-O", OfferLevel },
    };
    int all = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !o->quiet; i++)
        if (option_taken(o->command, rows[i].name))
            all |= rows[i].offer;
    return all;
}

EngineOptions engine_options(const Options *o)
{
    return (EngineOptions){
        .spec = o->spec,
        .sets = o->sets.at, .nsets = o->sets.n,
        .taps = o->taps.at, .ntaps = o->taps.n,
        .passes = {
            .skip = o->skip.at, .nskip = o->skip.n,
            .dump = o->dump.at, .ndump = o->dump.n,
            .after = o->after,
            .explain = o->explain,
            .require_fusion = o->require_fusion,
        },
        .march = o->march, .width = (int)o->width, .tile = o->tile,
        .backend = o->backend, .cc = o->cc, .level = o->level,
        .weights = o->weights, .seed = (uint64_t)o->seed,
        .threads = o->threads,
        .tuned = !o->no_records, .records = o->records,
        .offers = offers_of(o),
    };
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A setting without the folders of a path: no file of ours names a place. */
static const char *setting_name(Arena *a, const char *set)
{
    const char *value = strchr(set, '=');
    return value ? arena_printf(a, "%.*s=%s", (int)(value - set), set,
                                base_name(value + 1))
                 : set;
}

const char *canonical_command(Arena *a, const Options *o, const Target *t)
{
    const char *line = arena_printf(a, "attnc compile %s --march=%s",
                                    base_name(o->spec), t->name);
    if (o->width)
        line = arena_printf(a, "%s --width=%d", line, t->width);
    if (o->tile)
        line = arena_printf(a, "%s --tile=%dx%d", line, t->mr, t->nr);
    for (int i = 0; i < o->sets.n; i++)
        line = arena_printf(a, "%s --set %s", line,
                            quote(setting_name(a, o->sets.at[i])));
    for (int i = 0; i < o->skip.n; i++)
        line = arena_printf(a, "%s --skip=%s", line, quote(o->skip.at[i]));
    if (o->threads > 0)
        line = arena_printf(a, "%s --threads=%lld", line,
                            (long long)o->threads);
    return o->embed ? arena_printf(a, "%s --embed", line) : line;
}
