/* length.c: numbers in emitted C that may be constant. */
#include "emit/gen/length.h"

#include "emit/gen/c_names.h"

Length length_of(int64_t n)
{
    return (Length){ .n = n };
}

Length length_text(const char *text)
{
    return (Length){ .text = text };
}

static Length sum_text(const char *text)
{
    return (Length){ .text = text, .sum = true };
}

const char *length_c(Gen *g, Length l)
{
    return l.text ? l.text : arena_printf(g->a, "%lld", (long long)l.n);
}

bool length_is(Length l, int64_t n)
{
    return !l.text && l.n == n;
}

Length length_add(Gen *g, Length a, Length b)
{
    if (!a.text && !b.text)
        return length_of(a.n + b.n);
    if (length_is(a, 0))
        return b;
    if (length_is(b, 0))
        return a;
    return sum_text(
        arena_printf(g->a, "%s + %s", length_c(g, a), length_c(g, b)));
}

Length length_times(Gen *g, Length a, int64_t n)
{
    if (!a.text)
        return length_of(a.n * n);
    if (n == 1)
        return a;
    return length_text(arena_printf(g->a, a.sum ? "(%s) * %lld" : "%s * %lld",
                                    a.text, (long long)n));
}

Length length_max(Gen *g, Length a, Length b)
{
    if (!a.text && !b.text)
        return a.n > b.n ? a : b;
    return length_text(
        arena_printf(g->a, "max(%s, %s)", length_c(g, a), length_c(g, b)));
}

/* ---- of a call ---- */

/* Returns the constant `fixed` or, if it is 0, the C that reads the number from
 * the batch. */
static Length fixed_or(Gen *g, int64_t fixed, const char *text)
{
    g->uses.batch |= fixed == 0;
    return fixed ? length_of(fixed) : length_text(text);
}

Length call_sequences(Gen *g)
{
    return fixed_or(g, plan_length(g->p, SymS), "b->sequences");
}

Length call_rows(Gen *g, Sym s)
{
    return fixed_or(g, plan_rows(g->p, s), row_count(s));
}

Length rows_of_type(Gen *g, Type t)
{
    return length_times(g, call_rows(g, row_sym(t)), row_times(t));
}

Length sequence_rows(Gen *g, Sym s)
{
    const char *start = starts_of(s), *at = g->sequence;
    const int64_t fixed = plan_length(g->p, s);
    if (fixed)
        return length_of(fixed);
    return sum_text(
        arena_printf(g->a, "b->%s[%s + 1] - b->%s[%s]", start, at, start, at));
}

Length call_past(Gen *g)
{
    const int64_t past = g->p->g->spec->fix.past;
    g->uses.batch |= past < 0;
    return past < 0
             ? length_text(arena_printf(g->a, "b->past[%s]", g->sequence))
             : length_of(past);
}

const char *begin_each(Gen *g, Emit *e, const char *name, Length to)
{
    if (length_is(to, 1)) {
        put(e, "{\n");
        return NULL;
    }
    let(e, "each", "%s", name);
    let(e, "end", "%s", length_c(g, to));
    put(e, "for (int64_t $each = 0; $each < $end; $each++) {\n");
    return name;
}
