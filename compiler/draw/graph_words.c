/* graph_words.c: writes the text of a box: the op in bold, with all parts of a
 * fused op, and the name of the result. */
#include "draw/graph_picture.h"

typedef struct { /* words of one box while they are collected */
    const Picture *p;
    Box *b;
    const Node *n;
} Words;

static void set_words(Words *w, const char *bold, const char *soft)
{
    if (w->b->lines < MostLines)
        w->b->line[w->b->lines++] = (BoxLine){ bold, soft };
}

/* ---- ports ---- */
const char *port_word(const Node *n, int input)
{
    static const char *const attention[] = { "Q", "K", "V", "", "", "" };
    static const char *const context[] = { "", "V" };
    switch (n->op) {
    case OpAttention:
    case OpScores:    return attention[input];
    case OpContext:   return context[input];
    default:          return "";
    }
}

const char *shape_text(Arena *a, Type t)
{
    const char *text = "[";
    for (int i = 0; i < t.rank; i++)
        if (t.dim[i].sym == SymNone)
            text = arena_printf(a, "%s%s%lld", text, i ? "," : "",
                                (long long)t.dim[i].c);
        else
            text = arena_printf(a, "%s%s%s", text, i ? "," : "",
                                sym_name[t.dim[i].sym]);
    return arena_printf(a, "%s]", text);
}

/* ---- constants ---- */
const char *constant_text(const Picture *p, int node)
{
    const Node *n = &p->g->nodes.at[node];
    const char *text;
    switch (n->op) {
    case OpStack:
        text = constant_text(p, n->in[0]);
        for (int k = 1; k < n->nin; k++)
            text = arena_printf(p->arena, "%s, %s", text,
                                constant_text(p, n->in[k]));
        return text;
    case OpScale:
        return arena_printf(p->arena, "%s \xc3\x97 %.6g",
                            constant_text(p, n->in[0]), n->scale);
    default: return n->name;
    }
}

/* ---- one op at a time ---- */
static const char *norm_word(const Node *n)
{
    return n->norm == NormRms ? "RMS norm" : "layer norm";
}

static void say_linear(Words *w)
{
    Arena *a = w->p->arena;
    const char *text = w->n->has_bias ? "matmul + bias" : "matmul";
    if (w->n->act != ActNone)
        text = arena_printf(a, "%s + %s", text, act_text[w->n->act].plain);
    if (w->n->has_residual)
        text = arena_printf(a, "%s + residual", text);
    set_words(w, text, w->n->word);
}

static void say_embed(Words *w)
{
    const char *text = "table[id]";
    if (w->n->scale < 1 || w->n->scale > 1)
        text = arena_printf(w->p->arena, "%s \xc3\x97 %.5g", text, w->n->scale);
    if (w->n->nin == 3)
        text = arena_printf(w->p->arena, "%s + position", text);
    set_words(w, "embed", text);
}

static const char *mask_text(const Words *w, const MaskSpec *m)
{
    return arena_printf(w->p->arena, "%s mask%s",
                        mask_words(w->p->arena, m, " ", " "),
                        m->file ? " of a file" : "")
         + 1;
}

static const char *bias_text(const Node *n)
{
    return n->bias == BiasAlibi ? "ALiBi" : "relative bias";
}

/* The parts of a fused op, broken into lines. */
typedef struct {
    Words *w;
    const char *line;
} Parts;

static void add_part(Parts *p, const char *part)
{
    static const double widest = 205;
    const char *longer = *p->line
                           ? arena_printf(p->w->p->arena, "%s \xc2\xb7 %s",
                                          p->line, part)
                           : part;
    if (svg_width(longer, soft_text, false) > widest) {
        set_words(p->w, "", p->line);
        longer = part;
    }
    p->line = longer;
}

static void say_attention(Words *w)
{
    const Node *n = w->n;
    Arena *a = w->p->arena;
    Parts parts = { w, "" };
    const char *title = n->heads == 1 ? arena_strdup(a, "attention, 1 head")
                                      : arena_printf(a, "attention, %lld heads",
                                                     (long long)n->heads);
    set_words(w, title,
              n->heads_kv != n->heads
                  ? arena_printf(a, "%lld of K and V", (long long)n->heads_kv)
                  : "");
    add_part(&parts, score_form[n->score].title);
    if (n->scale < 1 || n->scale > 1)
        add_part(&parts, arena_printf(a, "\xc3\x97 %.4g", n->scale));
    if (n->cap > 0)
        add_part(&parts, arena_printf(a, "softcap %g", n->cap));
    if (n->bias != BiasNone)
        add_part(&parts, bias_text(n));
    if (n->mask)
        add_part(&parts, mask_text(w, n->mask));
    add_part(&parts, normalizer_form[n->normalizer].word);
    add_part(&parts, "context");
    add_part(&parts, "merge");
    set_words(w, "", parts.line);
}

static void say_input(Words *w)
{
    static const char *const what[] = {
        [BatchIds] = "token ids",
        [BatchTypes] = "types of tokens",
        [BatchInput] = "rows of numbers",
        [BatchQuery] = "queries",
        [BatchKey] = "keys",
        [BatchValue] = "values",
    };
    set_words(w, what[w->n->member], w->n->word);
}

static void say_pages(Words *w)
{
    const char *what = w->n->part == PartKey ? "keys" : "values";
    set_words(w,
              arena_printf(w->p->arena, "%s %s",
                           w->n->op == OpAppend ? "append" : "pack", what),
              w->n->op == OpAppend ? "to cache" : "");
}

static void say_gate(Words *w)
{
    const char *act = act_text[w->n->act].plain;
    set_words(w,
              w->n->act == ActNone
                  ? "gate"
                  : arena_printf(w->p->arena, "%s(w1) \xc3\x97 w3", act),
              "");
}

static void say_norm(Words *w)
{
    const char *bold = norm_word(w->n);
    if (w->n->op == OpAddNorm)
        bold = arena_printf(w->p->arena, "add + %s", bold);
    if (w->n->op == OpHeadNorm)
        bold = arena_printf(w->p->arena, "%s of a head", bold);
    set_words(w, bold, w->n->word);
}

/* Macros for the column `picture` of graph/ops.h. */
#define BOLD(text)  set_words(w, text, "")
#define NAMED(text) set_words(w, text, n->word)
#define NAME        NAMED(op_info[n->op].name)
#define TEXT(...)   arena_printf(w->p->arena, __VA_ARGS__)

static void say_op(Words *w)
{
    const Node *n = w->n;
    switch (n->op) {
#define OP(id, name, min, max, class, formula, shape, in_place, flops, value, \
           gate, code, plain, picture)                                         \
    case Op##id: picture; break;
#include "graph/ops.h"
    default: break;
    }
}

void box_words(const Picture *p, Box *b)
{
    Words w = { p, b, &p->g->nodes.at[b->node] };
    say_op(&w);
    if (w.n->stack == StackCross && w.n->op != OpAppend)
        b->line[0].soft = arena_printf(p->arena, "%s, in encode",
                                       b->line[0].soft);
}

/* ---- bands and frames ---- */
const char *segment_name(const Segment *s)
{
    static const char *const names[] = { [SublayerNone] = "",
                                         [SublayerSelf] = "self-attention",
                                         [SublayerRecurrent] = "recurrent",
                                         [SublayerConvolution] = "convolution",
                                         [SublayerCross] = "cross-attention",
                                         [SublayerFfn] = "feed-forward" };
    return names[s->sublayer];
}

/* True if no other run is in the same column. */
static bool is_alone(const Picture *p, const Run *r)
{
    for (int i = 0; i < p->run.n; i++)
        if (&p->run.at[i] != r && p->run.at[i].column == r->column)
            return false;
    return true;
}

void run_words(const Picture *p, Run *r)
{
    const char *stack = stack_name[p->column[r->column].stack];
    const int last = r->first + r->count - 1;
    r->times = arena_printf(p->arena, "\xc3\x97 %d", r->count);
    r->name = arena_printf(p->arena, "%s layer%s", stack,
                           r->count == 1 ? "" : "s");
    if (!is_alone(p, r))
        r->name = arena_printf(p->arena,
                               r->count == 1 ? "%s %d" : "%s %d to %d", r->name,
                               r->first, last);
}
