/* cmd_score.c: attnc score. A line of stdin is an input, a tab, an output; its
 * answer is the output's log-probability, a tab, and that of each token, the
 * end token among them. Two outputs can so be compared.                     */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/options.h"

typedef struct {
    Engine e;
    Tokens source, target;
    Lines in;
    int32_t *source_ids, *target_ids;
    float *scores;
    void *memory;
    int64_t bytes;
    bool json;
    Buffer text; /* of a JSON object */
} Score;

static int open_score(Score *s, const ScoreCommand *o)
{
    EngineOptions options = engine_options(CmdScore, &o->model, &o->code);
    int code = engine_open(&s->e, &options);
    if (code)
        return code;
    const Spec *spec = s->e.spec;
    if (spec->kind != KindEncoderDecoder && spec->kind != KindDecoder) {
        error_at(spec_pos(spec, "kind"), "this kind of model gives no "
                                         "probabilities");
        return ExitInput;
    }
    s->target = tokens_with(s->e.target_vocab.block, spec->target.size,
                            o->lines.ids);
    s->source = spec->kind == KindDecoder
                  ? s->target
                  : tokens_with(s->e.source.block, spec->source.size,
                                o->lines.ids);
    s->source.how = spec->kind == KindDecoder ? ATTN_STARTED : 0;
    s->target.how = ATTN_PLAIN;
    size_t bytes = (MostTokens + 1) * sizeof *s->source_ids;
    s->source_ids = arena_alloc(s->e.arena, bytes);
    s->target_ids = arena_alloc(s->e.arena, bytes);
    s->scores = arena_alloc(s->e.arena, bytes);
    s->text = (Buffer){ .arena = s->e.arena };
    lines_open(&s->in, s->e.arena, STDIN_FILENO);
    return need_vocabularies(spec, &s->source, &s->target);
}

/* {"line": 1, "log_probability": -1.5, "tokens": [3, 2],
 * "log_probabilities": [-0.5, -1]}; "error" in place of them.               */
static void print_json(Score *s, double sum, int64_t n, const char *error)
{
    Buffer *b = &s->text;
    b->n = 0;
    buffer_printf(b, "{\"line\": %lld", (long long)s->in.number);
    if (error) {
        buffer_printf(b, ", \"error\": ");
        json_quote(b, error, -1);
    } else {
        buffer_printf(b, ", \"log_probability\": ");
        json_number(b, sum, 7);
        buffer_printf(b, ", ");
        json_ids(b, "tokens", s->target_ids, n);
        buffer_printf(b, ", \"log_probabilities\": [");
        for (int64_t i = 0; i < n; i++) {
            buffer_printf(b, i ? ", " : "");
            json_number(b, (double)s->scores[i], 7);
        }
        buffer_printf(b, "]");
    }
    printf("%s}\n", b->at);
}

static void print_text(const Score *s, double sum, int64_t n)
{
    printf("%.7g\t", sum);
    for (int64_t i = 0; i < n; i++)
        printf("%s%.7g", i ? " " : "", (double)s->scores[i]);
    putchar('\n');
}

/* What the model does not take of n tokens and target_n, the end counted. */
static bool refuse_length(const Score *s, int64_t n, int64_t target_n,
                          Fault *why)
{
    const struct attn_model *m = s->e.backend.model;
    const bool decoder = s->e.spec->kind == KindDecoder;
    const int64_t start = (s->e.spec->token_start >= 0)
                        + s->e.spec->search_prefix.n;
    const int64_t most = m->max_target + 1 - start; /* the last is not read */

    if (target_n < 1)
        return fault(why, ExitInput, "the output has no tokens");
    if (decoder && n + start < 1)
        return fault(why, ExitInput,
                     "the input has no tokens, and the spec "
                     "no vocab.tokens.start");
    if (decoder)
        return fault(why, ExitInput,
                     "the input has %lld tokens, the output %lld, the end "
                     "counted: the model takes %lld in all (max_len)",
                     (long long)n, (long long)target_n, (long long)most);
    if (n < 1)
        return fault(why, ExitInput, "the input has no tokens");
    if (n > m->max_source)
        return fault(why, ExitInput,
                     "the input has %lld tokens, the model takes %lld "
                     "(max_len.source)",
                     (long long)n, (long long)m->max_source);
    return fault(why, ExitInput,
                 "the output has %lld tokens, the end counted: the model takes "
                 "%lld (max_len.target)",
                 (long long)target_n, (long long)most);
}

static bool score_ids(Score *s, int64_t n, int64_t target_n, Fault *why)
{
    const struct attn_model *m = s->e.backend.model;
    const Spec *spec = s->e.spec;
    const struct attn_search_options o = { .prefix = spec->search_prefix.at,
                                           .prefix_n = spec->search_prefix.n };
    if (spec->token_end >= 0)
        s->target_ids[target_n++] = (int32_t)spec->token_end;
    const int64_t forced = attn_score_forced(&o, s->target_ids, target_n);
    target_n -= forced;
    memmove(s->target_ids, s->target_ids + forced,
            (size_t)target_n * sizeof *s->target_ids);
    int64_t bytes = attn_score_bytes(m, n, o.prefix_n + target_n,
                                     s->e.parallel);
    if (bytes > s->bytes) {
        s->bytes = bytes + bytes / 2;
        s->memory = aligned_memory(s->e.arena, s->bytes);
    }
    const struct attn_score_request request = {
        .model = m,
        .bound = s->e.bound,
        .start = (int32_t)spec->token_start,
        .prefix = o.prefix,
        .prefix_n = o.prefix_n,
        .source = s->source_ids,
        .source_n = n,
        .target = s->target_ids,
        .target_n = target_n,
        .parallel = s->e.parallel,
        .memory = s->memory,
        .bytes = s->bytes,
    };
    int said = target_n < 1 || bytes < 0 ? -1
                                         : attn_score_pair(&request, s->scores);
    if (said == ATTN_ERROR_FINITE)
        return fault(why, ExitInput, "%s", attn_error_text(said));
    if (said != 0)
        return refuse_length(s, n, target_n, why);
    double sum = 0;
    for (int64_t i = 0; i < target_n; i++)
        sum += (double)s->scores[i];
    if (s->json)
        print_json(s, sum, target_n, NULL);
    else
        print_text(s, sum, target_n);
    return true;
}

static bool score_line(Score *s, const char *text, size_t n, Fault *why)
{
    const char *tab = memchr(text, '\t', n);
    if (!tab)
        return fault(why, ExitInput,
                     "an input, a tab and an output are "
                     "expected");
    size_t left = (size_t)(tab - text);
    int64_t source = tokens_of(&s->source, text, left, s->source_ids, why);
    int64_t target = source < 0 ? -1
                                : tokens_of(&s->target, tab + 1, n - left - 1,
                                            s->target_ids, why);
    return source >= 0 && target >= 0 && score_ids(s, source, target, why);
}

int cmd_score(const ScoreCommand *o)
{
    Score s = { .json = o->json };
    const char *text = "";
    size_t n = 0;
    LineState state;
    Fault why;
    need_lines(&o->model);
    int code = open_score(&s, o), bad = ExitDone;
    while (!code && (state = lines_next(&s.in, true, &text, &n)) != LineEnd) {
        if (state == LineTooLong)
            fault(&why, ExitInput,
                  "the line has %zu bytes, at most %d are "
                  "read",
                  n, LongestLine);
        if (state == LineTooLong || !score_line(&s, text, n, &why)) {
            line_error(s.in.number, "%s", why.text);
            bad = why.code;
            if (s.json)
                print_json(&s, 0, 0, why.text);
            else
                putchar('\n');
        }
        flush_answers(stdout);
    }
    engine_close(&s.e);
    return code ? code : bad;
}
