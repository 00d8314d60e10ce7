/* thread_split.c: emits the code that divides the steps of a call among a
 * caller's threads. The FLOPs of a step determine the number of its parts, at
 * most one per thread; with one thread a step is a plain call. */
#include "emit/attention/attention.h"
#include "emit/gen/length.h"
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/sections.h"

#include <string.h>

/* ---- what a step costs ---- */

static const Node *keys_of(const Gen *g, const Node *n)
{
    return n->op == OpAttention || n->op == OpScores || n->op == OpContext
             ? node_at(g->p, n->in[1])
             : NULL;
}

/* Returns C for the number of query-key pairs: "pairs_cached(b)". Emits that
 * function unless it exists. */
static const char *pairs_text(Gen *g, const Node *n, const Node *k)
{
    const char *rows = starts_of(row_sym(n->type));
    const bool cached = k->op == OpAppend && k->entry == EntryDecode;
    const char *base = k->op == OpRecall ? "pairs_recalled"
                     : cached            ? "pairs_cached"
                                         : "pairs";
    const SharedKey key = { .kind = SharedPairs,
                            .size = { row_sym(n->type), k->type.dim[1].sym,
                                      k->type.dim[1].fixed,
                                      cached              ? 2
                                      : k->op == OpRecall ? 1
                                                          : 0 } };
    bool made;
    const char *name = shared_name(g, &key, base, &made);
    need_max(g);
    if (!made) {
        Emit *e = g->counts;
        const int mark = emit_mark(e);
        let(e, "name", "%s", name);
        let(e, "start", "%s", rows);
        let(e, "count", "%s", count_text(g, k));
        let(g->count_prototypes, "name", "%s", name);
        put(g->count_prototypes,
            "static int64_t $name(const struct attn_batch *b);\n");
        put(e,
            "/* Returns queries times keys, summed over all sequences. */\n"
            "static int64_t $name(const struct attn_batch *b)\n"
            "{\n"
            "    int64_t n = 0;\n"
            "\n"
            "    for (int64_t s = 0; s < b->sequences; s++)\n"
            "        n += max(b->$start[s + 1] - b->$start[s], MIN_QUERIES)\n"
            "             * ($count);\n"
            "    return n;\n"
            "}\n\n");
        emit_reset(e, mark);
    }
    return arena_printf(g->a, "%s(b)", name);
}

const char *count_text_of(Gen *g, const Region *r)
{
    const Node *n = node_at(g->p, g->p->order.at[r->first]);
    const Node *k = keys_of(g, n);
    if (k)
        return pairs_text(g, n, k);
    return length_c(g, row_sym(n->type) == SymS ? call_rows(g, SymN)
                                                : rows_of_type(g, n->type));
}

/* ---- running it ---- */

void emit_step_structs(Gen *g, Emit *e)
{
    int steps = 1;
    for (int i = 0; i < g->p->region.n; i++)
        if (g->p->region.at[i].count > steps)
            steps = g->p->region.at[i].count;
    let(e, "steps", "%d", steps);
    put(e,
        "/* A function that computes part `part` of `parts` of a step. */\n"
        "typedef void step_function(void *call, int64_t part, int64_t parts);\n"
        "\n"
        "struct step {\n"
        "    step_function *run;\n"
        "    int64_t flops;           /* per row; for attention, per query and\n"
        "                                key */\n");
    if (has_ranks(g))
        put_exchange_members(e);
    put(e,
        "};\n"
        "\n"
        "/* Consecutive steps that work row by row. Threads divide the columns of a\n"
        " * product, and the rows of any other step. */\n"
        "struct steps {\n"
        "    int64_t count;\n"
        "    int64_t min_part_rows;   /* fewest rows for a part of all steps */\n"
        "    int64_t block_rows;      /* rows that pass all steps in turn; 0: all */\n"
        "    struct step step[$steps];\n"
        "};\n\n");
}

void emit_run_step_head(Emit *e, const char *tail)
{
    put_call(e, "static void run_step",
             "const struct attn_batch *b, int64_t count, "
             "const struct step *step, void *call",
             tail);
}

bool is_divided(const Gen *g)
{
    return plan_divided(g->p) && !g->serial;
}

static void put_limits(Gen *g, Emit *e)
{
    let(e, "flops", "%d",
        plan_task(g->p, TaskSplit, g->p->order.at[0])->tiling.work);
    let(e, "rows", "%lld", (long long)least_work_rows(g->p));
    let(e, "queries", "%d", LeastWorkQueries);
    put(e,
        "/* PART_FLOPS: fewest FLOPs that justify a thread. Fewer rows or queries than\n"
        " * these minima cost as much, because reading the weights or keys dominates. */\n"
        "enum { PART_FLOPS = $flops, MIN_ROWS = $rows, MIN_QUERIES = $queries };\n"
        "\n");
}

static void run_functions(Gen *g, Emit *e)
{
    need_min(g);
    need_max(g);
    put(e,
        "/* Returns the number of parts for work of `flops` FLOPs. */\n"
        "static int64_t parts_of(const struct attn_batch *b, int64_t flops)\n"
        "{\n"
        "    if (b->parallel)\n"
        "        return max(min(b->parallel->parts, flops / PART_FLOPS), 1);\n"
        "    return 1;\n"
        "}\n"
        "\n"
        "static void run_parts(const struct attn_batch *b, int64_t parts,\n"
        "                      step_function *run, void *call)\n"
        "{\n"
        "    if (parts > 1)\n"
        "        b->parallel->run(b->parallel->pool, parts, run, call);\n"
        "    else\n"
        "        run(call, 0, 1);\n"
        "}\n"
        "\n"
        "/* Runs a step for `count` rows, or pairs of a query and a key. */\n");
    emit_run_step_head(e, "");
    put(e,
        "{\n"
        "    run_parts(b, parts_of(b, count * step->flops), step->run, call);\n"
        "}\n"
        "\n");
}

void need_next_block(Gen *g)
{
    if (!first_time(g, HelperNextBlock, "next_block"))
        return;
    if (g->serial)
        put(g->count_prototypes,
            "static int64_t next_block(int64_t n, int64_t most);\n");
    put(g->counts,
        "/* Returns the rows of the next block of n rows. Blocks have at most `most`\n"
        " * rows, and equal heights because each of them reads all weights. */\n"
        "static int64_t next_block(int64_t n, int64_t most)\n"
        "{\n"
        "    if (n <= most)\n"
        "        return n;\n"
        "    const int64_t blocks = (n + most - 1) / most;\n"
        "\n"
        "    return (n + blocks - 1) / blocks;\n"
        "}\n\n");
}

/* Emits code that points each part to its own blocks. */
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
    need_part_begin(g);
    let(e, "mr", "%d", g->p->target.mr);
    put(e, "/* Runs all steps for a part of the rows, block by block. */\n");
    put_call(e,
             arena_printf(g->a, "static void %s_rows_part", entry_name(entry)),
             "void *call, int64_t part, int64_t parts", "");
    put(e, "{\n"
           "    struct $entry c;\n"
           "\n"
           "    memcpy(&c, call, sizeof c);\n"
           "    const int64_t end = part_begin(c.rows, $mr, part + 1, parts);\n"
           "\n"
           "    c.row = part_begin(c.rows, $mr, part, parts);\n");
    own_blocks(g, e, entry);
    put(e, "for (; c.row < end; c.row += c.rows) {\n"
           "    c.rows = next_block(end - c.row, c.block_rows);\n"
           "    for (int64_t s = 0; s < c.steps->count; s++)\n"
           "        c.steps->step[s].run(&c, 0, 1);\n"
           "}\n"
           "}\n\n");
}

void emit_rows_head(Gen *g, Emit *e, Entry entry, const char *tail)
{
    put_call(e, arena_printf(g->a, "static void %s_rows", entry_name(entry)),
             arena_printf(g->a,
                          "struct %s *c, int64_t rows, "
                          "const struct steps *steps",
                          entry_name(entry)),
             tail);
}

/* Emits code that divides steps that work row by row. They are divided by rows
 * if each part gets enough rows to justify reading the weights, otherwise by
 * columns. Ranks always divide columns, because each has its share of the
 * weights. */
static void split_rows(Gen *g, Emit *e, Entry entry)
{
    let(e, "entry", "%s", entry_name(entry));
    let(e, "rows_part", "%s_rows_part", entry_name(entry));
    if (!has_ranks(g))
        rows_part(g, e, entry);
    put(e,
        has_ranks(g)
            ? "/* Runs the steps for all rows, block by block. */\n"
            : "/* Runs the steps for all rows. Divides the rows if each part has enough of\n"
              " * them; else divides each step, block by block. */\n");
    emit_rows_head(g, e, entry, "");
    put(e, "{\n");
    if (!has_ranks(g))
        put(e,
            "int64_t flops = 0;\n"
            "\n"
            "for (int64_t s = 0; s < steps->count; s++)\n"
            "    flops += steps->step[s].flops;\n"
            "const int64_t parts = parts_of(c->b, max(rows, MIN_ROWS) * flops);\n"
            "\n"
            "c->steps = steps;\n");
    put(e,
        "c->block_rows = steps->block_rows ? steps->block_rows : max(rows, 1);\n"
        "c->row = 0;\n");
    if (!has_ranks(g))
        put(e, "c->rows = rows;\n"
               "if (parts == 1 || rows >= parts * steps->min_part_rows) {\n"
               "    run_parts(c->b, parts, $rows_part, c);\n"
               "    return;\n"
               "}\n");
    put(e, "for (; c->row < rows; c->row += c->rows) {\n"
           "    c->rows = next_block(rows - c->row, c->block_rows);\n");
    put(e,
        has_ranks(g)
            ? "for (int64_t s = 0; s < steps->count; s++) {\n"
              "    run_step(c->b, max(c->rows, MIN_ROWS), &steps->step[s], c);\n"
              "    exchange(c->b, &steps->step[s], c, c->row, c->rows);\n"
              "}\n"
            : "for (int64_t s = 0; s < steps->count; s++)\n"
              "    run_step(c->b, max(c->rows, MIN_ROWS), &steps->step[s], c);\n");
    put(e, "}\n"
           "}\n\n");
}

void emit_split(Gen *g, Emit *e)
{
    if (!is_divided(g)) {
        emit_add(e, g->counts);
        return;
    }
    put_limits(g, e);
    if (g->p->rows_divided[EntryEncode] || g->p->rows_divided[EntryDecode])
        need_next_block(g);
    emit_add(e, g->counts);
    run_functions(g, e);
    if (has_ranks(g))
        emit_exchange(g, e);
    for (int k = EntryEncode; k <= EntryDecode; k++)
        if (g->p->rows_divided[k])
            split_rows(g, e, (Entry)k);
    for (int k = EntryEncode; k <= EntryDecode; k++)
        emit_scan(g, e, (Entry)k);
}
