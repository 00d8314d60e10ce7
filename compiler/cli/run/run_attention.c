/* run_attention.c: attnc run --attention FILE. Answers one line, then runs the
 * unfused model on the source and the answer, and draws the attention weights
 * of all heads. With --input, it answers nothing and runs the model on the
 * given tensors. */
#include "cli/run/attention_run.h"

#include <math.h>

#include "base/strings.h"

/* ---- options ---- */

int attention_check_options(const Options *o)
{
    const char *wrong = o->output               ? "--output"
                      : o->taps.n               ? "--tap"
                      : o->load_state           ? "--load-state"
                      : o->save_state           ? "--save-state"
                      : o->stop.n               ? "--stop"
                      : o->prompt_name          ? "--prompt-name"
                      : o->text_task            ? "--task"
                      : o->search.set.nbest > 0 ? "--nbest"
                      : o->search.set.scores    ? "--scores"
                      : o->search.set.draft     ? "--draft"
                                                : NULL;
    if (wrong)
        error_at((Pos){ 0 }, "%s does not go with --attention", wrong);
    else if (!o->format && !is_stdout(o->attention)
             && !ends_in(o->attention, ".svg")
             && !ends_in(o->attention, ".json"))
        error_at((Pos){ 0 },
                 "--attention '%s': the name of a picture ends in "
                 ".svg, of numbers in .json",
                 quote(o->attention));
    else if (attn_settings_temperature(&o->search.set) > 0
             && o->search.set.beam > 1)
        error_at((Pos){ 0 },
                 "tokens that are drawn make one answer: leave "
                 "out --beam, or --temperature and --top-k, --top-p, --min-p");
    else
        return ExitDone;
    return ExitUsage;
}

/* Rejects models that read no text, and options that need an answer. */
static int check_kind(const Spec *s, const Options *o)
{
    const char *wrong = o->tokens >= 0        ? "-n"
                      : o->input && o->prompt ? "--prompt"
                                              : generation_option(o);
    if (!o->input && (s->kind == KindAttention || s->input != InputTokens)) {
        error_at(spec_pos(s, "kind"), "this model reads no text: --attention "
                                      "FILE needs --input FILE");
        return ExitInput;
    }
    if (!wrong || (!o->input && s->kind != KindEncoder))
        return ExitDone;
    error_at((Pos){ 0 }, "%s is about an answer: %s gives none", wrong,
             o->input ? "--input" : "this model");
    return ExitUsage;
}

static int check_range(const char *option, int64_t chosen, int64_t n)
{
    if (chosen < n)
        return ExitDone;
    error_at((Pos){ 0 }, "%s %lld is out of range: 0 to %lld", option,
             (long long)chosen, (long long)n - 1);
    return ExitUsage;
}

/* Returns the layer of a node; 0 for a model of `kind: attention`. */
static int layer_of(const Node *n)
{
    return n->layer < 0 ? 0 : n->layer;
}

static bool gives_weights(const Node *n)
{
    return normalizer_of(n->op) >= 0;
}

static int check_choice(const AttentionRun *r)
{
    const Graph *g = r->w.e.unfused;
    int64_t layers = 0, heads = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (!gives_weights(n))
            continue;
        layers = attn_max(layers, layer_of(n) + 1);
        if (r->o->layer < 0 || r->o->layer == layer_of(n))
            heads = attn_max(heads, n->type.dim[0].c);
    }
    int code = check_range("--layer", r->o->layer, layers);
    return code ? code : check_range("--head", r->o->head, heads);
}

/* ---- tokens ---- */

/* Reads the ids of the line into side 0 or, for a decoder, side 1. */
static int read_line(AttentionRun *r, int side)
{
    struct program *p = &r->w.p;
    const char *text = r->o->prompt;
    int64_t n = text ? (int64_t)strlen(text) : 0;
    const bool given = text || generate_line(p, &text, &n);
    if (!given && p->status)
        return p->status; /* reported already */
    if (!given || n > ATTN_LINE) {
        error_at((Pos){ 0 },
                 "--attention: one line of at most %d bytes is "
                 "needed",
                 ATTN_LINE);
        return ExitInput;
    }
    int64_t count = generate_question(p, text, n);
    const Spec *s = r->w.e.spec;
    int64_t least = side == 0 || s->token_start < 0;
    int64_t most = s->side[side ? SideDecoder : SideEncoder].max_len;
    if (count < 0 && p->status)
        return p->status; /* reported already */
    if (count < 0) {
        error_at((Pos){ 0 }, "--attention: %s", p->why);
        return ExitInput;
    }
    if (p->set.max_input > 0)
        count = attn_min(count, p->set.max_input);
    if (count < least || count > most) {
        error_at((Pos){ 0 },
                 "--attention: the line has %lld tokens, %lld to "
                 "%lld are possible",
                 (long long)count, (long long)least, (long long)most);
        return ExitInput;
    }
    r->in.sample.ids[side] = p->items.at;
    r->in.start[side][1] = (int32_t)count;
    return ExitDone;
}

/* Answers the line. Sets side 1 to the rows that the decoder reads: start
 * token, prompt and answer. */
static int answer_for_attention(AttentionRun *r, int from)
{
    int32_t *ids = NULL;
    const int64_t rows = generate_best(&r->w.p, r->in.start[from][1], r->to,
                                       &ids);
    if (rows < 0)
        return r->w.p.status;
    r->in.sample.ids[1] = ids;
    r->in.start[1][1] = (int32_t)rows;
    return ExitDone;
}

static int read_text(AttentionRun *r)
{
    const Spec *s = r->w.e.spec;
    int side = s->kind == KindDecoder;
    r->in.sample.sequences = 1;
    for (int i = 0; i < 2; i++)
        r->in.sample.start[i] = r->in.start[i];
    const int code = read_line(r, side);
    return code || s->kind == KindEncoder ? code
                                          : answer_for_attention(r, side);
}

/* Labels rows with tokens. Without a vocabulary, uses ids; without ids, row
 * numbers. */
static void make_labels(AttentionRun *r, int side)
{
    const struct attn_side *t = side ? &r->w.p.target : &r->w.p.source;
    int64_t rows = r->in.start[side][1], n;
    Arena *a = r->w.e.arena;
    r->label[side] = arena_alloc(a, (size_t)(rows + 1) * sizeof(char *));
    for (int i = 0; i < rows; i++) {
        const int32_t *ids = r->in.sample.ids[side];
        int32_t id = ids ? ids[i] : i;
        if (r->w.p.ids || !t->block || !ids) {
            r->label[side][i] = arena_printf(a, "%d", id);
            continue;
        }
        const char *text = attn_vocab_token(t->block, id, &n);
        r->label[side][i] = attention_label(a, text, n);
    }
}

/* ---- maps ---- */
static float *value_of(AttentionRun *r, const Trial *t, int node,
                       int64_t elements)
{
    const char *name = r->w.e.unfused->nodes.at[node].name;
    int kept = index_find(&r->kept, name);
    float *x = aligned_memory(r->w.e.arena, elements * 4);
    if (kept < 0 || !trial_floats(t, kept, 0, elements, x))
        die("%s is not kept", name);
    return x;
}

/* Reads the weights after a run. Keys that a mask hides have the score -inf;
 * their weights are set to -1. */
static void fill_map(AttentionRun *r, const Trial *t, AttentionMap *m, int node)
{
    int64_t elements = (int64_t)m->heads * r->in.start[m->side[0]][1]
                     * r->in.start[m->side[1]][1];
    float *score = value_of(r, t, r->w.e.unfused->nodes.at[node].in[0],
                            elements);
    float *w = value_of(r, t, node, elements);
    int64_t wrong = 0;
    for (int64_t i = 0; i < elements; i++) {
        wrong += isnan(w[i]);
        if (score[i] == -INFINITY)
            w[i] = -1;
    }
    if (wrong)
        warning_at((Pos){ 0 }, "%s: %lld weights are not numbers", m->name,
                   (long long)wrong);
    m->weight = w;
}

/* Returns a title such as "decoder layer 0, cross-attention". */
static const char *title_of(Arena *a, const Node *n, const AttentionMap *m)
{
    const char *word = m->side[0] == m->side[1] ? "self" : "cross";
    const char *stack = n->entry == EntryDecode ? "decoder" : "encoder";
    if (n->layer < 0)
        return "attention";
    return arena_printf(a, "%s layer %d, %s-attention", stack, m->layer, word);
}

AttentionPicture attention_picture(const AttentionRun *r)
{
    const bool block = r->w.e.spec->kind == KindAttention;
    return (AttentionPicture){
        .model = r->w.e.spec->name,
        .side = { block ? "query" : "source", block ? "key" : "target" },
        .label = { r->label[0], r->label[1] },
        .n = { r->in.start[0][1], r->in.start[1][1] },
        .map = r->maps.at,
        .maps = r->maps.n,
        .head = (int)r->o->head,
        .query = (int)r->o->query,
    };
}

/* Selects the maps of the layer and head in the options, without reading
 * weights. */
static int choose_maps(AttentionRun *r)
{
    const Graph *g = r->w.e.unfused;
    const Options *o = r->o;
    const AttentionPicture p = attention_picture(r);
    int64_t cells = 0, most = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        AttentionMap m = { .name = n->name,
                           .layer = layer_of(n),
                           .side = { n->type.dim[1].sym != SymN,
                                     n->type.dim[2].sym != SymN },
                           .heads = (int)n->type.dim[0].c };
        if (!gives_weights(n) || o->head >= m.heads
            || (o->layer >= 0 && o->layer != m.layer))
            continue;
        m.title = title_of(r->w.e.arena, n, &m);
        int64_t rows = r->in.start[m.side[0]][1];
        most = attn_max(most, rows);
        if (o->query >= rows)
            continue;
        cells += attention_cells(&p, &m);
        vec_push(r->w.e.arena, &r->maps, m);
        vec_push(r->w.e.arena, &r->softmax, i);
    }
    if (cells > AttentionCells && !r->json) {
        error_at((Pos){ 0 },
                 "--attention: %lld weights are too many to see: "
                 "choose by --layer, --head, --query",
                 (long long)cells);
        return ExitUsage;
    }
    return check_range("--query", o->query, most);
}

int attention_compute(AttentionRun *r)
{
    int64_t rows = attn_max(r->in.start[0][1], r->in.start[1][1]);
    int64_t columns = attn_max(result_columns(r->w.e.spec),
                               r->w.e.spec->d_model);
    int code = choose_maps(r);
    if (code)
        return code;
    trial_run(&r->trial, &r->w.e, &r->in.sample, 0,
              aligned_memory(r->w.e.arena, rows * columns * 4));
    r->kept = graph_names(r->w.e.arena, r->w.e.graph);
    for (int i = 0; i < r->maps.n; i++)
        fill_map(r, &r->trial, &r->maps.at[i], r->softmax.at[i]);
    return ExitDone;
}

static int write_maps(AttentionRun *r)
{
    const AttentionPicture p = attention_picture(r);
    Fault why;
    const char *text = (r->json ? attention_json : draw_attention)(r->w.e.arena,
                                                                   &p);
    bool ok = write_file(r->o->attention, text, strlen(text), &why);
    return ok ? ExitDone : report_fault(&why);
}

EngineOptions attention_engine(EngineOptions options)
{
    static const char *const all[] = { "all" };
    options.keep_all = true;
    options.passes.skip = all;
    options.passes.nskip = 1;
    return options;
}

int attention_read(AttentionRun *r)
{
    Fault why;
    int code = check_kind(r->w.e.spec, r->o);
    if (!code)
        code = check_choice(r);
    if (!code && !r->o->input)
        code = read_text(r);
    else if (!code && !sample_file_read(&r->in, &r->w.e, r->o->input, &why))
        code = report_fault(&why);
    for (int i = 0; !code && i < 2; i++)
        make_labels(r, i);
    return code;
}

void attention_end(AttentionRun *r)
{
    trial_free(&r->trial);
    generate_close(&r->w.p);
}

int run_attention(const Options *o)
{
    AttentionRun r = { .o = o,
                       .json = o->format == RunJson
                            || (o->format == RunText
                                && ends_in(o->attention, ".json")) };
    int code = attention_check_options(o);
    if (code)
        return code;
    if (!o->input)
        need_lines(&o->model);
    const EngineOptions options = attention_engine(run_engine_options(o));
    r.to = beside(o->attention, stdout);
    answering_run(&r.w, o);
    code = answering_open(&r.w, &options);
    if (!code)
        code = attention_read(&r);
    if (!code)
        code = attention_compute(&r);
    if (!code)
        code = write_maps(&r);
    attention_end(&r);
    return answering_close(&r.w, code);
}
