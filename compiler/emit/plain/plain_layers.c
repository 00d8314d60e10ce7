/* plain_layers.c: emits the model as plain C: a function per kind of layer, and
 * encode() and decode(), which call these functions in loops. */
#include "emit/plain/plain.h"

#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

#include <string.h>

/* ---- nodes of one layer, or of none, one behind the other ---- */

static const Node *node_in(const Plain *p, int at)
{
    return node_at(p->g.p, p->g.p->order.at[at]);
}

static int plain_group_end(const Plain *p, int from)
{
    int to = from + 1;
    while (to < p->g.p->order.n
           && node_in(p, to)->entry == node_in(p, from)->entry
           && node_in(p, to)->layer == node_in(p, from)->layer
           && node_in(p, to)->stack == node_in(p, from)->stack)
        to++;
    return to;
}

/* Returns the layer's index in the cache of kind `of` that it writes or reads;
 * -1 if it uses none. */
static int64_t plain_place_in(const Plain *p, int from, int to, int of)
{
    for (int i = from; i < to; i++) {
        const Node *n = node_in(p, i);
        for (int k = -1; k < n->nin; k++) {
            const int x = k < 0 ? p->g.p->order.at[i] : n->in[k];
            const Op op = x < 0 ? OpNop : node_at(p->g.p, x)->op;
            if ((op == OpAppend || op == OpRecall)
                && p->cache.at[p->cache_of[x]].of == of)
                return p->place[x];
        }
    }
    return -1;
}

static LoopItem item_of(Plain *p, int from, int to)
{
    const Node *n = node_in(p, from);
    LoopItem item = { .stack = n->stack };
    item.number[NumberLayer] = n->layer;
    item.number[NumberWeights] = layer_place(&p->g, n->stack, n->layer);
    item.number[NumberSelf] = plain_place_in(p, from, to, CacheSelf);
    item.number[NumberCross] = plain_place_in(p, from, to, CacheCross);
    return item;
}

/* Finds which numbers equal NumberWeights in all layers. */
static void compare_numbers(Plain *p)
{
    for (int k = 0; k < LoopNumbers; k++)
        p->same_numbers[k] = true;
    for (int from = 0, to; from < p->g.p->order.n; from = to) {
        to = plain_group_end(p, from);
        const LoopItem item = item_of(p, from, to);
        for (int k = 0; k < LoopNumbers && node_in(p, from)->layer >= 0; k++)
            if (item.number[k] >= 0
                && item.number[k] != item.number[NumberWeights])
                p->same_numbers[k] = false;
    }
}

/* ---- comments ---- */

static const char *const sublayer_text[Sublayers] = {
    [SublayerSelf] = "Self-attention (section 3.2.3)",
    [SublayerRecurrent] = "Recurrent layer (Table 1)",
    [SublayerConvolution] = "Convolutional layer (Table 1)",
    [SublayerCross] = "Attention to the encoder's output (section 3.2.3)",
    [SublayerFfn] = "Position-wise feed-forward network (section 3.3)",
};

/* Returns the comment above the node `at`, or NULL if the last comment still
 * applies. */
static const char *text_of(const Plain *p, int at, int from)
{
    const Node *n = node_in(p, at),
               *last = at > from ? node_in(p, at - 1) : NULL;
    const bool add_norm = n->op == OpAddNorm;
    if (n->op == OpOutput)
        return NULL;
    if (add_norm)
        return "Add & Norm (section 3.1)";
    if (n->sublayer != SublayerNone)
        return last && last->sublayer == n->sublayer && last->op != OpAddNorm
                 ? NULL
                 : sublayer_text[n->sublayer];
    if (n->op == OpNorm && n->layer >= 0)
        return "Norm";
    if (n->op == OpEmbed && (!last || last->op != OpEmbed))
        return "Embeddings and positions (sections 3.4, 3.5)";
    if (n->op == OpSelect)
        return "Of the last row (section 3.4)";
    return NULL;
}

static void put_nodes(Plain *p, Emit *e, int from, int to)
{
    for (int i = from; i < to; i++) {
        const char *text = text_of(p, i, from);
        if (text) {
            if (i > from)
                put(e, "\n");
            let(e, "text", "%s", text);
            put(e, "/* $text */\n");
        }
        plain_node(p, e, p->g.p->order.at[i]);
    }
}

/* ---- functions of layers ---- */

static const char *add_parameter_word(Arena *a, const char *list,
                                      const char *word)
{
    return arena_printf(a, "%s%s%s", list, *list ? ", " : "", word);
}

/* Returns the parameters of a layer's function or, if `item` is not NULL, the
 * arguments of a call. */
static const char *layer_arguments(Plain *p, const PlainUses *uses,
                                   const LoopItem *item, const LoopPath *path)
{
    static const char *const name[] = { "l", "number", "self", "cross" };
    Arena *a = p->g.a;
    const char *list = "";
    if (uses->model || uses->layer)
        list = add_parameter_word(a, list,
                                  item ? "w" : "const struct weights *w");
    list = add_parameter_word(a, list, item ? "s" : "struct state *s");
    for (int k = 0; k < LoopNumbers; k++)
        if (uses->number[k])
            list = add_parameter_word(a, list,
                                      item
                                          ? loop_number(&p->g, item, path, k)
                                          : arena_printf(a, "int %s", name[k]));
    if (uses->rows)
        list = add_parameter_word(a, list, item ? "rows" : "int rows");
    if (uses->past)
        list = add_parameter_word(a, list, item ? "past" : "int past");
    if (uses->prefix)
        list = add_parameter_word(a, list, item ? "prefix" : "int prefix");
    return list;
}

static const char *stack_text(Stack stack)
{
    return stack == StackEncoder ? "A layer of the encoder (section 3.1): s->x "
                                   "becomes what the next one reads."
         : stack == StackCross ? "Keys and values of the encoder's output, for "
                                 "a layer of the decoder."
                               : "A layer of the decoder (section 3.1): s->x "
                                 "becomes what the next one reads.";
}

/* Adds the function of a layer unless it exists. Returns its index. */
static int layer_function(Plain *p, int from, int to)
{
    Arena *a = p->g.a;
    const Node *n = node_in(p, from);
    Emit *body = emit_nested(a), *e = emit_nested(a), *head = emit_new(a);
    size_t size;
    p->uses = (PlainUses){ 0 };
    put_nodes(p, body, from, to);
    if (p->uses.layer) {
        p->uses.number[NumberWeights] = true;
        let(e, "type", "%s", layer_type(&p->g, n->stack, n->layer));
        let(e, "array", "%s", layer_array(&p->g, n->stack, n->layer));
        put(e, "const struct $type *layer = &w->$array[l];\n"
               "\n");
    }
    emit_add(e, body);
    const char *base = arena_printf(a, "%s_layer", stack_name[n->stack]);
    const char *lines = emit_text(e, &size);
    for (int i = 0; i < p->function.n; i++)
        if (p->function.at[i].stack == n->stack
            && !strcmp(p->function.at[i].body, lines))
            return i;
    const char *name = free_name(&p->g, base);
    let(head, "text", "%s", stack_text(n->stack));
    put_comment(head, "$text");
    put_call(head, arena_printf(a, "static void %s", name),
             layer_arguments(p, &p->uses, NULL, NULL), "");
    put(head, "{\n");
    emit_add(head, e);
    emit_raw(head, "}\n\n", 3);
    const PlainFunction f = { .name = name,
                              .stack = n->stack,
                              .body = lines,
                              .text = emit_text(head, &size),
                              .uses = p->uses };
    vec_push(a, &p->function, f);
    return p->function.n - 1;
}

/* ---- entries ---- */

typedef struct { /* consecutive layers that are called */
    VEC(LoopItem) item;
    VEC(int) function;
} Calls;

static void call_layer(Gen *g, Emit *e, const void *of, int item,
                       const LoopPath *path)
{
    Plain *p = (Plain *)g;
    const Calls *c = of;
    const PlainFunction *f = &p->function.at[c->function.at[item]];
    put_call(e, f->name, layer_arguments(p, &f->uses, c->item.at, path), ";");
}

static void merge_uses(PlainUses *all, const PlainUses *more)
{
    all->model |= more->model || more->layer;
    all->rows |= more->rows;
    all->past |= more->past;
    all->prefix |= more->prefix;
}

/* Emits the calls of consecutive layers. Returns the first node after them. */
static int put_plain_layers(Plain *p, Emit *e, int from)
{
    const Entry entry = node_in(p, from)->entry;
    PlainUses uses = p->uses;
    Calls c = { 0 };
    while (from < p->g.p->order.n && node_in(p, from)->entry == entry
           && node_in(p, from)->layer >= 0) {
        const int to = plain_group_end(p, from);
        LoopItem item = item_of(p, from, to);
        const int f = layer_function(p, from, to);
        item.like = f;
        for (int k = 0; k < LoopNumbers; k++)
            if (!p->function.at[f].uses.number[k])
                item.number[k] = 0;
        merge_uses(&uses, &p->function.at[f].uses);
        vec_push(p->g.a, &c.item, item);
        vec_push(p->g.a, &c.function, f);
        from = to;
    }
    p->uses = uses;
    put_loops(&p->g, e, c.item.at, c.item.n, call_layer, &c);
    return from;
}

bool plain_reads(const Plain *p, BatchMember m)
{
    bool found = false;
    for (int i = 0; i < p->g.p->g->nodes.n; i++) {
        const Node *n = node_at(p->g.p, i);
        found |= n->op == OpInput && n->member == m;
    }
    return found;
}

bool plain_prefix(const Plain *p, Entry entry)
{
    bool found = false;
    for (int i = 0; i < p->g.p->g->nodes.n; i++) {
        const Node *n = node_at(p->g.p, i);
        found |= n->entry == entry && n->mask && n->mask->prefix;
    }
    return found;
}

/* Returns the parameters for the inputs of an entry. */
static const char *inputs(const Plain *p, Entry entry)
{
    static const char *const text[] = {
        [BatchIds] = "const int *ids",
        [BatchTypes] = "const int *types",
        [BatchInput] = "const float *input",
        [BatchQuery] = "const float *query",
        [BatchKey] = "const float *key",
        [BatchValue] = "const float *value",
    };
    const char *list = "";
    for (int i = 0; i < p->g.p->g->nodes.n; i++) {
        const Node *n = node_at(p->g.p, i);
        const bool one = entry == EntryDecode && p->decode_rows == 1;
        if (n->op == OpInput && n->entry == entry)
            list = add_parameter_word(p->g.a, list,
                                      !one ? text[n->member]
                                      : n->member == BatchTypes ? "int type"
                                                                : "int id");
    }
    return list;
}

const char *plain_parameters(const Plain *p, Entry entry)
{
    Arena *a = p->g.a;
    const char *list = add_parameter_word(
        a, "const struct weights *w, struct state *s", inputs(p, entry));
    if (entry == EntryEncode || p->decode_rows > 1)
        list = add_parameter_word(a, list, "int rows");
    if (plain_reads(p, BatchKey))
        list = add_parameter_word(a, list, "int keys");
    if (entry == EntryDecode)
        list = add_parameter_word(a, list, "int past");
    return plain_prefix(p, entry) ? add_parameter_word(a, list, "int prefix")
                                  : list;
}

static const char *entry_comment(const Plain *p, Entry entry)
{
    const Type t = node_at(p->g.p, graph_result(p->g.p->g))->type;
    const long long columns = t.dim[1].c;
    const bool both = has_entry(p->g.p, EntryEncode) && has_decoder(p->g.p);
    if (entry == EntryDecode)
        return arena_printf(
            p->g.a,
            "The decoder: %s behind `past` others, whose keys and values are "
            "in s. Returns the logits of the next token, %lld numbers.",
            p->decode_rows == 1 ? "one token" : "`rows` tokens, at most ROWS,",
            columns);
    if (both)
        return "The encoder: what it makes of the source stays in s, as keys "
               "and values.";
    return arena_printf(p->g.a, "Returns %s %lld numbers.",
                        row_sym(t) == SymS ? "a row of" : "`rows` rows of",
                        columns);
}

static void put_unused_parameters(Emit *e, const PlainUses *uses, Entry entry,
                                  bool prefix, bool has_rows)
{
    if (!uses->model)
        put(e, "(void)w;\n");
    if (!uses->rows && has_rows)
        put(e, "(void)rows;\n");
    if (entry == EntryDecode && !uses->past)
        put(e, "(void)past;\n");
    if (prefix && !uses->prefix)
        put(e, "(void)prefix;\n");
}

static void plain_entry_function(Plain *p, Emit *e, Entry entry)
{
    const int result = graph_result(p->g.p->g);
    const bool returns = node_at(p->g.p, result)->entry == entry;
    Emit *body = emit_nested(p->g.a), *head = emit_new(p->g.a);
    bool first = true;
    p->uses = (PlainUses){ 0 };
    if (entry == EntryEncode && !returns) {
        p->uses.rows = true;
        plain_source_rows(p);
        put(body, "s->source_rows = rows;\n");
        first = false;
    }
    for (int i = 0; i < p->g.p->order.n;) {
        const int end = plain_group_end(p, i);
        if (node_in(p, i)->entry != entry) {
            i = end;
        } else if (node_in(p, i)->layer >= 0) {
            if (!first)
                put(body, "\n");
            i = put_plain_layers(p, body, i);
            first = false;
        } else {
            if (!first)
                put(body, "\n");
            put_nodes(p, body, i, end);
            i = end;
            first = false;
        }
    }
    if (returns) {
        let(body, "result", "%s", plain_value(p, result));
        put(body, "return $result;\n");
    }
    put(body, "}\n\n");
    for (int k = 0; k < p->function.n; k++)
        emit_raw(e, p->function.at[k].text, strlen(p->function.at[k].text));
    p->function.n = 0;
    let(head, "text", "%s", entry_comment(p, entry));
    put_comment(head, "$text");
    put_call(head,
             arena_printf(p->g.a, "%s%s_%s",
                          returns ? "const float *" : "void ", p->g.p->prefix,
                          plain_entry_name(p, entry)),
             plain_parameters(p, entry), "");
    put(head, "{\n");
    put_unused_parameters(head, &p->uses, entry, plain_prefix(p, entry),
                          entry == EntryEncode || p->decode_rows > 1);
    emit_add(e, head);
    emit_add(e, body);
}

const char *plain_entry_name(const Plain *p, Entry entry)
{
    return p->g.p->g->spec->kind == KindAttention ? "attention"
                                                  : entry_name(entry);
}

void emit_plain_entries(Plain *p, Emit *e)
{
    compare_numbers(p);
    for (int k = EntryEncode; k <= EntryDecode; k++)
        if (has_entry(p->g.p, (Entry)k))
            plain_entry_function(p, e, (Entry)k);
}
