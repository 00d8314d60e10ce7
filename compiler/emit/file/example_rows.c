/* example_rows.c: chooses the numbers of rows and tokens in a header's example
 * programs. The spec may fix these numbers. */
#include "emit/gen/sections.h"

int64_t let_rows(Gen *g, Emit *e, Side side, int64_t default_rows)
{
    const int64_t fixed = spec_fixed_rows(g->p->g->spec, side);
    const int64_t learned = side == SideEncoder
                              ? spec_input_learned(g->p->g->spec)
                              : 0;
    const int64_t n = fixed < 0 ? default_rows : fixed - learned;
    let(e, "n", "%lld", (long long)n);
    return n;
}

const char *count_of(Gen *g, int64_t n, const char *noun)
{
    static const char *const word[] = { "no", "one", "two", "three" };
    const char *s = n == 1 ? "" : "s";
    return n <= 3 ? arena_printf(g->a, "%s %s%s", word[n], noun, s)
                  : arena_printf(g->a, "%lld %s%s", (long long)n, noun, s);
}

void let_ids(Gen *g, Emit *e, int64_t vocab, int64_t n)
{
    static const char *const some[] = { "", "3", "3, 4", "3, 4, 5" };
    static const char *const zeros[] = { "", "0", "0, 0", "0, 0, 0" };
    const int64_t named = n < 3 ? n : 3;
    let(e, "all", "%s", n > 3 ? arena_printf(g->a, "%lld", (long long)n) : "");
    let(e, "ids", "%s", vocab > 5 ? some[named] : zeros[named]);
}
