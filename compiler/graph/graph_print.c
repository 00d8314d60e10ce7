/* graph_print.c: the graph as text, one node a line, the format of all dumps
 * and expected outputs:
 *   %12 = matmul %3, %7 : f32[n, 512] encoder.0.self_attn.q
 * and as JSON, and as a Graphviz drawing. */
#include <string.h>

#include "graph/graph.h"

const char *const sym_name[Syms] = {
    [SymNone] = "", [SymN] = "n", [SymT] = "t", [SymPT] = "p+t",
    [SymR] = "r",   [SymM] = "m", [SymS] = "s",
};
static const char *const elem_name[] = {
#define FORMAT(name, word, ...) word,
#include "runtime/weights/format_rows.h"
    "i32",    "q8",   "q15",
    "bf16",   "bf16", /* the same format, for another order of sums */
    "bf16x2",
};
_Static_assert(sizeof elem_name / sizeof *elem_name == ElemBf16x3Row + 1,
               "each Elem has a name");
static const char *const entry_name[] = {
    [EntryNone] = "constants",
    [EntryEncode] = "encode",
    [EntryDecode] = "decode",
};

/* prefix of a dimension's symbol, e.g. "2 " if the dimension is twice the
 * symbol */
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

/* A list of a node's attributes under construction; each is preceded by a
 * comma. */
typedef struct {
    Buffer *b;
    bool json; /* true: members of a JSON object; false: text */
} Attributes;

/* Each adds an attribute if the condition is true. Text shows only the word. In
 * JSON, if `key` is NULL, the word itself is a member with the value true. */
static void add_word(Attributes *to, bool told, const char *key,
                     const char *word)
{
    if (told && !to->json)
        buffer_printf(to->b, ", %s", word);
    else if (told && key)
        buffer_printf(to->b, ", \"%s\": \"%s\"", key, word);
    else if (told)
        buffer_printf(to->b, ", \"%s\": true", word);
}

static void add_count(Attributes *to, bool told, const char *name, int64_t n)
{
    if (told)
        buffer_printf(to->b, to->json ? ", \"%s\": %lld" : ", %s %lld", name,
                      (long long)n);
}

static void add_real(Attributes *to, bool told, const char *name, double x)
{
    if (told)
        buffer_printf(to->b, to->json ? ", \"%s\": %.9g" : ", %s %.9g", name,
                      x);
}

static void add_mask(Attributes *b, const MaskSpec *m)
{
    if (!m)
        return;
    add_word(b, m->causal, NULL, "causal");
    add_word(b, m->prefix, NULL, "prefix");
    add_word(b, m->given, NULL, "given");
    add_count(b, m->window, "window", m->window);
    add_count(b, m->block, "block", m->block);
    add_word(b, m->file, NULL, "file");
}

const char *const pool_word[] = {
    [PoolMean] = "mean", [PoolClass] = "class", [PoolLast] = "last",
    [PoolMax] = "max",   [PoolSum] = "sum",
};

const char *const cell_word[] = {
    [CellSimple] = "simple",
    [CellGru] = "gru",
    [CellLstm] = "lstm",
};

static bool is_factor(double x)
{
    return (x < 0 || x > 0) && (x < 1 || x > 1);
}

static bool is_cached(const Node *n)
{
    return n->op == OpAppend || n->op == OpRecall;
}

/* Adds the cache: "self" or "cross"; further caches have a number, as in
 * "self.2". */
static void add_cache(Attributes *b, const Node *n)
{
    const bool own = n->op == OpAppend && n->entry == EntryDecode;
    const char *word = own ? "self" : "cross";

    if (!is_cached(n))
        return;
    if (n->cache > CacheCross)
        word = arena_printf(b->b->arena, "%s.%d", word, n->cache);
    add_word(b, true, "cache", word);
}

/* Adds all attributes that differ from their defaults. */
static void add_attributes(Attributes *b, const Node *n)
{
#define ATTRIBUTE(type, member, dump) \
    {                                 \
        type const value = n->member; \
        (void)value;                  \
        dump                          \
    }
#define COUNT(word, when)     add_count(b, when, word, value);
#define REAL(word, when)      add_real(b, when, word, value);
#define WORD(key, word, when) add_word(b, when, key, word);
#include "graph/attributes.h"
}

/* Adds blanks to text that began at `from`, up to `column`. */
static void add_blanks(Buffer *b, int from, int column)
{
    const int blanks = column - (b->n - from);
    if (blanks > 0)
        buffer_printf(b, "%*s", blanks, "");
}

/* Adds an input, by number or by name. */
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
    if (n->nin == 0 && b->n > attributes) { /* drop the comma after the op */
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

/* Returns the entry under which a node is listed. Constants are listed with the
 * next node that is not a constant. */
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

/* Writes strings without escapes, because names of models and nodes never need
 * them. */
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
