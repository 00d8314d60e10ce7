/* unroll.c: estimates the code size of the steps and of unrolled layers, to
 * decide if everything fits in the instruction cache. Matters only if lengths
 * are fixed. */
#include "plan/plan_parts.h"

#include <string.h>

/* Bytes of code that clang -O2 generates for vectors of 16 floats, like the
 * sizes in graph/ops.h. */
enum {
    SumBytes = 38, /* per vector of sums in a tile: FMA, load, store */
    CallBytes = 16 /* a call of a step, or a pointer that a layer sets */
};

static int64_t tile_bytes(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    const int64_t rows = plan_rows(p, row_sym(n->type));
    const Tiling t = rows ? plan_fixed_tiling(p, node)
                          : plan_task(p, TaskMatmul, node)->tiling;
    const int64_t rest = rows ? rows % t.mr : 0; /* the rest has its own tile */
    return SumBytes * (t.mr + rest) * (t.nr / p->target.width);
}

static int64_t step_bytes(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    return op_info[n->op].code_bytes
         + (is_product(n) ? tile_bytes(p, node) : 0);
}

/* Returns the first step that shares this step's function: one with the same
 * name, in any layer, with the same tasks and width. */
static int first_step(const Plan *p, Index *steps, int step)
{
    const int node = p->order.at[step];
    const char *name = step_name(p, node);
    const int64_t width = node_at(p, node)->type.dim[1].c;
    Buffer key = { .arena = p->arena_ };
    buffer_add(&key, name, strlen(name) + 1);
    buffer_add(&key, (const char *)&width, sizeof width);
    for (int kind = 0; kind < TaskKinds; kind++)
        buffer_add(&key, (const char *)&p->task_of[kind][node], sizeof(int));
    return index_add_key(p->arena_, steps, key.at, (size_t)key.n, step);
}

PlanCode plan_code(const Plan *p, Entry entry)
{
    PlanCode c = { .room = p->target.code };
    Index steps = { 0 };
    int layer = -1;
    for (int i = 0; i < p->region.n; i++) {
        const Region *r = &p->region.at[i];
        if (r->entry != entry)
            continue;
        const bool next = r->layer >= 0 && r->layer != layer;
        layer = r->layer;
        c.layers += next;
        if (c.layers > 1 && r->layer >= 0)
            c.more += CallBytes * (r->count + 2 * next);
        for (int k = r->first; k < r->first + r->count; k++)
            if (first_step(p, &steps, k) == k)
                c.bytes += step_bytes(p, p->order.at[k]);
    }
    c.fits = c.bytes + c.more <= c.room;
    c.written = p->g->spec->fix.unroll && c.layers > 1 && c.fits;
    return c;
}

static const char *kib(const Plan *p, int64_t bytes)
{
    return arena_printf(p->arena_, "%.1f KiB", (double)bytes / 1024);
}

void plan_code_text(Buffer *b, const Plan *p, Entry entry)
{
    const PlanCode c = plan_code(p, entry);
    buffer_printf(b, "  %s: about %s of code, of %s that L1 holds\n",
                  entry == EntryEncode ? "encode" : "decode", kib(p, c.bytes),
                  kib(p, c.room));
    if (c.layers < 2)
        return;
    buffer_printf(b, "    %d layers %s: ", c.layers,
                  c.written ? "are written out" : "stay loops");
    if (c.written)
        buffer_printf(b, "%s of it\n", kib(p, c.more));
    else if (!c.fits)
        buffer_printf(b, "written out they would take %s more: too much\n",
                      kib(p, c.more));
    else
        buffer_printf(b, "fix.unroll would write them out, in %s more\n",
                      kib(p, c.more));
}
