/* cmd_score.c: attnc score. A line of stdin is an input, a tab, an output; its
 * answer is the output's log-probability, a tab, and that of each token, the
 * end token among them. Two outputs can so be compared.                     */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <unistd.h>

#include "base/strings.h"
#include "cli/run/given.h"
#include "cli/options/options.h"

typedef struct {
    Engine e;
    Given line;
    Lines in;
    float *scores;
    void *memory;
    int64_t bytes;
    bool json;
    Buffer text; /* of a JSON object */
} Score;

static int score_fits(const Spec *s, const void *command)
{
    return given_fits(s, ((const ScoreCommand *)command)->lines.ids);
}

static int open_score(Score *s, const ScoreCommand *o)
{
    EngineOptions options = engine_options(CmdScore, &o->model, &o->code);
    options.fits = score_fits;
    options.command = o;
    int code = engine_open(&s->e, &options);
    if (code)
        return code;
    given_open(&s->line, &s->e, o->lines.ids);
    s->scores = arena_alloc(s->e.arena, (MostTokens + 1) * sizeof *s->scores);
    s->text = (Buffer){ .arena = s->e.arena };
    lines_open(&s->in, s->e.arena, STDIN_FILENO);
    return ExitDone;
}

/* {"line": 1, "log_probability": -1.5, "tokens": [3, 2],
 * "log_probabilities": [-0.5, -1]}; "error" in place of them.               */
static void print_score_json(Score *s, double sum, int64_t n, const char *error)
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
        json_ids(b, "tokens", s->line.target_ids, n);
        buffer_printf(b, ", \"log_probabilities\": [");
        for (int64_t i = 0; i < n; i++) {
            buffer_printf(b, i ? ", " : "");
            json_number(b, (double)s->scores[i], 7);
        }
        buffer_printf(b, "]");
    }
    printf("%s}\n", b->at);
}

static void print_score_text(const Score *s, double sum, int64_t n)
{
    printf("%.7g\t", sum);
    for (int64_t i = 0; i < n; i++)
        printf("%s%.7g", i ? " " : "", (double)s->scores[i]);
    putchar('\n');
}

static bool score_line(Score *s, const char *text, size_t size, Fault *why)
{
    const struct attn_model *m = s->e.backend.model;
    const Spec *spec = s->e.spec;
    const Given *line = &s->line;
    if (!given_read(&s->line, text, size, why))
        return false;
    const int64_t n = line->target_n;
    const int64_t bytes = attn_score_bytes(m, line->source_n,
                                           spec->search_prefix.n + n,
                                           s->e.parallel);
    if (bytes > s->bytes) {
        s->bytes = bytes + bytes / 2;
        s->memory = aligned_memory(s->e.arena, s->bytes);
    }
    const struct attn_score_request request = {
        .model = m,
        .bound = s->e.bound,
        .start = (int32_t)spec->token_start,
        .prefix = spec->search_prefix.at,
        .prefix_n = spec->search_prefix.n,
        .source = line->source_ids,
        .source_n = line->source_n,
        .target = line->target_ids,
        .target_n = n,
        .parallel = s->e.parallel,
        .memory = s->memory,
        .bytes = s->bytes,
    };
    const int said = attn_score_pair(&request, s->scores);
    if (said != 0)
        return fault(why, ExitInput, "%s", attn_error_text(said));
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)s->scores[i];
    if (s->json)
        print_score_json(s, sum, n, NULL);
    else
        print_score_text(s, sum, n);
    return true;
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
                print_score_json(&s, 0, 0, why.text);
            else
                putchar('\n');
        }
        flush_answers(stdout);
    }
    engine_close(&s.e);
    return code ? code : bad;
}
