/* split.c: how the steps of a call are divided among a caller's threads.
 * A step has as many parts as its work is worth, up to those that the caller
 * has; with one thread it is called, and that is all.                       */
#include "emit/attention.h"
#include "emit/names.h"
#include "emit/sections.h"

#include <string.h>

/* ---- what a step costs ---- */

static const Node *keys_of(const Gen *g, const Node *n)
{
    return n->op == OpAttention || n->op == OpScores || n->op == OpContext
             ? node_at(g->p, n->in[1])
             : NULL;
}

/* "pairs_cached(b)": the function is made if it is not there yet. */
static const char *pairs_text(Gen *g, const Node *n, const Node *k)
{
    const char *rows = starts_of(row_sym(n->type));
    const char *name = k->op == OpRecall ? "pairs_recalled"
                     : k->op == OpAppend && k->cache == CacheSelf
                         ? "pairs_cached"
                         : "pairs";
    need_most(g);
    if (first_time(g, name)) {
        Emit *e = g->shapes;
        const int mark = emit_mark(e);
        let(e, "name", "%s", name);
        let(e, "start", "%s", rows);
        let(e, "count", "%s", count_text(g, k));
        let(e, "least", "%d", LeastWorkQueries);
        put(e, "/* Queries times keys; few queries cost as much as eight. */\n"
               "static int64_t $name(const struct attn_batch *b)\n"
               "{\n"
               "    int64_t n = 0;\n"
               "\n"
               "    for (int64_t s = 0; s < b->sequences; s++)\n"
               "        n += most(b->$start[s + 1] - b->$start[s], $least)\n"
               "             * ($count);\n"
               "    return n;\n"
               "}\n\n");
        emit_reset(e, mark);
    }
    return arena_printf(g->a, "%s(b)", name);
}

const char *work_text(Gen *g, const Region *r)
{
    const int node = g->p->order.at[r->first];
    const Node *n = node_at(g->p, node), *k = keys_of(g, n);
    int64_t work = 0;
    for (int i = 0; i < r->count; i++)
        work += step_work(g->p, g->p->order.at[r->first + i]);
    const Sym rows = row_sym(n->type) == SymS ? SymN : row_sym(n->type);
    const char *times = k ? pairs_text(g, n, k) : row_count(rows);
    return arena_printf(g->a, "%s * %lld", times, (long long)work);
}

/* ---- running it ---- */

void emit_split(Gen *g, Emit *e)
{
    need_cut(g);
    need_most(g);
    let(e, "work", "%d",
        plan_task(g->p, TaskSplit, g->p->order.at[0])->tiling.work);
    put(e,
        "enum { PART_WORK = $work }; /* FLOPs that are worth a thread's while */\n"
        "\n"
        "/* Parts that a caller can run at once, of a step of that work. */\n"
        "static int64_t parts_of(const struct attn_batch *b, int64_t work)\n"
        "{\n"
        "    if (b->parallel)\n"
        "        return most(least(b->parallel->parts, work / PART_WORK), 1);\n"
        "    return 1;\n"
        "}\n"
        "\n"
        "static void run_parts(const struct attn_batch *b, int64_t parts,\n"
        "                      void (*run)(void *call, int64_t part,\n"
        "                                  int64_t parts), void *call)\n"
        "{\n"
        "    if (parts > 1)\n"
        "        b->parallel->run(b->parallel->pool, parts, run, call);\n"
        "    else\n"
        "        run(call, 0, 1);\n"
        "}\n"
        "\n"
        "static void run_step(const struct attn_batch *b, int64_t work,\n"
        "                     void (*run)(void *call, int64_t part,\n"
        "                                 int64_t parts), void *call)\n"
        "{\n"
        "    run_parts(b, parts_of(b, work), run, call);\n"
        "}\n"
        "\n"
        "/* Rows of the next of n rows' blocks, which have `block` at most and are\n"
        " * as high as each other: each of them reads all weights. */\n"
        "static int64_t even(int64_t n, int64_t block)\n"
        "{\n"
        "    const int64_t blocks = (n + block - 1) / block;\n"
        "\n"
        "    return (n + blocks - 1) / blocks;\n"
        "}\n\n");
}

/* Each part has blocks of its own. */
static void own_blocks(Gen *g, Emit *e, Entry entry)
{
    const Plan *p = g->p;
    const Value *v;
    for (int at = 0; (v = next_value(g, entry, &at)) != NULL;) {
        const Slot *slot = &p->slot.at[v->slot];
        if (slot->kind != SlotParts)
            continue;
        let(e, "name", "%s", v->name);
        let(e, "unit", "%lld", (long long)slot->unit);
        put(e, "c.$name += part * $unit;\n");
    }
}

static void rows_part(Gen *g, Emit *e, Entry entry)
{
    let(e, "mr", "%d", g->p->target.mr);
    put(e, "/* A part of the rows, block by block through all steps. */\n");
    put_call(e,
             arena_printf(g->a, "static void %s_rows_part", entry_name(entry)),
             "void *call, int64_t part, int64_t parts", "");
    put(e, "{\n"
           "    struct $entry c;\n"
           "\n"
           "    memcpy(&c, call, sizeof c);\n"
           "    const int64_t end = cut(c.rows, $mr, part + 1, parts);\n"
           "\n"
           "    c.row = cut(c.rows, $mr, part, parts);\n");
    own_blocks(g, e, entry);
    put(e, "for (; c.row < end; c.row += c.rows) {\n"
           "    c.rows = even(end - c.row, c.block);\n"
           "    for (int64_t s = 0; s < c.steps->count; s++)\n"
           "        c.steps->step[s].run(&c, 0, 1);\n"
           "}\n"
           "}\n\n");
}

/* Steps that go row by row are divided by rows where each part gets enough of
 * them to be worth reading the weights, else each of them by columns.       */
void emit_split_rows(Gen *g, Emit *e, Entry entry)
{
    let(e, "entry", "%s", entry_name(entry));
    let(e, "rows_part", "%s_rows_part", entry_name(entry));
    let(e, "least", "%lld", (long long)least_work_rows(g->p));
    rows_part(g, e, entry);
    put(e,
        "/* Steps for all rows: parts of the rows where each has enough; else\n"
        " * parts of the columns, step by step, block by block. */\n");
    put_call(e, arena_printf(g->a, "static void %s_rows", entry_name(entry)),
             arena_printf(g->a,
                          "struct %s *c, int64_t rows, "
                          "const struct steps *steps",
                          entry_name(entry)),
             "");
    put(e,
        "{\n"
        "    int64_t work = 0;\n"
        "\n"
        "    for (int64_t s = 0; s < steps->count; s++)\n"
        "        work += steps->step[s].work;\n"
        "    const int64_t parts = parts_of(c->b, most(rows, $least) * work);\n"
        "\n"
        "    c->steps = steps;\n"
        "    c->block = steps->block ? steps->block : most(rows, 1);\n"
        "    c->row = 0;\n"
        "    c->rows = rows;\n"
        "    if (parts == 1 || rows >= parts * steps->enough) {\n"
        "        run_parts(c->b, parts, $rows_part, c);\n"
        "        return;\n"
        "    }\n"
        "    for (; c->row < rows; c->row += c->rows) {\n"
        "        c->rows = even(rows - c->row, c->block);\n"
        "        for (int64_t s = 0; s < steps->count; s++)\n"
        "            run_step(c->b, most(c->rows, $least) * steps->step[s].work,\n"
        "                     steps->step[s].run, c);\n"
        "    }\n"
        "}\n\n");
}
