/* diff_print.c: prints a difference as text. Values that both variants have are
 * in columns; a value that one variant lacks is a line with - or +. */
#include <string.h>

#include "base/table.h"
#include "base/strings.h"
#include "diff/diff.h"

typedef struct {
    const Difference *d;
    const DifferenceStyle *style;
    FILE *out;
    int parts; /* number of parts printed so far */
} Printer;

enum { MostColumn = 28, Indent = 2 };

/* ---- texts ---- */

/* Returns layer numbers as text, e.g. "2", "0 to 5" or "0, 2, 4 to 7". */
static const char *layers_text(Arena *a, const int *at, int n)
{
    Buffer b = { .arena = a };
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && at[end] == at[end - 1] + 1; end++)
            ;
        buffer_printf(&b, "%s%d", i ? ", " : "", at[i]);
        if (end - i > 1)
            buffer_printf(&b, "%s%d", end - i > 2 ? " to " : ", ", at[end - 1]);
    }
    return b.at;
}

/* Returns the name of an operation with its layers, e.g. "encoder.{0 to
 * 5}.q". */
static const char *key_text(Arena *a, const Change *c)
{
    const char *key = (c->a ? c->a : c->b)->key;
    const char *hole = c->layers.n ? strstr(key, "{i}") : NULL;
    if (!hole)
        return key;
    const char *layers = layers_text(a, c->layers.at, c->layers.n);
    return arena_printf(a, c->layers.n == 1 ? "%.*s%s%s" : "%.*s{%s}%s",
                        (int)(hole - key), key, layers, hole + 3);
}

static const char *value_text(Arena *a, const Fact *f)
{
    if (!f)
        return "-";
    if (*f->text)
        return plain_text(a, f->text);
    return f->unit == UnitSeconds ? seconds_text(a, f->number)
                                  : arena_grouped(a, (int64_t)f->number);
}

static bool overlap(const Fact *a, const Fact *b)
{
    return a->low <= b->high && b->low <= a->high;
}

/* Returns the ratio of two values as text: "=", or e.g. "1.50". It ends with
 * "~", as in "1.02 ~", if the values are times whose intervals overlap, because
 * the difference may be noise. */
static const char *ratio_text(Arena *a, const Fact *x, const Fact *y)
{
    if (!x || !y || x->kind == FactPass || x->kind == FactFunction)
        return "";
    if (same_number(x, y))
        return "=";
    if (!(x->number > 0))
        return "";
    const bool unsure = x->kind == FactTime && overlap(x, y);
    return arena_printf(a, "%.*f%s", y->number < 10 * x->number ? 2 : 0,
                        y->number / x->number, unsure ? " ~" : "");
}

static const char *unit_text(FactUnit unit)
{
    static const char *const text[] = {
        [UnitCount] = "",
        [UnitBytes] = ", bytes",
        [UnitFlops] = ", FLOPs",
        [UnitSeconds] = "",
    };
    return text[unit];
}

/* ---- columns ---- */
typedef struct {
    const char *key, *a, *b, *more;
} Row;
typedef VEC(Row) Rows;

static int most(int a, int b)
{
    return a > b ? a : b;
}

static void head(Printer *p)
{
    if (p->parts++)
        fputc('\n', p->out);
}

/* Prints two values on separate lines because they are too long for columns. */
static void put_long(Printer *p, const Row *r)
{
    fprintf(p->out, "%s%s%s\n", r->key, *r->more ? "  " : "", r->more);
    fprintf(p->out, "%*s%s- %s%s\n", Indent, "", paint(p->out, PaintRemoved),
            r->a, paint(p->out, PaintEnd));
    fprintf(p->out, "%*s%s+ %s%s\n", Indent, "", paint(p->out, PaintAdded),
            r->b, paint(p->out, PaintEnd));
}

static bool is_long(const Row *r)
{
    return text_columns(r->a) > MostColumn || text_columns(r->b) > MostColumn;
}

static void put_cells(const TextTable *t, const Row *r)
{
    table_cell(t, 0, r->key);
    table_cell(t, 1, r->a);
    table_cell(t, 2, r->b);
}

static void put_rows(Printer *p, const char *title, const Rows *rows)
{
    const Row heads = { title, p->style->a ? p->style->a : "", p->style->b,
                        "" };
    TextTable t = text_table(p->d->arena, p->out, false, 3);
    if (rows->n == 0)
        return;
    t.left[0] = true;
    t.fit[1].shown = p->style->a != NULL;
    for (int i = -1; i < rows->n; i++) {
        const Row *r = i < 0 ? &heads : &rows->at[i];
        if (i >= 0 && is_long(r))
            continue;
        table_widen(&t, 0, r->key);
        table_widen(&t, 1, r->a);
        table_widen(&t, 2, r->b);
    }
    head(p);
    fputs(paint(p->out, PaintHead), p->out);
    put_cells(&t, &heads);
    fprintf(p->out, "%s\n", paint(p->out, PaintEnd));
    for (int i = 0; i < rows->n; i++) {
        const Row *r = &rows->at[i];
        if (is_long(r)) {
            put_long(p, r);
            continue;
        }
        put_cells(&t, r);
        if (p->style->a && *r->more)
            fprintf(p->out, "  %s", r->more);
        fputc('\n', p->out);
    }
}

/* ---- parts ---- */
static void put_fields(Printer *p)
{
    Arena *a = p->d->arena;
    Rows rows = { 0 };
    for (int i = 0; i < p->d->of[FactField].n; i++) {
        const Change *c = &p->d->of[FactField].at[i];
        const bool derived = (!c->a || c->a->derived)
                          && (!c->b || c->b->derived);
        const Row r = { key_text(a, c), value_text(a, c->a),
                        value_text(a, c->b), derived ? "(follows)" : "" };
        vec_push(a, &rows, r);
    }
    put_rows(p, "field", &rows);
}

static void put_more(Printer *p, int left)
{
    if (left)
        fprintf(p->out, "  and %d more\n", left);
}

static void put_numbers(Printer *p, FactKind kind, const char *title)
{
    Arena *a = p->d->arena;
    Rows rows = { 0 };
    int left = 0;
    for (int i = 0; i < p->d->of[kind].n; i++) {
        const Change *c = &p->d->of[kind].at[i];
        const Fact *f = c->a ? c->a : c->b;
        const Row r = { arena_printf(a, "%s%s", f->key, unit_text(f->unit)),
                        value_text(a, c->a), value_text(a, c->b),
                        ratio_text(a, c->a, c->b) };
        if (kind == FactCost && p->style->changed && c->a && c->b
            && same_number(c->a, c->b))
            continue;
        if (kind == FactFunction && rows.n == p->style->lines)
            left++;
        else
            vec_push(a, &rows, r);
    }
    put_rows(p, title, &rows);
    put_more(p, left);
}

static void put_line(Printer *p, char mark, const char *text)
{
    const int room = p->style->room ? p->style->room - 2 : 0;
    fprintf(p->out, "%s%c %s%s\n",
            paint(p->out, mark == '-'   ? PaintRemoved
                          : mark == '+' ? PaintAdded
                                        : PaintName),
            mark, room > 0 ? cut_middle(p->d->arena, text, room) : text,
            paint(p->out, PaintEnd));
}

static void put_missed(Printer *p)
{
    Arena *a = p->d->arena;
    for (int i = 0; i < p->d->of[FactMissed].n; i++) {
        const Change *c = &p->d->of[FactMissed].at[i];
        put_line(p, c->a ? '-' : '+', key_text(a, c));
    }
}

static void put_title(Printer *p, const char *title)
{
    head(p);
    fprintf(p->out, "%s%s%s\n", paint(p->out, PaintHead), title,
            paint(p->out, PaintEnd));
}

static void put_passes(Printer *p)
{
    put_numbers(p, FactPass, "pass, rewrites");
    if (p->d->of[FactMissed].n == 0)
        return;
    put_title(p, "fusions that failed");
    put_missed(p);
}

/* Prints changed tilings. Omits tasks that only one variant has, unless `all`
 * is set. */
static void put_tilings(Printer *p)
{
    Arena *a = p->d->arena;
    int left = 0, shown = 0;
    for (int i = 0; i < p->d->of[FactTask].n; i++) {
        const Change *c = &p->d->of[FactTask].at[i];
        const Fact *side[] = { c->a, c->b };
        if (!p->style->all && (!c->a || !c->b))
            continue;
        if (shown == 0)
            put_title(p, "tilings");
        left += p->style->lines >= 0 && shown >= p->style->lines;
        shown++;
        for (int s = 0; left == 0 && s < 2; s++)
            if (side[s])
                put_line(p, s ? '+' : '-',
                         arena_printf(a, "%s  %s", side[s]->key,
                                      side[s]->text));
    }
    put_more(p, left);
}

/* ---- graph ---- */
static int nodes_of(const Change *c)
{
    return c->layers.n ? c->layers.n : 1;
}

static void put_node(Printer *p, const Change *c)
{
    Arena *a = p->d->arena;
    const char *key = key_text(a, c);
    if (only_shape(c)) {
        put_line(p, '~',
                 arena_printf(a, "%s : %s, was %s", key, c->b->type,
                              c->a->type));
        return;
    }
    if (c->a)
        put_line(p, '-',
                 arena_printf(a, "%s = %s : %s", key, c->a->text, c->a->type));
    if (c->b)
        put_line(p, '+',
                 arena_printf(a, "%s = %s : %s", key, c->b->text, c->b->type));
}

/* Returns the length of the part of a name before its layer number, e.g.
 * "encoder.". */
static int stack_bytes(const Change *c)
{
    const char *key = (c->a ? c->a : c->b)->key;
    return (int)(strstr(key, "{i}") - key);
}

static bool same_stack(const Change *x, const Change *y)
{
    return x->whole && y->whole && !x->a == !y->a
        && stack_bytes(x) == stack_bytes(y)
        && !strncmp((x->a ? x->a : x->b)->key, (y->a ? y->a : y->b)->key,
                    (size_t)stack_bytes(x));
}

/* If the node at `at` is the first in layers that one variant lacks, prints all
 * of these layers on one line. */
static void put_layers(Printer *p, int at)
{
    const Difference *d = p->d;
    const Change *list = d->of[FactNode].at, *first = &list[at];
    int nodes = 0, least = first->layers.at[0], end = least;
    for (int i = 0; i < at; i++)
        if (same_stack(&list[i], first))
            return;
    for (int i = at; i < d->of[FactNode].n; i++) {
        const Change *c = &list[i];
        if (!same_stack(c, first))
            continue;
        nodes += nodes_of(c);
        for (int k = 0; k < c->layers.n; k++) {
            least = c->layers.at[k] < least ? c->layers.at[k] : least;
            end = most(end, c->layers.at[k]);
        }
    }
    const char *stack = arena_strndup(d->arena,
                                      (first->a ? first->a : first->b)->key,
                                      (size_t)stack_bytes(first));
    put_line(p, first->a ? '-' : '+',
             least == end
                 ? arena_printf(d->arena, "%s%d: a layer of %d nodes", stack,
                                end, nodes)
                 : arena_printf(d->arena, "%s{%d to %d}: layers of %d nodes",
                                stack, least, end, nodes / (end - least + 1)));
}

static void put_nodes(Printer *p)
{
    int left = 0, shapes = 0, shown = 0;
    for (int i = 0; i < p->d->of[FactNode].n; i++) {
        const Change *c = &p->d->of[FactNode].at[i];
        if (only_shape(c) && !p->style->all)
            shapes += nodes_of(c);
        else if (c->whole && !p->style->all)
            put_layers(p, i);
        else if (p->style->lines >= 0 && shown++ >= p->style->lines)
            left += nodes_of(c);
        else
            put_node(p, c);
    }
    put_more(p, left);
    if (shapes)
        fprintf(p->out, "  %d differ in nothing but their shapes\n", shapes);
}

static void put_graph(Printer *p)
{
    const Difference *d = p->d;
    int differ = 0;
    for (int i = 0; i < d->of[FactNode].n; i++)
        differ += nodes_of(&d->of[FactNode].at[i]);
    if (differ == 0)
        return;
    put_title(p, "graph");
    fprintf(p->out, "%d nodes differ; %s has %d, %s %d\n", differ, p->style->a,
            d->nodes[0], p->style->b, d->nodes[1]);
    put_nodes(p);
}

void difference_print(const Difference *d, const DifferenceStyle *style,
                      FILE *out)
{
    Printer p = { d, style, out, 0 };
    if (style->a)
        put_fields(&p);
    put_numbers(&p, FactCost, "cost");
    put_numbers(&p, FactTime, "time");
    put_passes(&p);
    put_graph(&p);
    put_numbers(&p, FactFunction, "function, steps that call it");
    put_tilings(&p);
}
