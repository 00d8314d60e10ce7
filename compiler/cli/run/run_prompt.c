/* run_prompt.c: attnc run --prompt: one answer, printed as it comes; a decoder
 * goes on with the prompt, which is printed first. The decoding state can be
 * saved and taken up again. How fast it was is said on stderr.              */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/strings.h"
#include "cli/options/options.h"

typedef struct {
    const RunCommand *o;
    Engine e;
    Search search;
    Tokens source, target;
    uint64_t weights; /* hash, for states */
    int32_t *ids;
    int64_t n; /* of the prompt */
    File state;
    bool begun; /* it has tokens: the text goes on */
    struct attn_stream s;
    struct attn_text text;
    FILE *to; /* the answer; json: its text, kept until its end */
    char *kept;
    size_t kept_n, from; /* where the answer begins, behind the prompt */
    VEC(int32_t) answer; /* json */
    const char *ended;   /* by what; json */
    char *out;
    int64_t cap;        /* what a token lets out */
    int64_t printed;    /* tokens, with --ids */
    int64_t count;      /* tokens of the answer, without prefix */
    double first, last; /* when these came, in seconds */
} Stream;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- open ---- */
static int open_prompt_model(Stream *r)
{
    EngineOptions options = run_engine_options(r->o);
    int code = engine_open(&r->e, &options);
    if (code)
        return code;
    const Spec *s = r->e.spec;
    r->target = tokens_with(r->e.target_vocab.block, s->target.size,
                            r->o->lines.ids);
    r->source = s->kind == KindDecoder
                  ? r->target
                  : tokens_with(r->e.source.block, s->source.size,
                                r->o->lines.ids);
    r->source.how = s->kind == KindDecoder ? ATTN_STARTED : 0;
    r->target.how = ATTN_PLAIN;
    if (r->o->save_state || r->o->load_state)
        r->weights = attn_weights_hash(r->e.backend.model, r->e.packed);
    code = open_search(&r->search, &r->e, &r->o->search, &r->target);
    r->search.o.beam = 1;
    return code;
}

static int read_prompt(Stream *r)
{
    Fault why;
    const char *text = r->o->prompt ? r->o->prompt : "";
    if (strlen(text) > LongestLine) {
        error_at((Pos){ 0 }, "--prompt: %zu bytes, at most %d are read",
                 strlen(text), LongestLine);
        return ExitInput;
    }
    if (!r->o->prompt)
        return ExitDone;
    r->ids = arena_alloc(r->e.arena, MostTokens * sizeof *r->ids);
    r->n = question_of(&r->source, text, strlen(text), r->ids, &why);
    if (r->n < 0) {
        error_at((Pos){ 0 }, "--prompt: %s", why.text);
        return why.code;
    }
    if (r->search.o.max_input > 0)
        r->n = attn_min(r->n, r->search.o.max_input);
    return ExitDone;
}

/* Tokens that a stream may have, `lead` of them before the answer; 0 after a
 * message: the prefix does not fit.                                         */
static int64_t room_of(const Stream *r, int64_t rows, int64_t lead)
{
    const struct attn_model *m = r->e.backend.model;
    int64_t answer = r->o->tokens >= 0
                       ? attn_min(r->search.o.prefix_n + r->o->tokens,
                                  m->max_target)
                       : attn_search_limit(m, &r->search.o, rows, lead);
    int64_t room = attn_max(attn_min(lead + answer, m->max_target + 1), 1);
    if (lead + r->search.o.prefix_n <= room)
        return room;
    error_at((Pos){ 0 },
             "no room is left for the %lld tokens that begin the answer",
             (long long)r->search.o.prefix_n);
    return 0;
}

static void *stream_memory(Stream *r, int64_t rows, int64_t tokens,
                           int64_t *bytes)
{
    *bytes = attn_stream_bytes(r->e.backend.model, &r->search.o, rows, tokens,
                               1);
    if (*bytes < 0)
        fail(ExitResource, "an answer of %lld tokens is too large",
             (long long)tokens);
    return aligned_memory(r->e.arena, *bytes);
}

static int open_new(Stream *r)
{
    const struct attn_model *m = r->e.backend.model;
    bool decoder = m->kind == ATTN_DECODER;
    int64_t most = decoder ? m->max_target : m->max_source;
    int64_t lead = attn_search_lead(m, &r->search.o, r->n);
    int64_t rows = decoder ? 0 : r->n, bytes;
    if (r->n > most || lead > m->max_target) {
        error_at((Pos){ 0 },
                 "the prompt has %lld tokens, the model takes %lld "
                 "(max_len): shorten it",
                 (long long)r->n, (long long)most);
        return ExitInput;
    }
    if (lead == 0 || (!decoder && rows == 0)) {
        error_at((Pos){ 0 }, "the prompt is empty");
        return ExitInput;
    }
    int64_t tokens = room_of(r, r->n, lead);
    if (tokens == 0)
        return ExitInput;
    void *memory = stream_memory(r, rows, tokens, &bytes);
    const struct attn_stream_request request = {
        .model = m,
        .bound = r->e.bound,
        .o = &r->search.o,
        .ids = r->ids,
        .n = r->n,
        .tokens = tokens,
        .streams = 1,
        .memory = memory,
        .bytes = bytes,
    };
    const int wrong = attn_stream_open(&r->s, &request);
    if (wrong == ATTN_ERROR_FIXED) {
        error_at((Pos){ 0 }, "--prompt: %s: see fix in the spec, and --fix",
                 attn_error_text(wrong));
        return ExitInput;
    }
    if (wrong != 0)
        die("the stream refused a prompt that fits the model");
    return ExitDone;
}

static int read_state(Stream *r)
{
    const char *path = r->o->load_state;
    Fault why;
    if (!file_read_for(UseState, &r->state, path, (size_t)1 << 40, &why))
        return report_fault(&why);
    const struct attn_state_header *h = (const void *)r->state.at;
    const char *wrong = attn_state_check(r->e.backend.model, r->weights, h,
                                         (int64_t)r->state.size);
    if (wrong) {
        error_at((Pos){ 0 }, "%s: %s", path, wrong);
        return ExitInput;
    }
    if (r->e.spec->kind != KindDecoder && r->o->prompt) {
        error_at((Pos){ 0 }, "--prompt: the source was read before the state "
                             "was saved");
        return ExitUsage;
    }
    r->begun = h->tokens > (r->search.o.start >= 0);
    if (!r->o->prompt && !r->o->search.set.prefix)
        r->search.o.prefix_n = 0; /* the answer has begun already */
    if (r->begun)
        r->source.how = ATTN_BEGUN;
    return ExitDone;
}

static int open_saved(Stream *r)
{
    const struct attn_model *m = r->e.backend.model;
    const char *path = r->o->load_state;
    const struct attn_state_header *h = (const void *)r->state.at;
    int64_t lead = h->tokens + r->n, bytes;
    if (lead > m->max_target + 1) {
        error_at((Pos){ 0 },
                 "the prompt has %lld tokens after %lld of %s, the "
                 "model takes %lld (max_len)",
                 (long long)r->n, (long long)h->tokens, path,
                 (long long)m->max_target);
        return ExitInput;
    }
    int64_t tokens = room_of(r, h->source_rows, lead);
    if (tokens == 0)
        return ExitInput;
    void *memory = stream_memory(r, h->source_rows, tokens, &bytes);
    const struct attn_restore_request request = {
        .model = m,
        .bound = r->e.bound,
        .o = &r->search.o,
        .weights = r->weights,
        .state = h,
        .bytes = (int64_t)r->state.size,
        .tokens = tokens,
        .streams = 1,
        .memory = memory,
        .memory_bytes = bytes,
    };
    if (attn_state_restore(&r->s, &request)
        || attn_stream_feed(&r->s, r->ids, r->n)) {
        error_at((Pos){ 0 }, "%s: damaged", path);
        return ExitInput;
    }
    return ExitDone;
}

/* The prefix is of the answer, for a decoder too. */
static void feed_prefix(Stream *r)
{
    int64_t lead = r->s.lead;
    if (attn_stream_feed(&r->s, r->search.o.prefix, r->search.o.prefix_n))
        die("the stream refused a prefix that fits the model");
    r->s.lead = lead;
}

/* ---- output ---- */
static void print_token(Stream *r, int32_t id)
{
    int64_t n;
    if (r->o->format)
        vec_push(r->e.arena, &r->answer, id);
    if (r->o->lines.ids && r->o->format)
        return;
    if (r->o->lines.ids) {
        fprintf(r->to, "%s%d", r->printed++ ? " " : "", id);
        return;
    }
    n = attn_text_add(&r->text, id, r->out, r->cap);
    if (n < 0)
        die("token %d has no text", id);
    fwrite(r->out, 1, (size_t)n, r->to);
}

static int stop_options(Stream *r)
{
    Fault why;
    const Texts *stop = &r->o->stop;
    VEC(int32_t) ids = { 0 };
    for (int i = 0; r->o->lines.ids && i < stop->n; i++) {
        size_t n = strlen(stop->at[i]);
        int32_t *at = arena_alloc(r->e.arena, (n + 2) * sizeof *at);
        int64_t count = tokens_of(&r->target, stop->at[i], n, at, &why);
        if (count == 0)
            fault(&why, ExitUsage, "no token ids are in it");
        if (count <= 0) {
            error_at((Pos){ 0 }, "--stop: %s", why.text);
            return ExitUsage;
        }
        for (int64_t j = 0; j < count; j++)
            vec_push(r->e.arena, &ids, at[j]);
    }
    r->s.stop = ids.at;
    r->s.stops = ids.n;
    if (r->o->lines.ids)
        return ExitDone;
    if (attn_text_open(&r->text, r->target.block, stop->at, stop->n, r->begun)
        == 0)
        return ExitDone;
    error_at((Pos){ 0 }, "--stop takes 1 to %d bytes", ATTN_STOP_BYTES);
    return ExitUsage;
}

/* A decoder's prompt is the beginning of its text; no stop string is in it, nor
 * in the prefix of the answer.                                              */
static void print_prompt(Stream *r)
{
    int64_t stops = r->text.stops;
    bool decoder = r->e.spec->kind == KindDecoder;
    r->text.stops = 0;
    for (int64_t i = 0; decoder && !r->o->lines.ids && i < r->n; i++)
        print_token(r, r->ids[i]);
    flush_answers(r->to);
    r->from = r->kept_n;
    r->answer.n = 0;
    for (int64_t i = 0; i < r->search.o.prefix_n; i++)
        print_token(r, r->search.o.prefix[i]);
    r->text.stops = stops;
    flush_answers(r->to);
}

static int print_prompt_answer(Stream *r)
{
    int64_t token = 0;
    while ((r->o->tokens < 0 || r->count < r->o->tokens) && !r->text.stopped
           && (token = attn_stream_next(&r->s)) >= 0) {
        r->last = now();
        if (r->count++ == 0)
            r->first = r->last;
        print_token(r, (int32_t)token);
        flush_answers(r->to);
    }
    if (!r->o->lines.ids) {
        int64_t n = attn_text_end(&r->text, r->out, r->cap);
        fwrite(r->out, 1, (size_t)n, r->to);
    }
    if (!r->o->format)
        fputc('\n', r->to);
    flush_answers(r->to);
    r->ended = r->text.stopped           ? "stop"
             : token == ATTN_STREAM_END  ? "end"
             : attn_stream_failed(token) ? "error"
                                         : "length";
    if (!attn_stream_failed(token))
        return ExitDone;
    error_at((Pos){ 0 }, "--prompt: %s", attn_error_text(token));
    return ExitInput;
}

/* {"prompt": [3], "tokens": [7, 2], "text": " a", "ended": "end"} */
static void print_prompt_json(Stream *r)
{
    Buffer b = { .arena = r->e.arena };
    buffer_add(&b, "{", 1);
    json_ids(&b, "prompt", r->ids, r->n);
    buffer_add(&b, ", ", 2);
    json_ids(&b, "tokens", r->answer.at, r->answer.n);
    if (!r->o->lines.ids) {
        buffer_printf(&b, ", \"text\": ");
        json_quote(&b, r->kept + r->from, (int64_t)(r->kept_n - r->from));
    }
    FILE *to = beside(r->o->save_state);
    fprintf(to, "%s, \"ended\": \"%s\"}\n", b.at, r->ended);
    flush_answers(to);
}

/* Memory in place of a file. */
static void keep_text(Stream *r)
{
    r->to = open_memstream(&r->kept, &r->kept_n);
    if (!r->to)
        fail(ExitResource, "out of memory");
}

static void print_speed(const Stream *r, double from)
{
    if (r->count < 2 || r->o->quiet || !(r->last > r->first))
        return;
    fprintf(stderr,
            "%lld tokens, %.1f tokens per second; the first after "
            "%.1f ms\n",
            (long long)r->count, (double)(r->count - 1) / (r->last - r->first),
            (r->first - from) * 1e3);
}

static int save_state(Stream *r)
{
    Fault why;
    int64_t bytes = attn_state_bytes(&r->s);
    void *state = aligned_memory(r->e.arena, bytes);
    attn_state_save(&r->s, r->weights, state, bytes);
    return write_file_for(UseState, r->o->save_state, state, (size_t)bytes,
                          &why)
             ? ExitDone
             : report_fault(&why);
}

/* ---- run ---- */
int run_prompt(const RunCommand *o)
{
    Stream r = { .o = o, .to = beside(o->save_state) };
    if (o->format)
        keep_text(&r);
    int code = open_prompt_model(&r);
    if (!code && o->load_state)
        code = read_state(&r);
    if (!code)
        code = read_prompt(&r);
    if (!code)
        code = o->load_state ? open_saved(&r) : open_new(&r);
    if (!code)
        code = stop_options(&r);
    if (!code) {
        feed_prefix(&r);
        double from = now();
        r.cap = r.target.block ? r.e.target_vocab.bytes + 512 : 0;
        r.out = arena_alloc(r.e.arena, (size_t)r.cap + 1);
        print_prompt(&r);
        code = print_prompt_answer(&r);
        if (o->format)
            print_prompt_json(&r);
        print_speed(&r, from);
    }
    if (!code && o->save_state)
        code = save_state(&r);
    if (r.state.at)
        file_close(&r.state);
    if (o->format)
        fclose(r.to);
    free(r.kept);
    engine_close(&r.e);
    return code;
}
