/* print.c: the graph as text, the format of all dumps and goldens, one node a
 * line:
 *     %12 = matmul %3, %7 : f32[n, 512]           encoder.0.self_attn.q
 * and as a drawing for Graphviz.                                            */
#include <string.h>

#include "compiler.h"

static const char *const sym_name[] = {
    [SymNone] = "", [SymN] = "n", [SymT] = "t", [SymPT] = "p+t",
    [SymR] = "r", [SymM] = "m", [SymS] = "s"
};
static const char *const elem_name[] = {
    [ElemF32] = "f32", [ElemI32] = "i32", [ElemBf16] = "bf16"
};
static const char *const entry_name[] = {
    [EntryNone] = "constants", [EntryEncode] = "encode",
    [EntryDecode] = "decode"
};

char *print_type(Arena *a, Type t)
{
    char *text = arena_printf(a, "%s[", elem_name[t.elem]);
    for (int i = 0; i < t.rank; i++) {
        const char *comma = i > 0 ? ", " : "";
        text = t.dim[i].sym == SymNone
             ? arena_printf(a, "%s%s%lld", text, comma, (long long)t.dim[i].c)
             : arena_printf(a, "%s%s%s", text, comma, sym_name[t.dim[i].sym]);
    }
    return arena_printf(a, "%s]", text);
}

/* ----------------------------------------------------------- attributes */

/* Attributes of one node, each with a comma before it. */
typedef struct {
    Arena *arena;
    char *text;
} List;

static void add_word(List *l, const char *word)
{
    l->text = arena_printf(l->arena, "%s, %s", l->text, word);
}

static void add_count(List *l, const char *name, int64_t n)
{
    add_word(l, arena_printf(l->arena, "%s %lld", name, (long long)n));
}

static void add_real(List *l, const char *name, double x)
{
    add_word(l, arena_printf(l->arena, "%s %.9g", name, x));
}

static void add_mask(List *l, const MaskSpec *m)
{
    if (m->causal)
        add_word(l, "causal");
    if (m->prefix)
        add_word(l, "prefix");
    if (m->window)
        add_count(l, "window", m->window);
    if (m->block)
        add_count(l, "block", m->block);
    if (m->file)
        add_word(l, "file");
}

static void add_bias(List *l, const Node *n)
{
    if (n->bias == BiasAlibi)
        add_word(l, "alibi");
    if (n->bias != BiasRelative)
        return;
    add_count(l, n->bidirectional ? "relative both ways" : "relative",
              n->buckets);
    add_count(l, "to", n->max_distance);
}

const char *const activation_word[ActCount] = {
#define ACT(name, text, ...) [Act##name] = text,
#include "activations.h"
#undef ACT
};
static const char *const pool_word[] = {
    [PoolMean] = "mean", [PoolClass] = "class", [PoolLast] = "last",
    [PoolMax] = "max"
};

/* What an op computes with: heads, factors, its kind of norm. */
static void add_numbers(List *l, const Node *n)
{
    bool headed = n->op == OpSplit || n->op == OpAttention
               || n->op == OpRotate || n->op == OpHeadNorm;
    bool scales = n->op == OpScale || n->op == OpEmbed || n->op == OpAttention;
    bool norms = n->op == OpNorm || n->op == OpAddNorm || n->op == OpHeadNorm;
    if (headed)
        add_count(l, "heads", n->heads);
    if (n->op == OpAttention && n->heads_kv != n->heads)
        add_count(l, "kv heads", n->heads_kv);
    if (scales && (n->scale < 1 || n->scale > 1))
        add_real(l, "scale", n->scale);
    if (n->cap > 0)
        add_real(l, "cap", n->cap);
    if (norms && n->norm == NormRms)
        add_word(l, "rms");
    if (norms || n->op == OpL2Norm)
        add_real(l, "eps", n->eps);
}

/* The attributes that matter. */
static char *print_attributes(Arena *a, const Node *n)
{
    List l = { a, arena_strdup(a, "") };
    add_numbers(&l, n);
    if (n->op == OpSlice || n->first > 0)
        add_count(&l, "first", n->first);
    if (n->op == OpRotate) {
        add_count(&l, "dims", n->dims);
        add_word(&l, n->layout == LayoutHalves ? "halves" : "interleaved");
    }
    add_bias(&l, n);
    if (n->mask)
        add_mask(&l, n->mask);
    if (n->act != ActNone)
        add_word(&l, activation_word[n->act]);
    if (n->op == OpPool)
        add_word(&l, pool_word[n->pool]);
    if (n->op == OpAppend || n->op == OpRecall)
        add_word(&l, n->cache == CacheSelf ? "self" : "cross");
    if (n->op == OpAppend || n->op == OpRecall || n->op == OpPages)
        add_word(&l, n->part == PartKey ? "keys" : "values");
    return l.text;
}

char *print_node(Arena *a, const Graph *g, int node)
{
    const Node *n = &g->nodes.at[node];
    char *text = arena_printf(a, "%%%d = %s", node,
                              n->op < OpCount ? op_info[n->op].name : "nop");
    for (int k = 0; k < n->nin; k++) {
        const char *comma = k > 0 ? "," : "";
        text = n->in[k] < 0 ? arena_printf(a, "%s%s _", text, comma)
                            : arena_printf(a, "%s%s %%%d", text, comma,
                                           n->in[k]);
    }
    const char *attributes = print_attributes(a, n);
    if (n->nin == 0 && *attributes)
        attributes++;
    return arena_printf(a, "%-46s : %-15s %s",
                        arena_printf(a, "%s%s", text, attributes),
                        print_type(a, n->type), n->name);
}

/* The entry that a node stands in: that of the first real node after it. */
static Entry stands_in(const Graph *g, int node)
{
    while (node < g->nodes.n - 1 && g->nodes.at[node].entry == EntryNone)
        node++;
    return g->nodes.at[node].entry;
}

/* Text in one growing buffer: graphs have thousands of lines. */
typedef VEC(char) Text;

static void add(Arena *a, Text *t, const char *s)
{
    for (; *s; s++)
        vec_push(a, t, *s);
}

static char *print_text(Arena *a, const Graph *g)
{
    Text t = { 0 };
    Entry entry = EntryNone;
    for (int i = 0; i < g->nodes.n; i++) {
        if (entry != stands_in(g, i)) {
            entry = stands_in(g, i);
            add(a, &t, arena_printf(a, "%s:\n", entry_name[entry]));
        }
        add(a, &t, arena_printf(a, "  %s\n", print_node(a, g, i)));
    }
    vec_push(a, &t, '\0');
    return t.at;
}

/* ------------------------------------------------------------- Graphviz */

static void add_dot_node(Arena *a, Text *t, const Graph *g, int i)
{
    const Node *n = &g->nodes.at[i];
    const char *shape = n->entry == EntryNone ? "plaintext" : "box";
    add(a, t, arena_printf(a, "    n%d [shape=%s, label=\"%s%s\\n%s\"];\n",
                           i, shape, op_info[n->op].name,
                           print_attributes(a, n), n->name));
}

static void add_dot_edges(Arena *a, Text *t, const Graph *g, int i)
{
    const Node *n = &g->nodes.at[i];
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] >= 0)
            add(a, t, arena_printf(a, "  n%d -> n%d [label=\"%s\"%s];\n",
                n->in[k], i, print_type(a, g->nodes.at[n->in[k]].type),
                n->op == OpRecall ? ", style=dashed" : ""));
}

static char *print_dot(Arena *a, const Graph *g)
{
    Text t = { 0 };
    add(a, &t, arena_printf(a, "digraph \"%s\" {\n", g->spec->name));
    add(a, &t, "  node [fontname=\"monospace\", fontsize=10];\n"
               "  edge [fontname=\"monospace\", fontsize=8];\n");
    for (int entry = EntryNone; entry <= EntryDecode; entry++) {
        const char *name = entry_name[entry];
        add(a, &t, arena_printf(a, "  subgraph cluster_%s {\n"
                                   "    label=\"%s\";\n", name, name));
        for (int i = 0; i < g->nodes.n; i++)
            if (stands_in(g, i) == (Entry)entry)
                add_dot_node(a, &t, g, i);
        add(a, &t, "  }\n");
    }
    for (int i = 0; i < g->nodes.n; i++)
        add_dot_edges(a, &t, g, i);
    add(a, &t, "}\n");
    vec_push(a, &t, '\0');
    return t.at;
}

char *print_graph(Arena *a, const Graph *g, GraphFormat format)
{
    return format == GraphDot ? print_dot(a, g) : print_text(a, g);
}
