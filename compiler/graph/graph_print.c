/* graph_print.c: the graph as text, the format of all dumps and goldens, one
 * node a line: %12 = matmul %3, %7 : f32[n, 512] encoder.0.self_attn.q and as a
 * drawing for Graphviz.                                            */
#include <string.h>

#include "graph/graph.h"

const char *const sym_name[Syms] = {
    [SymNone] = "", [SymN] = "n", [SymT] = "t", [SymPT] = "p+t",
    [SymR] = "r",   [SymM] = "m", [SymS] = "s",
};
static const char *const elem_name[] = {
    [ElemF32] = "f32",   [ElemI32] = "i32",   [ElemBf16] = "bf16",
    [ElemInt8] = "int8", [ElemInt4] = "int4", [ElemInt4g64] = "int4g64",
    [ElemQ8] = "q8",     [ElemQ15] = "q15",
};
static const char *const entry_name[] = {
    [EntryNone] = "constants",
    [EntryEncode] = "encode",
    [EntryDecode] = "decode",
};

/* "2 " in front of n: that often. */
typedef struct {
    char text[24];
} Times;

static Times times_text(Dim d)
{
    Times t = { "" };
    if (d.times > 0)
        snprintf(t.text, sizeof t.text, "%lld ", (long long)d.times);
    return t;
}

static void add_type(Buffer *b, Type t)
{
    buffer_printf(b, "%s[", elem_name[t.elem]);
    for (int i = 0; i < t.rank; i++) {
        const char *comma = i > 0 ? ", " : "";
        const Dim d = t.dim[i];
        if (d.sym == SymNone)
            buffer_printf(b, "%s%lld", comma, (long long)d.c);
        else if (d.fixed)
            buffer_printf(b, "%s%lld", comma,
                          (long long)(d.fixed * (d.times ? d.times : 1)));
        else
            buffer_printf(b, "%s%s%s", comma, times_text(t.dim[i]).text,
                          sym_name[t.dim[i].sym]);
    }
    buffer_add(b, "]", 1);
}

char *print_type(Arena *a, Type t)
{
    Buffer b = { .arena = a };
    add_type(&b, t);
    return b.at;
}

/* ---- attributes ---- */

/* Attributes of one node, each with a comma before it. */
typedef struct {
    Buffer *b;
    bool json; /* members of an object */
} Attributes;

/* Text has the word alone; json, key NULL: that it is true. */
static void add_word(Attributes *to, const char *key, const char *word)
{
    if (!to->json)
        buffer_printf(to->b, ", %s", word);
    else if (key)
        buffer_printf(to->b, ", \"%s\": \"%s\"", key, word);
    else
        buffer_printf(to->b, ", \"%s\": true", word);
}

static void add_count(Attributes *to, const char *name, int64_t n)
{
    buffer_printf(to->b, to->json ? ", \"%s\": %lld" : ", %s %lld", name,
                  (long long)n);
}

static void add_real(Attributes *to, const char *name, double x)
{
    buffer_printf(to->b, to->json ? ", \"%s\": %.9g" : ", %s %.9g", name, x);
}

static void add_mask(Attributes *b, const MaskSpec *m)
{
    if (m->causal)
        add_word(b, NULL, "causal");
    if (m->prefix)
        add_word(b, NULL, "prefix");
    if (m->window)
        add_count(b, "window", m->window);
    if (m->block)
        add_count(b, "block", m->block);
    if (m->file)
        add_word(b, NULL, "file");
}

static void add_bias(Attributes *b, const Node *n)
{
    if (n->bias == BiasAlibi)
        add_word(b, NULL, "alibi");
    if (n->bias == BiasAlibi && (n->slope < 1 || n->slope > 1))
        add_real(b, "slope", n->slope);
    if (n->bias != BiasRelative)
        return;
    add_count(b, n->bidirectional ? "relative both ways" : "relative",
              n->buckets);
    add_count(b, "to", n->max_distance);
}

const char *const pool_word[] = {
    [PoolMean] = "mean",
    [PoolClass] = "class",
    [PoolLast] = "last",
    [PoolMax] = "max",
};

const char *const cell_word[] = {
    [CellSimple] = "simple",
    [CellGru] = "gru",
    [CellLstm] = "lstm",
};

/* What an op computes with: heads, factors, its kind of norm. */
static void add_numbers(Attributes *b, const Node *n)
{
    bool headed = n->op == OpSplit || n->op == OpAttention || n->op == OpRotate
               || n->op == OpHeadNorm;
    bool scales = n->op == OpScale || n->op == OpEmbed || n->op == OpAttention
               || n->op == OpWeigh;
    bool norms = n->op == OpNorm || n->op == OpAddNorm || n->op == OpHeadNorm;
    if (headed || (n->op == OpJoin && n->heads > 1))
        add_count(b, "heads", n->heads);
    if (n->op == OpJoin && n->heads_kv != n->heads)
        add_word(b, NULL, "one for all");
    if (n->op == OpAttention && n->heads_kv != n->heads)
        add_count(b, "kv heads", n->heads_kv);
    if (scales && (n->scale < 1 || n->scale > 1))
        add_real(b, "scale", n->scale);
    if (n->cap > 0)
        add_real(b, "cap", n->cap);
    if (norms && n->norm == NormRms)
        add_word(b, "norm", "rms");
    if (norms || n->op == OpL2Norm)
        add_real(b, "eps", n->eps);
}

/* How experts are chosen and weighed. */
static void add_choice(Attributes *b, const Node *n)
{
    if (n->op == OpChoose && n->groups > 1) {
        add_count(b, "groups", n->groups);
        add_count(b, "groups chosen", n->groups_chosen);
        add_word(b, "group score", n->group_pairs ? "pair" : "max");
    }
    if (n->op == OpWeigh && n->softmax)
        add_word(b, NULL, "softmax");
    if (n->op == OpWeigh && n->normalize)
        add_word(b, NULL, "normalized");
    if (n->op == OpRoutes)
        add_count(b, "experts", n->experts);
}

/* "self"; "self.2" where layers of another form lie. */
static void add_cache(Attributes *b, const Node *n)
{
    const bool own = n->op == OpAppend && n->entry == EntryDecode;
    const char *word = own ? "self" : "cross";

    if (n->cache > CacheCross)
        word = arena_printf(b->b->arena, "%s.%d", word, n->cache);
    add_word(b, "cache", word);
}

/* The attributes that matter. */
static void add_attributes(Attributes *b, const Node *n)
{
    add_numbers(b, n);
    if (n->op == OpSlice || n->first != 0)
        add_count(b, "first", n->first);
    if (n->taps > 0)
        add_count(b, "taps", n->taps);
    if (n->stride > 1)
        add_count(b, "stride", n->stride);
    if (n->frames > 1)
        add_count(b, "frames", n->frames);
    if (n->skipped > 0)
        add_count(b, "skipped", n->skipped);
    if (n->op == OpPatches) {
        add_count(b, "channels", n->channels);
        add_count(b, "tall", n->tall);
        add_count(b, "wide", n->wide);
        add_count(b, "across", n->across);
    }
    if (n->dilation > 1)
        add_count(b, "dilation", n->dilation);
    if (n->op == OpRotate) {
        add_count(b, "dims", n->dims);
        add_word(b, "layout",
                 n->layout == LayoutHalves ? "halves" : "interleaved");
    }
    if (n->op == OpRecurrent)
        add_word(b, NULL, cell_word[n->cell]);
    if (n->reversed)
        add_word(b, NULL, "backward");
    if (n->sourced)
        add_word(b, NULL, "from the source");
    add_bias(b, n);
    if (n->additive)
        add_word(b, "score", "additive");
    if (n->sigmoid)
        add_word(b, "weights", "sigmoid");
    if (n->sinks)
        add_word(b, "softmax", "sinks");
    add_choice(b, n);
    if (n->mask)
        add_mask(b, n->mask);
    if (n->act != ActNone)
        add_word(b, "activation", act_text[n->act].plain);
    if (n->op == OpPool)
        add_word(b, "pool", pool_word[n->pool]);
    if (n->op == OpAppend || n->op == OpRecall)
        add_cache(b, n);
    if (n->op == OpAppend || n->op == OpRecall || n->op == OpPackKv)
        add_word(b, "part", n->part == PartKey ? "keys" : "values");
}

/* Blanks up to a column, counted from `from` on. */
static void add_blanks(Buffer *b, int from, int column)
{
    const int blanks = column - (b->n - from);
    if (blanks > 0)
        buffer_printf(b, "%*s", blanks, "");
}

/* An input: by its number, or by name. */
static void add_input(Buffer *b, const Graph *g, int node, bool names)
{
    if (node < 0)
        buffer_printf(b, " _");
    else if (names)
        buffer_printf(b, " %s", g->nodes.at[node].name);
    else
        buffer_printf(b, " %%%d", node);
}

static void add_operation(Buffer *b, const Graph *g, int node, bool names)
{
    const Node *n = &g->nodes.at[node];
    buffer_printf(b, "%s", n->op < OpCount ? op_info[n->op].name : "nop");
    for (int k = 0; k < n->nin; k++) {
        buffer_printf(b, "%s", k > 0 ? "," : "");
        add_input(b, g, n->in[k], names);
    }
    const int attributes = b->n;
    add_attributes(&(Attributes){ .b = b }, n);
    if (n->nin == 0 && b->n > attributes) { /* no comma behind the op */
        memmove(b->at + attributes, b->at + attributes + 1,
                (size_t)(b->n - attributes));
        b->n--;
    }
}

char *print_operation(Arena *a, const Graph *g, int node)
{
    Buffer b = { .arena = a };
    add_operation(&b, g, node, true);
    return b.at;
}

static void add_node(Buffer *b, const Graph *g, int node)
{
    const Node *n = &g->nodes.at[node];
    int from = b->n;
    buffer_printf(b, "%%%d = ", node);
    add_operation(b, g, node, false);
    add_blanks(b, from, 46);
    buffer_add(b, " : ", 3);
    from = b->n;
    add_type(b, n->type);
    add_blanks(b, from, 15);
    buffer_printf(b, " %s", n->name);
}

char *print_node(Arena *a, const Graph *g, int node)
{
    Buffer b = { .arena = a };
    add_node(&b, g, node);
    return b.at;
}

/* The entry that a node stands in: that of the first real node after it. */
static Entry stands_in(const Graph *g, int node)
{
    while (node < g->nodes.n - 1 && g->nodes.at[node].entry == EntryNone)
        node++;
    return g->nodes.at[node].entry;
}

static char *print_text(Arena *a, const Graph *g)
{
    Buffer b = { .arena = a };
    Entry entry = EntryNone;
    buffer_add(&b, "", 0);
    for (int i = 0; i < g->nodes.n; i++) {
        if (entry != stands_in(g, i)) {
            entry = stands_in(g, i);
            buffer_printf(&b, "%s:\n", entry_name[entry]);
        }
        buffer_add(&b, "  ", 2);
        add_node(&b, g, i);
        buffer_add(&b, "\n", 1);
    }
    return b.at;
}

/* ---- Graphviz ---- */

static void add_dot_node(Buffer *b, const Graph *g, int i)
{
    const Node *n = &g->nodes.at[i];
    const char *shape = n->entry == EntryNone ? "plaintext" : "box";
    buffer_printf(b, "    n%d [shape=%s, label=\"%s", i, shape,
                  op_info[n->op].name);
    add_attributes(&(Attributes){ .b = b }, n);
    buffer_printf(b, "\\n%s\"];\n", n->name);
}

static void add_dot_edges(Buffer *b, const Graph *g, int i)
{
    const Node *n = &g->nodes.at[i];
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] >= 0) {
            buffer_printf(b, "  n%d -> n%d [label=\"", n->in[k], i);
            add_type(b, g->nodes.at[n->in[k]].type);
            buffer_printf(b, "\"%s];\n",
                          n->op == OpRecall ? ", style=dashed" : "");
        }
}

static char *print_dot(Arena *a, const Graph *g)
{
    Buffer b = { .arena = a };
    buffer_printf(&b,
                  "digraph \"%s\" {\n"
                  "  node [fontname=\"monospace\", fontsize=10];\n"
                  "  edge [fontname=\"monospace\", fontsize=8];\n",
                  g->spec->name);
    for (int entry = EntryNone; entry <= EntryDecode; entry++) {
        const char *name = entry_name[entry];
        buffer_printf(&b,
                      "  subgraph cluster_%s {\n"
                      "    label=\"%s\";\n",
                      name, name);
        for (int i = 0; i < g->nodes.n; i++)
            if (stands_in(g, i) == (Entry)entry)
                add_dot_node(&b, g, i);
        buffer_printf(&b, "  }\n");
    }
    for (int i = 0; i < g->nodes.n; i++)
        add_dot_edges(&b, g, i);
    buffer_printf(&b, "}\n");
    return b.at;
}

/* ---- json ---- */

static void add_json_type(Buffer *b, Type t)
{
    buffer_printf(b, "\"type\": \"%s\", \"shape\": [", elem_name[t.elem]);
    for (int i = 0; i < t.rank; i++) {
        const char *comma = i > 0 ? ", " : "";
        if (t.dim[i].sym == SymNone)
            buffer_printf(b, "%s%lld", comma, (long long)t.dim[i].c);
        else
            buffer_printf(b, "%s\"%s%s\"", comma, times_text(t.dim[i]).text,
                          sym_name[t.dim[i].sym]);
    }
    buffer_add(b, "]", 1);
}

static void add_json_node(Buffer *b, const Graph *g, int node)
{
    const Node *n = &g->nodes.at[node];
    buffer_printf(b, "  {\"id\": %d, \"entry\": \"%s\", \"op\": \"%s\", ", node,
                  entry_name[stands_in(g, node)], op_info[n->op].name);
    buffer_printf(b, "\"name\": \"%s\", ", n->name);
    add_json_type(b, n->type);
    buffer_printf(b, ", \"inputs\": [");
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] < 0)
            buffer_printf(b, "%snull", k > 0 ? ", " : "");
        else
            buffer_printf(b, "%s%d", k > 0 ? ", " : "", n->in[k]);
    Buffer with = { .arena = b->arena };
    add_attributes(&(Attributes){ &with, true }, n);
    buffer_printf(b, "], \"attributes\": {%s}}", with.n ? with.at + 2 : "");
}

/* Names of models and of nodes have no character that JSON would escape. */
static char *print_json(Arena *a, const Graph *g)
{
    Buffer b = { .arena = a };
    buffer_printf(&b, "{\"model\": \"%s\", \"nodes\": [\n", g->spec->name);
    for (int i = 0; i < g->nodes.n; i++) {
        add_json_node(&b, g, i);
        buffer_printf(&b, i < g->nodes.n - 1 ? ",\n" : "\n");
    }
    buffer_printf(&b, "]}\n");
    return b.at;
}

char *print_graph(Arena *a, const Graph *g, GraphFormat format)
{
    return format == GraphDot  ? print_dot(a, g)
         : format == GraphJson ? print_json(a, g)
                               : print_text(a, g);
}
