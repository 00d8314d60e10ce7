/* region.c: emits one C function per step. A region that works row by row is a
 * list of steps; any other region is a single step. Layers whose functions have
 * the same text share them; the entries (entry.c) then loop over these
 * layers. */
#include "emit/gen/length.h"
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/sections.h"
#include "emit/gen/step.h"

#include <stddef.h>
#include <string.h>

/* ---- the clock, where attnc bench asks for one ---- */

/* Emits the address of tick() in this process, the only process that runs this
 * text. */
static void need_tick(Gen *g)
{
    if (!g->o->timers || !first_time(g, HelperTick, "tick"))
        return;
    let(g->shapes, "tick", "0x%llx",
        (unsigned long long)(uintptr_t)g->o->timers->tick);
    put(g->shapes, "static void tick(int64_t slot)\n"
                   "{\n"
                   "    ((void (*)(int64_t))$tick)(slot);\n"
                   "}\n\n");
}

/* Returns the timer slot of a function. The function ticks there when it
 * begins, and in the next slot when it ends. */
static int slot_of(const Gen *g, const Function *f)
{
    return 2 * (int)(f - g->functions.at);
}

static void tell_slots(Gen *g)
{
    Timers *t = g->o->timers;
    const Plan *p = g->p;
    if (!t)
        return;
    t->slots = 2 * g->functions.n;
    t->slot = arena_alloc(g->a, (size_t)p->order.n * sizeof *t->slot);
    for (int i = 0; i < p->order.n; i++)
        t->slot[i] = slot_of(g, &g->functions.at[g->step_of[i]]) + 1;
    t->name = arena_alloc(g->a, (size_t)p->region.n * sizeof *t->name);
    for (int i = 0; i < p->region.n; i++)
        t->name[i] = p->region.at[i].name;
}

/* ---- steps ---- */

/* The words that the column `code` of graph/ops.h uses. */
/* clang-format off */
#define NO_CODE                     { .step = NULL }
#define STEP(f)                     { .step = emit_##f }
#define WHOLE(f)                    STEP(f)
#define WHOLE_OF(f, bytes)          STEP(f)
#define SCORE_ROW(f)                { .score_row = emit_##f }
#define ROWS(kernel, n)             { .rows = kernel, .inputs = n }
#define ROWS_ACT(kernel, n)         { .rows = kernel, .inputs = n,             \
                                      .by_activation = true }
#define ROWS_BY(kernel, n, member)  { .rows = kernel, .inputs = n,             \
                                      .number = offsetof(Node, member) }

static const OpCode op_code[OpCount] = {
#define OP(id, name, min, max, class, formula, shape, in_place, flops, value,  \
           gate, code, ...)                                                    \
    [Op##id] = code,
#include "graph/ops.h"
};
/* clang-format on */

/* Emits a step on rows. Threads divide a product by columns, any other step by
 * rows. */
static void emit_row_step(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    Emit *call = emit_nested(g->scratch);
    const OpCode *code = &op_code[n->op];
    const bool own = has_own_columns(g, node), sums = adds_terms(g->p, node);
    if (own)
        begin_own_columns(g, call, node);
    if (sums)
        emit_rank_sums(g, call, node);
    else if (code->step)
        code->step(g, call, node);
    else
        emit_rows(g, call, node, code);
    if (own)
        put(call, "}\n");
    if (own || g->undivided || g->serial) {
        emit_add(e, call);
        return;
    }
    if (is_product(n) && !g->finish) {
        let(e, "n", "%lld", (long long)round16(n->type.dim[1].c));
        let(e, "step", "%d",
            ATTN_PANEL * tiling_of(g, TaskMatmul, node)->panels);
        if (has_ranks(g) && !sums)
            need_column_begin(g);
        let(e, "begin",
            has_ranks(g) && !sums ? "column_begin(c->b, " : "part_begin(");
        put(e, "const int64_t from = $begin$n, $step, part, parts);\n"
               "const int64_t to = $begin$n, $step, part + 1, parts);\n");
    } else {
        put(e,
            "const int64_t at = part_begin(c->rows, 1, part, parts);\n"
            "const int64_t rows = part_begin(c->rows, 1, part + 1, parts) - at;\n");
        if (g->uses.row)
            put(e, "const int64_t i = c->row + at;\n");
    }
    put(e, "\n");
    emit_add(e, call);
}

static void emit_step(Gen *g, Emit *e, const Region *r)
{
    const int node = g->p->order.at[r->first];
    const OpCode *code = &op_code[node_at(g->p, node)->op];
    if (code->step)
        code->step(g, e, node);
    else
        emit_score_rows(g, e, node, code);
}

/* Writes a comment with one line per value, such as "self_attn.qkv = linear:
 * f32[n, 384]". */
static void step_comment(Gen *g, Emit *e, int first, int count)
{
    for (int k = 0; k < count; k++) {
        const Node *n = node_at(g->p, g->p->order.at[first + k]);
        let(e, "open", "%s", k ? " * " : "/* ");
        let(e, "close", "%s", k == count - 1 ? " */" : "");
        let(e, "name", "%s", value_label(g->p, g->p->order.at[first + k]));
        let(e, "op", "%s", op_info[n->op].name);
        let(e, "type", "%s", print_type(g->a, n->type));
        put(e, "$open$name = $op: $type$close\n");
    }
}

/* ---- functions ---- */

static bool function_same(const Function *a, const Function *b)
{
    return a->undivided == b->undivided && a->by_rows == b->by_rows
        && !strcmp(a->base, b->base) && !strcmp(a->comment, b->comment)
        && !strcmp(a->body, b->body);
}

int function_at(Gen *g, Function f, const Emit *body)
{
    size_t n;
    f.body = emit_text(body, &n);
    const int first = index_find(&g->bodies, f.body);
    for (int i = first; i >= 0; i = g->functions.at[i].next)
        if (function_same(&g->functions.at[i], &f))
            return i;
    f.body = arena_strndup(g->a, f.body, n);
    f.next = first < 0 ? -1 : g->functions.at[first].next;
    if (first < 0)
        index_add(g->a, &g->bodies, f.body, g->functions.n);
    else
        g->functions.at[first].next = g->functions.n;
    f.comment = arena_strdup(g->a, f.comment);
    f.base = arena_strdup(g->a, f.base);
    f.name = free_name(g, f.base);
    vec_push(g->a, &g->functions, f);
    return g->functions.n - 1;
}

/* Emits declarations of a step's locals, which precede its text. */
static void step_locals(Gen *g, Emit *e, const Region *r, const Function *f)
{
    let(e, "entry", "%s", entry_name(r->entry));
    if (!f->undivided && !g->serial)
        put(e, "const struct $entry *c = call;\n");
    if (f->undivided && f->uses.batch)
        put(e, "const struct attn_batch *b = c->b;\n");
    if (f->uses.weights) {
        let(e, "type", "%s", layer_type(g, r->stack, r->layer));
        put(e, "const struct $type *w = c->layer_weights;\n");
    }
    if (f->uses.layer)
        put(e, "const int64_t layer = c->layer;\n");
    if ((f->undivided && (f->uses.batch || f->uses.weights || f->uses.layer))
        || (f->by_rows && (f->uses.weights || f->uses.layer)))
        put(e, "\n");
}

/* Sets the names that the text of a step uses for its rows and sequences. */
static void about_region(Gen *g, const Region *r)
{
    g->uses = (Uses){ 0 };
    g->entry = r->entry;
    g->undivided = r->undivided;
    g->alone = g->undivided && plan_rows(g->p, SymS) == 1;
    g->sequence = g->alone ? "0" : "s";
    g->row = g->alone ? NULL : "row";
}

/* Emits the function of the step at `from` in a region. If the region does not
 * work row by row, that is the function of all its nodes. Returns its index. */
static int step_function(Gen *g, const Region *r, int from)
{
    Emit *text = emit_nested(g->scratch), *body = emit_nested(g->scratch);
    Emit *comment = emit_new(g->scratch);
    Function f = { .base = r->name, .entry = r->entry };
    const int node = g->p->order.at[r->first + from];
    size_t n;
    about_region(g, r);
    f.undivided = g->undivided;
    f.by_rows = g->serial && !g->undivided && r->by_rows;
    if (r->by_rows) {
        f.base = g->finish ? arena_printf(g->scratch, "%s_finish",
                                          step_name(g->p, node))
                           : step_name(g->p, node);
        emit_row_step(g, text, node);
    } else {
        emit_step(g, text, r);
    }
    step_comment(g, comment, r->first + from, r->by_rows ? 1 : r->count);
    if (g->o->timers)
        put(text, "tick(SLOT + 1);\n");
    put(text, "}\n\n");
    f.uses = g->uses;
    step_locals(g, body, r, &f);
    emit_add(body, text);
    f.comment = emit_text(comment, &n);
    const int at = function_at(g, f, body);
    for (int k = 0; k < (r->by_rows ? 1 : r->count); k++)
        g->step_of[r->first + from + k] = at;
    return at;
}

/* Returns the FLOPs of `count` nodes of a region, for one row or for one
 * query-key pair. */
static long long flops_of(const Gen *g, const Region *r, int from, int count)
{
    int64_t flops = 0;
    for (int k = from; k < from + count; k++)
        flops += step_work(g->p, g->p->order.at[r->first + k]);
    return (long long)flops;
}

/* Returns the members that say what the ranks exchange after step k, and the
 * function that finishes the step. */
static const char *exchanged_of(Gen *g, const Region *r, int k,
                                const char *indent)
{
    const int node = g->p->order.at[r->first + k];
    const Tiling *t = tiling_of(g, TaskMatmul, node);
    const int i = g->step_of[r->first + k];
    if (!has_ranks(g))
        return "";
    const char *all = exchanged(g, node, t ? ATTN_PANEL * t->panels : 0,
                                indent);
    if (!adds_terms(g->p, node) || !has_rank_finish(g, node))
        return all;
    g->finish = true;
    const int finish = step_function(g, r, k);
    g->finish = false;
    g->step_of[r->first + k] = i;
    return arena_printf(g->a, "%s, .finish = %s", all,
                        g->functions.at[finish].name);
}

/* Emits a region that works row by row as a list of its steps. Returns the
 * index of the list. */
static int step_list(Gen *g, const Region *r)
{
    Emit *body = emit_nested(g->scratch);
    Function f = { .base = arena_printf(g->scratch, "%s_steps", r->name),
                   .type = "struct steps",
                   .comment = "" };
    let(body, "count", "%d", r->count);
    let(body, "min", "%lld", (long long)least_part_rows(g->p, r));
    let(body, "block", "%lld", (long long)region_block(g->p, r));
    put(body, ".count = $count,\n"
              ".min_part_rows = $min,\n");
    if (r->row_block)
        put(body, ".block_rows = $block,\n");
    put(body, ".step = {\n");
    for (int k = 0; k < r->count; k++) {
        const int i = step_function(g, r, k);
        const Function *step = &g->functions.at[i];
        f.uses.weights |= step->uses.weights;
        f.uses.layer |= step->uses.layer;
        let(body, "step", "%s", step->name);
        let(body, "flops", "%lld", flops_of(g, r, k, 1));
        let(body, "exchanged", "%s", exchanged_of(g, r, k, "  "));
        put(body, "{ $step, .flops = $flops$exchanged },\n");
    }
    put(body, "}\n"
              "};\n\n");
    return function_at(g, f, body);
}

/* Emits a region that does not work row by row as one step. Returns its
 * index. */
static int single_step(Gen *g, const Region *r)
{
    Emit *body = emit_nested(g->scratch);
    const int i = step_function(g, r, 0);
    const Function *step = &g->functions.at[i];
    let(body, "step", "%s", step->name);
    let(body, "flops", "%lld", flops_of(g, r, 0, r->count));
    let(body, "exchanged", "%s", exchanged_of(g, r, 0, ""));
    put(body, "$step, .flops = $flops$exchanged\n"
              "};\n\n");
    return function_at(g,
                       (Function){
                           .base = arena_printf(g->scratch, "%s_step", r->name),
                           .type = "struct step",
                           .comment = "",
                           .uses = step->uses },
                       body);
}

/* Emits the functions of an undivided region, which are called in sequence.
 * Returns the first. */
static int whole_steps(Gen *g, const Region *r)
{
    const int first = step_function(g, r, 0);
    for (int k = 1; r->by_rows && k < r->count; k++)
        step_function(g, r, k);
    return first;
}

void make_functions(Gen *g)
{
    const Plan *p = g->p;
    g->scratch = arena_new();
    g->function_of = arena_alloc(g->a,
                                 (size_t)p->region.n * sizeof *g->function_of);
    g->step_of = arena_alloc(g->a, (size_t)p->order.n * sizeof *g->step_of);
    for (int i = 0; i < p->region.n; i++) {
        const Region *r = &p->region.at[i];
        g->function_of[i] = r->undivided || g->serial ? whole_steps(g, r)
                          : r->by_rows                ? step_list(g, r)
                                                      : single_step(g, r);
        arena_reset(g->scratch);
    }
    arena_free(g->scratch);
    g->undivided = g->alone = false; /* the code below applies to all regions */
    g->sequence = "s";
    need_tick(g);
    tell_slots(g);
}

void step_head(Gen *g, Emit *e, const Function *f, const char *tail)
{
    put_call(e, arena_printf(g->a, "static void %s", f->name),
             arena_printf(g->a, "const struct %s *c%s%s", entry_name(f->entry),
                          f->by_rows && f->uses.row ? ", int64_t row" : "",
                          f->by_rows ? ", int64_t rows" : ""),
             tail);
}

/* Emits a function up to the opening brace of its body. */
static void put_head(Gen *g, Emit *e, const Function *f)
{
    let(e, "name", "%s", f->name);
    if (f->type) {
        let(e, "type", "%s", f->type);
        put(e, "static const $type $name = {\n");
        return;
    }
    if (f->undivided || g->serial)
        step_head(g, e, f, "");
    else
        put_call(e, arena_printf(g->a, "static void %s", f->name),
                 "void *call, int64_t part, int64_t parts", "");
    put(e, "{\n");
    if (g->o->timers) {
        let(e, "slot", "%d", slot_of(g, f));
        put(e, "enum { SLOT = $slot };\n\n"
               "tick(SLOT);\n");
    }
}

void emit_function(Gen *g, Emit *e, const Function *f)
{
    Emit *head = emit_new(g->a);
    put_head(g, head, f);
    emit_raw(e, f->comment, strlen(f->comment));
    emit_add(e, head);
    emit_raw(e, f->body, strlen(f->body));
}
