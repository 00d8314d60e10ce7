/* emit_region.c: one C function a region. Layers whose functions have the same
 * text share them; the entries (emit_model.c) then loop over layers.         */
#include "emit_parts.h"

#include <string.h>

static const Node *node_at(const Gen *g, int i)
{
    return &g->p->g->nodes.at[i];
}

const char *row_count(Sym s)
{
    switch (s) {
    case SymR: return "c->b->selected";
    case SymM: return "c->b->key_rows";
    case SymS: return "c->b->sequences";
    default: return "c->b->rows";
    }
}

const char *starts_of(Sym s)
{
    return s == SymM ? "key_start" : "start";
}

/* The member of attn_batch that an Input of numbers is. */
static const char *input_member(const Node *n)
{
    const bool free_input = n->layer < 0 && !n->stack[0];   /* attention */
    return free_input ? n->name : "input";
}

/* Where `row` of a value begins, in emitted C. Values that never leave a
 * block of rows begin at the block's first row, which is what `row` names.   */
const char *value_at(Gen *g, int node, const char *row)
{
    const Plan *p = g->p;
    const int owner = owner_of(p, node);
    const Value *v = &p->value[node];
    const char *column = v->column
        ? arena_printf(g->a, " + %lld", (long long)v->column) : "";
    if (p->value[owner].place == PlaceInput)
        return arena_printf(g->a, "c->b->%s + %s * %lld%s",
                            input_member(node_at(g, owner)), row,
                            (long long)v->stride, column);
    const char *name = p->value[owner].name;
    if (p->slot.at[p->value[owner].slot].kind == SlotParts)
        return arena_printf(g->a, "%s%s", name, column);
    return arena_printf(g->a, "c->%s + %s * %lld%s", name, row,
                        (long long)v->stride, column);
}

static long long stride(const Gen *g, int node)
{
    return g->p->value[node].stride;
}

/* ---- the clock, where attnc bench asks for one ---- */

static void put_tick(Gen *g, Emit *e, int op)
{
    if (!g->o->timers)
        return;
    let(e, "op", "%d", op);
    put(e, "tick(SLOT + $op);\n");
}

/* Its address in this process, which is the only one that runs this text. */
static void need_tick(Gen *g)
{
    if (!g->o->timers || !first_time(g, "tick"))
        return;
    let(g->shapes, "tick", "0x%llx", (unsigned long long)(uintptr_t)
        g->o->timers->tick);
    put(g->shapes, "static void tick(int64_t slot)\n"
                   "{\n"
                   "    ((void (*)(int64_t))$tick)(slot);\n"
                   "}\n\n");
}

static int ticks_of(const Region *r)
{
    return 1 + (r->row_block ? r->count : 1);
}

static int first_slot(const Gen *g, const Function *f)
{
    int slot = 0;
    for (const Function *at = g->functions.at; at < f; at++)
        slot += at->ticks;
    return slot;
}

static void tell_slots(Gen *g)
{
    Timers *t = g->o->timers;
    const int regions = g->p->region.n;
    if (!t)
        return;
    t->first = arena_alloc(g->a, (size_t)regions * sizeof *t->first);
    t->name = arena_alloc(g->a, (size_t)regions * sizeof *t->name);
    for (int i = 0; i < regions; i++) {
        const Function *f = &g->functions.at[g->function_of[i]];
        t->first[i] = first_slot(g, f);
        t->name[i] = f->name;
    }
    t->slots = first_slot(g, g->functions.at + g->functions.n);
}

/* ---- regions ---- */

static void let_rows(Gen *g, Emit *e, const Region *r)
{
    const Node *n = node_at(g, g->p->order.at[r->first]);
    let(e, "all", "%s", row_count(row_sym(n->type)));
    let(e, "block", "%lld", (long long)g->p->target.row_block);
}

static void region_rows(Gen *g, Emit *e, const Region *r)
{
    let_rows(g, e, r);
    put(e, "const int64_t i = $all * part / parts;\n"
           "const int64_t rows = $all * (part + 1) / parts - i;\n"
           "\n");
    emit_row_op(g, e, g->p->order.at[r->first]);
}

/* Has an earlier value of the region this name? Then it has its memory too. */
static bool named_before(const Plan *p, const Region *r, int k)
{
    const char *name = p->value[p->order.at[r->first + k]].name;
    for (int i = 0; i < k; i++)
        if (!strcmp(p->value[p->order.at[r->first + i]].name, name))
            return true;
    return false;
}

/* The part's own block buffers, by name. */
static void block_buffers(Gen *g, Emit *e, const Region *r)
{
    const Plan *p = g->p;
    for (int i = 0; i < r->count; i++) {
        const Value *v = &p->value[p->order.at[r->first + i]];
        const Slot *slot = &p->slot.at[v->slot];
        if (slot->kind != SlotParts || named_before(p, r, i))
            continue;
        let(e, "name", "%s", v->name);
        let(e, "unit", "%lld", (long long)slot->unit);
        put(e, "float *const $name = c->$name + part * $unit;\n");
    }
}

/* A block of rows goes through all ops before the next begins, so that it
 * stays in the cache.                                                       */
static void region_row_block(Gen *g, Emit *e, const Region *r)
{
    need_least(g);
    let_rows(g, e, r);
    put(e, "const int64_t last = $all * (part + 1) / parts;\n");
    block_buffers(g, e, r);
    put(e, "\n"
           "for (int64_t i = $all * part / parts; i < last; i += $block) {\n"
           "    const int64_t rows = least(last - i, $block);\n"
           "\n");
    for (int k = 0; k < r->count; k++) {
        emit_row_op(g, e, g->p->order.at[r->first + k]);
        put_tick(g, e, 1 + k);
    }
    put(e, "}\n");
}

static void region_output(Gen *g, Emit *e, const Region *r)
{
    const int node = g->p->order.at[r->first];
    const Node *n = node_at(g, node);
    let_rows(g, e, r);
    put(e, "const int64_t i = $all * part / parts;\n"
           "const int64_t rows = $all * (part + 1) / parts - i;\n"
           "\n");
    put_call(g, e, use_kernel(g->kernels, "copy_rows"), arena_printf(g->a,
             "c->b->output + i * %lld, %lld, %s, %lld, rows, %lld",
             (long long)n->type.dim[1].c, (long long)n->type.dim[1].c,
             value_at(g, n->in[0], "i"), stride(g, n->in[0]),
             (long long)n->type.dim[1].c), ";");
}

static void emit_region(Gen *g, Emit *e, const Region *r)
{
    const int node = g->p->order.at[r->first];
    const Node *n = node_at(g, node);
    if (r->row_block) {
        region_row_block(g, e, r);
        return;
    }
    switch (n->op) {
    case OpEmbed: emit_embed(g, e, node); break;
    case OpPosition: emit_position(g, e, node); break;
    case OpFirstRow: emit_first_row(g, e, node); break;
    case OpRotate: emit_rotate(g, e, node); break;
    case OpPool: emit_pool(g, e, node); break;
    case OpSelect: emit_select(g, e, node); break;
    case OpOutput: region_output(g, e, r); break;
    case OpAttention: emit_attention_region(g, e, node); break;
    case OpAppend: case OpPages: emit_pages_region(g, e, r); break;
    case OpScores: emit_scores_region(g, e, node); break;
    case OpContext: emit_context_region(g, e, node); break;
    default:
        if (n->type.rank == 3)
            emit_head_rows_region(g, e, node);
        else
            region_rows(g, e, r);
    }
}

/* "self_attn.qkv = linear f32[n, 384]", a line each. */
static void region_comment(Gen *g, Emit *e, const Region *r)
{
    for (int k = 0; k < r->count; k++) {
        const Node *n = node_at(g, g->p->order.at[r->first + k]);
        let(e, "open", "%s", k ? " * " : "/* ");
        let(e, "close", "%s", k == r->count - 1 ? " */" : "");
        let(e, "name", "%s", value_label(g->p, g->p->order.at[r->first + k]));
        let(e, "op", "%s", op_info[n->op].name);
        let(e, "type", "%s", print_type(g->a, n->type));
        put(e, "$open$name = $op: $type$close\n");
    }
}

static bool same_function(const Function *a, const Function *b)
{
    return !strcmp(a->base, b->base) && !strcmp(a->comment, b->comment)
        && !strcmp(a->parameters, b->parameters) && !strcmp(a->body, b->body);
}

static const char *free_name(Gen *g, const char *base)
{
    int taken = 0;
    for (int i = 0; i < g->functions.n; i++)
        taken += !strcmp(g->functions.at[i].base, base);
    return taken ? arena_printf(g->a, "%s_%d", base, taken + 1) : base;
}

static const char *text_of(Gen *g, const Emit *e)
{
    size_t n;
    const char *text = emit_text(e, &n);
    return arena_strndup(g->a, text, n);
}

/* Does the text read weights of its layer, w->, beside the model's, c->w->? */
static bool reads_layer(const char *text)
{
    for (const char *at = strstr(text, "w->"); at; at = strstr(at + 1, "w->"))
        if (at[-1] != '>')
            return true;
    return false;
}

static Function make_function(Gen *g, const Region *r)
{
    Emit *body = emit_new(g->a), *comment = emit_new(g->a);
    Function f = { .base = r->name };
    put(body, "{\n");
    emit_region(g, body, r);
    if (!r->row_block)
        put_tick(g, body, 1);
    put(body, "}\n\n");
    region_comment(g, comment, r);
    f.body = text_of(g, body);
    f.comment = text_of(g, comment);
    f.takes_weights = r->layer >= 0 && reads_layer(f.body);
    f.takes_layer = strstr(f.body, "layer *") != NULL;
    f.parameters = arena_printf(g->a,
        "const struct %s *c%s%s, int64_t part, int64_t parts",
        r->entry == EntryEncode ? "encode" : "decode",
        f.takes_weights ? arena_printf(g->a, ", const struct %s *w",
                              layer_type(g, r->stack, r->layer)) : "",
        f.takes_layer ? ", int64_t layer" : "");
    return f;
}

void make_functions(Gen *g)
{
    const Plan *p = g->p;
    g->function_of = arena_alloc(g->a,
                                 (size_t)p->region.n * sizeof *g->function_of);
    for (int i = 0; i < p->region.n; i++) {
        Function f = make_function(g, &p->region.at[i]);
        int at = 0;
        while (at < g->functions.n
               && !same_function(&g->functions.at[at], &f))
            at++;
        if (at == g->functions.n) {
            f.name = free_name(g, f.base);
            f.ticks = ticks_of(&p->region.at[i]);
            vec_push(g->a, &g->functions, f);
        }
        g->function_of[i] = at;
    }
    need_tick(g);
    tell_slots(g);
}

void emit_function(Gen *g, Emit *e, const Function *f)
{
    emit_raw(e, f->comment, strlen(f->comment));
    put_call(g, e, arena_printf(g->a, "static void %s", f->name),
             f->parameters, "");
    const char *body = f->body;
    if (g->o->timers)
        body = arena_printf(g->a, "{\n    enum { SLOT = %d };\n\n"
                            "    tick(SLOT);\n%s", first_slot(g, f), body + 2);
    emit_raw(e, body, strlen(body));
}
