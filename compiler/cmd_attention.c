/* cmd_attention.c: attnc run --attention FILE: answers one line, then computes
 * source and answer once more, unfused, and draws the weights of all heads.  */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "draw.h"
#include "options.h"
#include "trial.h"

enum { MostCells = 1 << 20 };    /* of one picture */

typedef struct {
    const Options *o;
    Engine e;
    Tokens tokens[2];            /* of source, target */
    int32_t *ids[2];
    int32_t start[2][2];         /* as in a sample */
    const char **label[2];
    VEC(AttentionMap) maps;
} Attention;

/* --------------------------------------------------------------- tokens --- */
static int check_kind(const Spec *s)
{
    if (s->kind != KindAttention && s->input == InputTokens)
        return ExitDone;
    error_at(spec_pos(s, "kind"), "--attention reads text; this model reads "
             "none");
    return ExitInput;
}

/* The line's ids, into side 0; of a decoder, side 1. */
static int read_line(Attention *r, int side)
{
    Arena *a = r->e.arena;
    Lines in;
    Fault why;
    const char *text = r->o->prompt;
    size_t n = text ? strlen(text) : 0;
    lines_open(&in, a, STDIN_FILENO);
    if ((!text && lines_next(&in, true, &text, &n) != LineText) ||
        n > LongestLine) {
        error_at((Pos){ 0 }, "--attention: one line of at most %d bytes is "
                 "needed", LongestLine);
        return ExitInput;
    }
    r->ids[side] = arena_alloc(a, (size_t)MostTokens * sizeof *r->ids[side]);
    int64_t count = tokens_of(&r->tokens[side], text, n, r->ids[side], &why);
    const Spec *s = r->e.spec;
    int64_t most = s->side[side ? SideDecoder : SideEncoder].max_len;
    if (count < 0) {
        error_at((Pos){ 0 }, "--attention: %s", why.text);
        return why.code;
    }
    if (count < 1 || count > most) {
        error_at((Pos){ 0 }, "--attention: the line has %lld tokens, 1 to %lld "
                 "are possible", (long long)count, (long long)most);
        return ExitInput;
    }
    r->start[side][1] = (int32_t)count;
    return ExitDone;
}

/* The rows that the decoder read or would read next: start, prompt, answer. */
static int answer(Attention *r, int from)
{
    const struct attn_model *m = r->e.backend.model;
    struct attn_search_options o = search_options(r->e.spec, r->o);
    if (r->o->tokens >= 0)
        o.max_output = r->o->tokens;
    int64_t rows = r->start[from][1], found = 0;
    int64_t lead = attn_search_lead(m, &o, rows);
    if (lead > m->max_target || attn_search_limit(m, &o, rows, lead) < 1) {
        error_at((Pos){ 0 }, "--attention: no room is left for an answer");
        return ExitInput;
    }
    struct attn_hypothesis *best = arena_alloc(r->e.arena, (size_t)o.results
                                                           * sizeof *best);
    int64_t bytes = attn_search_bytes(m, &o, 1, rows, rows, 0);
    void *memory = aligned_memory(r->e.arena, bytes);
    if (attn_search(m, r->e.bound, &o, 1, r->ids[from], r->start[from], NULL, 0,
                    memory, bytes, best, &found) != 0)
        die("the search refused a line that fits the model");
    int64_t n = 0, prompt = from == 1 ? rows : 0;
    int32_t *ids = arena_alloc(r->e.arena, (size_t)(lead + 1 + m->max_target)
                                               * sizeof *ids);
    if (o.start >= 0)
        ids[n++] = o.start;
    for (int64_t i = 0; i < prompt; i++)
        ids[n++] = r->ids[1][i];
    for (int64_t i = 0; found > 0 && i < best->n && n < m->max_target; i++)
        ids[n++] = best->tokens[i];
    if (found > 0)
        print_tokens(stdout, r->e.arena, &r->tokens[1], best->tokens, best->n);
    putchar('\n');
    flush_answers();
    r->ids[1] = ids;
    r->start[1][1] = (int32_t)n;
    return ExitDone;
}

static void make_labels(Attention *r, int side)
{
    const Tokens *t = &r->tokens[side];
    int64_t rows = r->start[side][1], n;
    Arena *a = r->e.arena;
    r->label[side] = arena_alloc(a, (size_t)(rows + 1) * sizeof(char *));
    for (int64_t i = 0; i < rows; i++) {
        int32_t id = r->ids[side][i];
        if (t->ids) {
            r->label[side][i] = arena_printf(a, "%d", id);
            continue;
        }
        const char *text = attn_vocab_token(t->block, id, &n);
        r->label[side][i] = arena_strndup(a, text, (size_t)n);
    }
}

/* ----------------------------------------------------------------- maps --- */
static int check_range(const char *option, int64_t chosen, int64_t n)
{
    if (chosen < n)
        return ExitDone;
    error_at((Pos){ 0 }, "%s %lld is out of range: 0 to %lld", option,
             (long long)chosen, (long long)n - 1);
    return ExitUsage;
}

static int check_choice(const Attention *r)
{
    const Graph *g = r->e.unfused;
    int64_t layers = 0, heads = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->op != OpSoftmax)
            continue;
        layers = attn_max(layers, n->layer + 1);
        if (r->o->layer < 0 || r->o->layer == n->layer)
            heads = attn_max(heads, n->type.dim[0].c);
    }
    int code = check_range("--layer", r->o->layer, layers);
    return code ? code : check_range("--head", r->o->head, heads);
}

static void add_map(Attention *r, const Trial *t, const Node *n)
{
    int query = n->type.dim[1].sym != SymN, key = n->type.dim[2].sym != SymN;
    AttentionMap m = {
        .name = n->name, .heads = n->type.dim[0].c,
        .rows = r->start[query][1], .columns = r->start[key][1],
        .query = r->label[query], .key = r->label[key],
    };
    float *w = aligned_memory(r->e.arena, m.heads * m.rows * m.columns * 4);
    m.weight = w;
    int node = graph_find(r->e.graph, n->name);
    if (node < 0 || !trial_value(t, node, 0, w))
        die("%s is not kept", n->name);
    if (r->o->head < m.heads && r->o->query < m.rows)
        vec_push(r->e.arena, &r->maps, m);
}

static int draw(Attention *r)
{
    Fault why;
    int64_t cells = 0, rows = 0;
    for (int i = 0; i < 2; i++)
        rows = attn_max(rows, r->start[i][1]);
    int code = check_range("--query", r->o->query, rows);
    for (int i = 0; !code && i < r->maps.n; i++) {
        const AttentionMap *m = &r->maps.at[i];
        cells += m->columns * (r->o->head < 0 ? m->heads : 1)
                            * (r->o->query < 0 ? m->rows : 1);
    }
    if (cells > MostCells) {
        error_at((Pos){ 0 }, "--attention: %lld weights are too many to see: "
                 "choose by --layer, --head, --query", (long long)cells);
        return ExitUsage;
    }
    if (code)
        return code;
    AttentionPicture p = { r->maps.at, r->maps.n, r->o->head, r->o->query };
    size_t size;
    char *text = draw_attention(&p, &size);
    bool ok = write_file(r->o->attention, text, size, &why);
    free(text);
    return ok ? ExitDone : report_fault(&why);
}

static int show(Attention *r)
{
    const Graph *g = r->e.unfused;
    Sample x = { .sequences = 1, .start = { r->start[0], r->start[1] },
                 .ids = { r->ids[0], r->ids[1] } };
    Trial t = { .engine = NULL };
    int64_t rows = attn_max(r->start[0][1], r->start[1][1]);
    int64_t columns = attn_max(result_columns(r->e.spec), r->e.spec->d_model);
    trial_run(&t, &r->e, &x, 0, aligned_memory(r->e.arena, rows * columns * 4));
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->op == OpSoftmax &&
            (r->o->layer < 0 || r->o->layer == n->layer))
            add_map(r, &t, n);
    }
    trial_free(&t);
    return draw(r);
}

static int open_attention(Attention *r)
{
    static const char *const all[] = { "all" };
    EngineOptions options = engine_options(r->o);
    options.keep_all = true;
    options.passes.skip = all;
    options.passes.nskip = 1;
    int code = engine_open(&r->e, &options);
    if (!code)
        code = check_kind(r->e.spec);
    return code ? code : check_choice(r);
}

int run_attention(const Options *o)
{
    Attention r = { .o = o };
    int code = open_attention(&r);
    if (code) {
        engine_close(&r.e);
        return code;
    }
    const Spec *s = r.e.spec;
    int side = s->kind == KindDecoder;
    r.tokens[0] = (Tokens){ r.e.source.block, s->source.size, o->ids };
    r.tokens[1] = (Tokens){ r.e.target_vocab.block, s->target.size, o->ids };
    code = need_vocabulary(&r.tokens[side], side ? "target" : "source");
    if (!code && s->kind != KindEncoder)
        code = need_vocabulary(&r.tokens[1], "target");
    if (!code)
        code = read_line(&r, side);
    if (!code && s->kind != KindEncoder)
        code = answer(&r, side);
    for (int i = 0; !code && i < 2; i++)
        make_labels(&r, i);
    if (!code)
        code = show(&r);
    engine_close(&r.e);
    return code;
}
