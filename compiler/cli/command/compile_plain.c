/* compile_plain.c: checks whether attnc compile can write the model as plain
 * C. */
#include "cli/command/compile.h"
#include "emit/emit.h"

void look_at_plain(const Options *o)
{
    const struct {
        const char *option;
        bool given;
    } rows[] = {
        { "--march", o->code.march != NULL },
        { "--width", o->code.width != 0 },
        { "--tile", o->code.tile != NULL },
        { "--threads", o->code.threads > 0 },
        { "--records", o->code.records != NULL },
        { "--parts", o->parts != 0 },
        { "--runtime", o->beside != 0 },
        { "--skip", o->model.skip.n > 0 },
    };
    if (!o->plain)
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given)
            fail(ExitUsage,
                 "%s needs C with tiles and vectors, which --plain does not "
                 "have: leave out one of them",
                 rows[i].option);
    if (o->kinds != 1 << EmitC)
        fail(ExitUsage,
             "--plain writes C for reading: leave out --emit, give -o a name "
             "in .c, and compile that with any C compiler");
    if (o->max_input > 0 || o->max_output > 0)
        fail(ExitUsage,
             "--max-input and --max-output do not apply to --plain, whose "
             "memory max_len sizes: use --set=max_len=N");
}

/* Checks that the search has no option that plain C lacks. */
static bool plain_searches(const Spec *s)
{
    const struct {
        bool set;
        const char *key, *off;
    } lacks[] = {
        { s->repetition_penalty != 1 && s->repetition_penalty != 0,
          "search.repetition_penalty", "1" },
        { s->no_repeat_ngram > 0, "search.no_repeat_ngram", "0" },
        { s->min_length > 0, "search.min_length", "0" },
        { s->min_total > 0, "search.min_total", "0" },
    };
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        if (lacks[i].set) {
            error_at(spec_pos(s, lacks[i].key),
                     "the search of plain C does not have %s: leave it out "
                     "with --set=%s=%s",
                     lacks[i].key, lacks[i].key, lacks[i].off);
            return false;
        }
    return true;
}

bool plain_fits(const Options *o, const Plan *p)
{
    const Spec *s = p->g->spec;
    if (!o->plain)
        return true;
    if (plan_fixed(p)) {
        error_at(spec_pos(s, "fix"),
                 "plain C accepts any length, but the spec fixes %s: leave out "
                 "--fix, or add --set=fix=",
                 plan_fixed_text(p));
        return false;
    }
    for (int i = 0; i < s->suppress.n; i += 1 + s->suppress.at[i])
        if (s->suppress.at[i] > 1) {
            error_at(spec_pos(s, "search.suppress"),
                     "plain C can only suppress single ids, not a sequence "
                     "of %d: leave it out with --set=search.suppress=",
                     s->suppress.at[i]);
            return false;
        }
    return plain_searches(s);
}
