/* cmd_diff.c: attnc diff. Compares two variants of a model. */
#include "base/table.h"
#include "base/strings.h"
#include "cli/options/options.h"
#include "diff/diff.h"

typedef struct { /* one of the two variants */
    Engine engine;
    Facts facts;
    const char *name;
} Variant;

static int find_facts(Variant *to, EngineOptions options)
{
    PassRecord *record;
    Arena *a = to->facts.arena;
    record = arena_alloc(a, (size_t)n_passes * sizeof *record);
    options.passes.record = record;
    const int code = engine_plan(&to->engine, &options);
    if (!code)
        facts_of(&to->facts, &to->engine, record);
    return code;
}

static const char *shown_path(const char *path)
{
    return is_stdout(path) ? "stdin" : path;
}

/* Returns the name of a variant: its spec and the options that change it. */
static const char *variant_name(Arena *a, const Options *o)
{
    Buffer b = { .arena = a };
    buffer_printf(&b, "%s", shown_path(o->model.spec));
    for (int i = 0; i < o->model.sets.n; i++)
        buffer_printf(&b, " --set %s", o->model.sets.at[i]);
    for (int i = 0; i < o->model.skip.n; i++)
        buffer_printf(&b, " --skip=%s", o->model.skip.at[i]);
    return b.at;
}

/* Sets the names and options of the two variants: two specs with the same
 * options, or one spec without and with --set and --skip. */
static void choose(const Options *o, Variant side[2], EngineOptions options[2])
{
    const bool changed = o->model.sets.n || o->model.skip.n;
    options[0] = options[1] = engine_options(CmdDiff, &o->model, &o->code);
    if (is_stdout(o->model.spec) && is_stdout(o->other))
        fail(ExitUsage, "attnc diff - -: stdin holds only one spec: name the "
                        "other");
    if (o->other) {
        side[0].name = shown_path(o->model.spec);
        side[1].name = shown_path(o->other);
        options[1].spec = o->other;
        options[1].text = NULL;
        if (is_stdout(o->other))
            options[1].text = stdin_document(side[1].facts.arena).text;
        return;
    }
    if (!changed)
        fail(ExitUsage,
             "attnc diff takes two specs, or one and a change to it: attnc "
             "diff %s --set h=4",
             quote(o->model.spec));
    options[0].sets = options[0].passes.skip = NULL;
    options[0].nsets = options[0].passes.nskip = 0;
    side[0].name = shown_path(o->model.spec);
    side[1].name = variant_name(side[1].facts.arena, o);
}

static void print_diff_text(const Options *o, const Difference *d,
                            const Variant side[2])
{
    const DifferenceStyle style = { .a = "A",
                                    .b = "B",
                                    .lines = -1,
                                    .all = o->all,
                                    .room = table_room(stdout) };
    printf("A  %s\nB  %s\n\n", plain_text(d->arena, side[0].name),
           plain_text(d->arena, side[1].name));
    difference_print(d, &style, stdout);
    if (d->same)
        printf("\nthe same fields, graph, plan and cost\n");
}

static int compare_variants(const Options *o, const Variant side[2])
{
    Difference d = { .arena = side[1].facts.arena };
    facts_differ(&d, &side[0].facts, &side[1].facts);
    if (o->json)
        fputs(difference_json(d.arena, &d, side[0].name, side[1].name), stdout);
    else
        print_diff_text(o, &d, side);
    return d.same ? ExitDone : ExitNegative;
}

int cmd_diff(const Options *o)
{
    Variant side[2] = { { .facts = { .arena = arena_new() } },
                        { .facts = { .arena = arena_new() } } };
    EngineOptions options[2];
    choose(o, side, options);
    int code = find_facts(&side[0], options[0]);
    const int other = find_facts(&side[1], options[1]);
    code = code ? code : other;
    if (!code)
        code = compare_variants(o, side);
    for (int i = 0; i < 2; i++) {
        engine_close(&side[i].engine);
        arena_free(side[i].facts.arena);
    }
    return code;
}
