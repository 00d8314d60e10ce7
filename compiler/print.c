/* print.c: the graph as text, the format of all dumps and goldens, one node a
 * line:
 *     %12 = matmul %3, %7 : f32[n, 512]           encoder.0.self_attn.q
 * and as a drawing for Graphviz.                                            */
#include <string.h>

#include "compiler.h"

static const char *const sym_name[] = {
    [SymNone] = "", [SymN] = "n", [SymT] = "t", [SymPT] = "p+t",
    [SymR] = "r", [SymM] = "m"
};
static const char *const entry_name[] = {
    [EntryNone] = "constants", [EntryEncode] = "encode",
    [EntryDecode] = "decode"
};

char *print_type(Arena *a, Type t)
{
    char *text = arena_strdup(a, t.elem == ElemI32 ? "i32[" : "f32[");
    for (int i = 0; i < t.rank; i++) {
        const char *comma = i > 0 ? ", " : "";
        text = t.dim[i].sym == SymNone
             ? arena_printf(a, "%s%s%lld", text, comma, (long long)t.dim[i].c)
             : arena_printf(a, "%s%s%s", text, comma, sym_name[t.dim[i].sym]);
    }
    return arena_printf(a, "%s]", text);
}

/* The attributes that matter, each with a comma before it. */
static char *print_attributes(Arena *a, const Node *n)
{
    char *text = arena_strdup(a, "");
    bool scales = n->op == OpScale || n->op == OpEmbed || n->op == OpAttention;
    if (n->op == OpSplit || n->op == OpAttention)
        text = arena_printf(a, "%s, heads %lld", text, (long long)n->heads);
    if (scales && (n->scale < 1 || n->scale > 1))
        text = arena_printf(a, "%s, scale %.9g", text, n->scale);
    if (n->op == OpNorm || n->op == OpAddNorm)
        text = arena_printf(a, "%s, eps %.9g", text, n->eps);
    if (n->op == OpSlice)
        text = arena_printf(a, "%s, first %lld", text, (long long)n->first);
    if (n->mask == MaskCausal)
        text = arena_printf(a, "%s, causal", text);
    if (n->act == ActRelu)
        text = arena_printf(a, "%s, relu", text);
    if (n->op == OpAppend || n->op == OpRecall)
        text = arena_printf(a, "%s, %s", text,
                            n->cache == CacheSelf ? "self" : "cross");
    if (n->op == OpAppend || n->op == OpRecall || n->op == OpPages)
        text = arena_printf(a, "%s, %s", text,
                            n->part == PartKey ? "keys" : "values");
    return text;
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
