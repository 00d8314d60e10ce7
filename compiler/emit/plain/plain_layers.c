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

/* Returns the layer's index in the arrays of its cache of kind `of`, or -1 if
 * the layer uses no such cache. */
static int64_t plain_place_in(const Plain *p, int from, int to, int of)
{
    const Node *kept = NULL;
    for (int i = from; i < to && !kept; i++)
        kept = kept_by(p->g.p, node_in(p, i), of);
    return kept ? plain_place(p, kept) : -1;
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

/* Finds the numbers that equal NumberWeights in all layers. */
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

static void add_parameter(const Plain *p, const char **list, bool used,
                          const char *word)
{
    if (used)
        *list = arena_printf(p->g.a, "%s%s%s", *list, **list ? ", " : "", word);
}

/* Returns the parameters of a layer's function or, if `item` is not NULL, the
 * arguments of a call for that layer. */
static const char *layer_arguments(Plain *p, const Uses *uses,
                                   const LoopItem *item, const LoopPath *path)
{
    const char *list = "";
    add_parameter(p, &list, uses->model,
                  item ? "w" : "const struct weights *w");
    add_parameter(p, &list, true, item ? "s" : "struct state *s");
    for (int k = 0; k < LoopNumbers; k++)
        add_parameter(p, &list, uses->number[k],
                      item ? loop_number(&p->g, item, path, k)
                           : arena_printf(p->g.a, "int %s", plain_numbers[k]));
    add_parameter(p, &list, uses->rows, item ? "rows" : "int rows");
    add_parameter(p, &list, uses->past, item ? "past" : "int past");
    add_parameter(p, &list, uses->prefix, item ? "prefix" : "int prefix");
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

/* Adds a layer's function unless it exists. Returns its index. */
static int layer_function(Plain *p, int from, int to)
{
    const Node *n = node_in(p, from);
    Gen *g = &p->g;
    Emit *nodes = emit_nested(g->a), *body = emit_nested(g->a);
    g->uses = (Uses){ 0 };
    put_nodes(p, nodes, from, to);
    if (g->uses.weights) {
        g->uses.number[NumberWeights] = true;
        let(body, "type", "%s", layer_type(g, n->stack, n->layer));
        let(body, "array", "%s", layer_array(g, n->stack, n->layer));
        put(body, "const struct $type *layer = &w->$array[l];\n"
                  "\n");
    }
    emit_add(body, nodes);
    put(body, "}\n\n");
    return function_at(g,
                       (Function){ .base = arena_printf(g->a, "%s_layer",
                                                        stack_name[n->stack]),
                                   .comment = stack_text(n->stack),
                                   .uses = g->uses },
                       body);
}

static void put_function(Plain *p, Emit *e, const Function *f)
{
    Emit *head = emit_new(p->g.a);
    put_comment(head, f->comment);
    put_call(head, arena_printf(p->g.a, "static void %s", f->name),
             layer_arguments(p, &f->uses, NULL, NULL), "");
    emit_add(e, head);
    emit_raw(e, "{\n", 2);
    emit_raw(e, f->body, strlen(f->body));
}

/* ---- entries ---- */

typedef VEC(LoopItem) Calls; /* consecutive layers; `like`: a function */

static void call_layer(Gen *g, Emit *e, const void *of, int item,
                       const LoopPath *path)
{
    Plain *p = (Plain *)g;
    const Calls *c = of;
    const Function *f = &g->functions.at[c->at[item].like];
    put_call(e, f->name, layer_arguments(p, &f->uses, c->at, path), ";");
}

static void merge_uses(Uses *all, const Uses *more)
{
    all->model |= more->model;
    all->rows |= more->rows;
    all->past |= more->past;
    all->prefix |= more->prefix;
}

/* Emits the calls of consecutive layers. Returns the first node after them. */
static int put_plain_layers(Plain *p, Emit *e, int from)
{
    const Entry entry = node_in(p, from)->entry;
    Uses uses = p->g.uses;
    Calls c = { 0 };
    for (int to; from < p->g.p->order.n && node_in(p, from)->entry == entry
                 && node_in(p, from)->layer >= 0;
         from = to) {
        to = plain_group_end(p, from);
        LoopItem item = item_of(p, from, to);
        item.like = layer_function(p, from, to);
        const Uses *more = &p->g.functions.at[item.like].uses;
        for (int k = 0; k < LoopNumbers; k++)
            if (!more->number[k])
                item.number[k] = 0;
        merge_uses(&uses, more);
        vec_push(p->g.a, &c, item);
    }
    p->g.uses = uses;
    put_loops(&p->g, e, c.at, c.n, call_layer, &c);
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
        found |= n->entry == entry && n->mask
              && (n->mask->prefix || n->mask->given);
    }
    return found;
}

/* Returns the parameters of an entry's function. */
static const char *entry_parameters(const Plain *p, Entry entry)
{
    const bool one = entry == EntryDecode && p->decode_rows == 1;
    const char *list = "const struct weights *w, struct state *s";
    for (int i = 0; i < p->g.p->g->nodes.n; i++) {
        const Node *n = node_at(p->g.p, i);
        const bool ids = n->member == BatchIds || n->member == BatchTypes;
        add_parameter(p, &list, n->op == OpInput && n->entry == entry,
                      !one ? arena_printf(p->g.a, "const %s *%s",
                                          ids ? "int" : "float",
                                          batch_member[n->member])
                      : n->member == BatchTypes ? "int type"
                                                : "int id");
    }
    add_parameter(p, &list, !one, "int rows");
    add_parameter(p, &list, plain_reads(p, BatchKey), "int keys");
    add_parameter(p, &list, entry == EntryDecode, "int past");
    add_parameter(p, &list, plain_prefix(p, entry), "int prefix");
    return list;
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

static void put_unused_parameters(const Plain *p, Emit *e, Entry entry)
{
    const Uses *uses = &p->g.uses;
    if (!uses->model)
        put(e, "(void)w;\n");
    if (!uses->rows && (entry == EntryEncode || p->decode_rows > 1))
        put(e, "(void)rows;\n");
    if (!uses->past && entry == EntryDecode)
        put(e, "(void)past;\n");
    if (!uses->prefix && plain_prefix(p, entry))
        put(e, "(void)prefix;\n");
}

/* Emits an entry's function after its first brace. */
static void put_entry(Plain *p, Emit *e, Entry entry, bool returns)
{
    const char *gap = "";
    if (entry == EntryEncode && !returns) {
        p->g.uses.rows = true;
        plain_source_rows(p);
        put(e, "s->source_rows = rows;\n");
        gap = "\n";
    }
    for (int i = 0, end; i < p->g.p->order.n; i = end) {
        end = plain_group_end(p, i);
        if (node_in(p, i)->entry != entry)
            continue;
        put(e, gap);
        gap = "\n";
        if (node_in(p, i)->layer >= 0)
            end = put_plain_layers(p, e, i);
        else
            put_nodes(p, e, i, end);
    }
    if (returns) {
        let(e, "result", "%s", plain_value(p, graph_result(p->g.p->g)));
        put(e, "return $result;\n");
    }
    put(e, "}\n\n");
}

static void plain_entry_function(Plain *p, Emit *e, Entry entry)
{
    const Node *result = node_at(p->g.p, graph_result(p->g.p->g));
    const bool returns = result->entry == entry;
    const int first = p->g.functions.n;
    Emit *body = emit_nested(p->g.a), *head = emit_new(p->g.a);
    p->g.uses = (Uses){ 0 };
    put_entry(p, body, entry, returns);
    for (int k = first; k < p->g.functions.n; k++)
        put_function(p, e, &p->g.functions.at[k]);
    put_comment(head, entry_comment(p, entry));
    put_call(head,
             arena_printf(p->g.a, "%s%s_%s",
                          returns ? "const float *" : "void ", p->g.p->prefix,
                          plain_entry_name(p, entry)),
             entry_parameters(p, entry), "");
    put(head, "{\n");
    put_unused_parameters(p, head, entry);
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
