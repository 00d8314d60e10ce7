/* layer_loops.c: finds loops over repeating layers and emits them; see
 * layer_loops.h. */
#include "emit/gen/layer_loops.h"

#include "emit/gen/c_names.h"

/* ---- what repeats ---- */

enum {
    LoopDepth = 32
}; /* enough: each level at least halves the number of items */

typedef struct {
    Arena *a;
    const LoopItem *item;
    int outer[LoopDepth]; /* items per round of the surrounding loops */
    int depth;
} Search;

/* True if each number grows equally from item a to a + by and from b to b +
 * by. */
static bool same_growth(const Search *s, int a, int b, int by)
{
    for (int k = 0; k < LoopNumbers; k++)
        if (s->item[a + by].number[k] - s->item[a].number[k]
            != s->item[b + by].number[k] - s->item[b].number[k])
            return false;
    return true;
}

/* True if the item at + period can be the item `at` one round later. Its
 * numbers must grow like those of `first` in the first round, and as the
 * surrounding loops require. */
static bool repeats(const Search *s, int first, int at, int period)
{
    if (s->item[at + period].like != s->item[at].like
        || !same_growth(s, first, at, period))
        return false;
    for (int i = 0; i < s->depth; i++)
        if (!same_growth(s, at, at + period, s->outer[i]))
            return false;
    return true;
}

static int rounds_from(const Search *s, int first, int end, int period)
{
    int at = first;
    while (at + period < end
           && repeats(s, first + (at - first) % period, at, period))
        at++;
    return (at - first) / period + 1;
}

/* Returns the loop, beginning at `first`, that covers the most items; if there
 * are several, the one with the shortest period. */
static Loop longest_loop(const Search *s, int first, int end)
{
    Loop best = { .first = first, .period = 1, .rounds = 1 };
    for (int period = 1; period <= (end - first) / 2; period++) {
        const int rounds = rounds_from(s, first, end, period);
        if (rounds > 1 && rounds * period > best.rounds * best.period) {
            best.period = period;
            best.rounds = rounds;
        }
    }
    return best;
}

static Loop *loops_of(Search *s, int first, int end)
{
    Loop *list = NULL, **last = &list;
    while (first < end) {
        Loop *l = arena_alloc(s->a, sizeof *l);
        *l = longest_loop(s, first, end);
        if (l->period > 1) {
            s->outer[s->depth++] = l->period;
            l->body = loops_of(s, first, first + l->period);
            s->depth--;
        }
        first += l->rounds * l->period;
        *last = l;
        last = &l->next;
    }
    return list;
}

Loop *find_loops(Arena *a, const LoopItem *item, int n)
{
    return loops_of(&(Search){ .a = a, .item = item }, 0, n);
}

int64_t loop_growth(const LoopItem *item, const Loop *around, int number)
{
    if (around->rounds == 1)
        return 0;
    return item[around->period].number[number] - item->number[number];
}

/* ---- text ---- */

/* Returns the part of a number that depends on loop counters, "l * 6 + l2",
 * outer counters first. Returns "" if no loop changes the number. */
static const char *counted(Gen *g, const LoopItem *first, const LoopPath *path,
                           int number)
{
    if (!path)
        return "";
    const Loop *l = path->loop;
    const char *outer = counted(g, first, path->outer, number);
    const char *plus = *outer ? " + " : "";
    const int64_t by = loop_growth(first, l, number);
    if (!by)
        return outer;
    return arena_printf(g->a, by == 1 ? "%s%s%s" : "%s%s%s * %lld", outer, plus,
                        path->counter, (long long)by);
}

const char *loop_number(Gen *g, const LoopItem *item, const LoopPath *path,
                        int number)
{
    const LoopItem *first = &item[path->loop->first];
    const char *grows = counted(g, first, path, number);
    const long long from = first->number[number];
    if (!*grows)
        return arena_printf(g->a, "%lld", from);
    return from ? arena_printf(g->a, "%s + %lld", grows, from) : grows;
}

const char *loop_offset(Gen *g, const LoopItem *item, const LoopPath *path,
                        int number)
{
    const LoopItem *first = &item[path->loop->first];
    if (first->number[number] == 0 && !*counted(g, first, path, number))
        return "";
    return arena_printf(g->a, " + %s", loop_number(g, item, path, number));
}

typedef struct {
    const LoopItem *item;
    LoopBody *body;
    const void *of;
} Bodies;

static void put_list(Gen *g, Emit *e, const Bodies *b, const Loop *list,
                     const LoopPath *outer, int depth)
{
    for (const Loop *l = list; l; l = l->next) {
        const LoopPath path = {
            .loop = l,
            .counter = depth ? arena_printf(g->a, "l%d", depth + 1) : "l",
            .outer = outer,
        };
        let(e, "l", "%s", path.counter);
        let(e, "rounds", "%s",
            layers_text(g, b->item[l->first].stack, l->rounds));
        let(e, "int", g->plain ? "int" : "int64_t");
        if (l->rounds > 1)
            put(e, "for ($int $l = 0; $l < $rounds; $l++) {\n");
        else if (!g->plain)
            put(e, "{\n");
        if (l->body)
            put_list(g, e, b, l->body, &path, depth + 1);
        else
            b->body(g, e, b->of, l->first, &path);
        if (l->rounds > 1 || !g->plain)
            put(e, "}\n");
    }
}

void put_loops(Gen *g, Emit *e, const LoopItem *item, int n, LoopBody *body,
               const void *of)
{
    const Bodies b = { .item = item, .body = body, .of = of };
    put_list(g, e, &b, find_loops(g->a, item, n), NULL, 0);
}
