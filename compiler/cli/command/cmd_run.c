/* cmd_run.c: attnc run; of models that generate, here. Lines of stdin are
 * answered in batches: as many as are there without waiting, so that a program
 * that asks line by line gets its answers, and a file goes through fast. A bad
 * line is reported, answered by an empty line, and the others are answered
 * still.                      */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/strings.h"
#include "cli/options/options.h"

enum { BatchLines = 32, BatchRows = 8192 };

typedef VEC(int32_t) Ids;

typedef struct {
    const RunCommand *o;
    Engine e;
    Search search;
    Tokens source, target;
    Lines in;
    int32_t *line_ids; /* of the line at hand */
    int64_t beyond;    /* rows of the open block that no model of this length
                          reads: not kept */
    int64_t width;     /* numbers of a row; 0: lines are tokens */
    char *line;        /* one of numbers, and those */
    float *row;
    VEC(float) numbers; /* of the batch */
    bool refused;       /* a row of the open block is bad */
    int64_t begun;      /* blocks, in all */
    int64_t lines, number[BatchLines];
    bool asks[BatchLines]; /* is there something to answer? */
    Fault why[BatchLines]; /* not: its text; empty, nothing was asked */
    int64_t questions;     /* of the batch; below, one after the other */
    Ids ids;
    int32_t start[BatchLines + 1];
    struct attn_hypothesis *out;
    int64_t found[BatchLines];
    void *memory;
    int64_t bytes;
    int64_t answered, fewer; /* lines; those with fewer than --nbest */
    int code;                /* ExitInput once a line was bad */
    Buffer text;             /* of a JSON object */
} Run;

static bool generates(const Spec *s)
{
    return s->kind == KindEncoderDecoder || s->kind == KindDecoder;
}

static int open_run(Run *r)
{
    const RunCommand *o = r->o;
    EngineOptions options = run_engine_options(o);
    int code = engine_open(&r->e, &options);
    if (code || !generates(r->e.spec))
        return code;
    if (o->pairs)
        fail(ExitUsage, "--pairs is for %s: this model writes its answers",
             attn_use_text(ATTN_FOR_ENCODE));
    const Spec *s = r->e.spec;
    bool decoder = s->kind == KindDecoder, ids = o->lines.ids;
    r->target = tokens_with(r->e.target_vocab.block, s->target.size, ids);
    r->source = tokens_with(r->e.source.block, s->source.size, ids);
    if (decoder)
        r->source = r->target;
    r->source.how = decoder ? ATTN_STARTED : 0;
    r->target.how = ATTN_PLAIN;
    r->width = r->e.backend.model->input_width;
    r->line_ids = arena_alloc(r->e.arena, MostTokens * sizeof *r->line_ids);
    if (r->width) {
        r->line = arena_alloc(r->e.arena, LongestLine + 1);
        r->row = arena_alloc(r->e.arena, (size_t)r->width * sizeof *r->row);
    }
    lines_open(&r->in, r->e.arena, STDIN_FILENO);
    code = open_search(&r->search, &r->e, &r->o->search, &r->target);
    r->search.o.want_scores |= o->format;
    r->text = (Buffer){ .arena = r->e.arena };
    r->out = arena_alloc(r->e.arena, (size_t)(BatchLines * r->search.o.results)
                                         * sizeof *r->out);
    return code;
}

/* ---- lines ---- */

/* Is there room in the model for n tokens and an answer? */
static bool check_length(Run *r, int64_t n, Fault *why)
{
    const struct attn_model *m = r->e.backend.model;
    const struct attn_search_options *o = &r->search.o;
    int64_t cut = o->max_input ? attn_min(n, o->max_input) : n;
    int64_t most = attn_search_source(m);
    int64_t lead = attn_search_lead(m, o, cut);
    int64_t answer = attn_max(r->search.o.prefix_n, 1);
    if (cut > most || lead > m->max_target)
        return fault(why, ExitInput,
                     "the %s has %lld %s, the model takes "
                     "%lld (max_len%s); --max-input=N cuts it",
                     r->width ? "block" : "line", (long long)n,
                     r->width ? "rows" : "tokens", (long long)most,
                     m->class_token ? ", which counts the class token" : "");
    return attn_search_limit(m, o, cut, lead) >= answer
        || fault(why, ExitInput,
                 "no room is left for an answer of %lld tokens "
                 "to a line of %lld",
                 (long long)answer, (long long)n);
}

/* Tokens of a line; -1 for one that asks nothing, and for a bad one. */
static int64_t take_line(Run *r, LineState state, const char *text, size_t n)
{
    Fault *why = &r->why[r->lines];
    int64_t tokens = -1;
    *why = (Fault){ 0 };
    if (state == LineTooLong)
        fault(why, ExitInput, "the line has %zu bytes, at most %d are read", n,
              LongestLine);
    else
        tokens = question_of(&r->source, text, n, r->line_ids, why);
    if (tokens >= 0
        && !attn_search_asks(r->e.backend.model, &r->search.o, tokens))
        return -1;
    if (tokens >= 0 && check_length(r, tokens, why))
        return tokens;
    line_error(r->in.number, "%s", why->text);
    r->code = ExitInput;
    return -1;
}

/* ---- blocks ---- */

/* Rows of the block that is open. */
static int64_t open_batch(const Run *r)
{
    return r->numbers.n / r->width - r->start[r->questions];
}

static void refuse_row(Run *r, const Fault *why)
{
    Fault *first = &r->why[r->lines];
    line_error(r->in.number, "%s", why->text);
    if (!*first->text)
        *first = *why;
    r->refused = true;
    r->code = ExitInput;
}

static void take_row(Run *r, LineState state, const char *text, size_t n)
{
    Fault why;
    bool good;
    if (state == LineTooLong)
        good = fault(&why, ExitInput,
                     "the line has %zu bytes, at most %d are read", n,
                     LongestLine);
    else
        good = row_of(text, n, r->width, r->line, r->row, &why);
    if (!good)
        refuse_row(r, &why);
    const struct attn_model *m = r->e.backend.model;
    if (good && open_batch(r) >= attn_max(m->max_source, m->max_target)) {
        r->beyond++;
        return;
    }
    for (int64_t i = 0; i < r->width && good; i++)
        vec_push(r->e.arena, &r->numbers, r->row[i]);
}

static void end_block(Run *r)
{
    const int32_t first = r->start[r->questions];
    const int64_t kept = open_batch(r), rows = kept + r->beyond;
    Fault why;
    bool asks = attn_search_asks(r->e.backend.model, &r->search.o, rows);
    if (asks && !r->refused && !check_length(r, rows, &why))
        refuse_row(r, &why);
    asks &= !r->refused;
    if (!asks)
        r->numbers.n = (int)(first * r->width);
    r->number[r->lines] = r->in.number;
    r->asks[r->lines++] = asks;
    if (asks)
        r->start[++r->questions] = (int32_t)(first + kept);
    r->beyond = 0;
    r->refused = false;
    r->begun++;
}

/* At most: as many as the code takes, where that is fixed. */
static int64_t batch_lines(const Run *r)
{
    const int64_t beam = r->search.o.beam > 0 ? r->search.o.beam : 1;
    const int64_t lines = r->e.backend.model->fixed_batch / beam;
    return lines > 0 && lines < BatchLines ? lines : BatchLines;
}

/* Collects whole blocks of rows, each with an empty line behind it; empty lines
 * before the first are none.                                                */
static bool read_blocks(Run *r)
{
    const char *text;
    size_t n;
    LineState state = LineText;
    r->lines = r->questions = 0;
    r->numbers.n = 0;
    r->start[0] = 0;
    memset(r->why, 0, sizeof r->why);
    while (r->lines < batch_lines(r)) {
        const bool open = r->refused || open_batch(r) > 0;
        if (!open && r->numbers.n >= BatchRows * r->width)
            break;
        state = lines_next(&r->in, r->lines == 0 || open, &text, &n);
        if (state == LineEnd || state == LineWait)
            break;
        if (n > 0)
            take_row(r, state, text, n);
        else if (open || r->begun > 0)
            end_block(r);
    }
    if (state == LineEnd && (r->refused || open_batch(r) > 0))
        end_block(r);
    return r->lines > 0;
}

/* Collects lines; false at the end of the input. */
static bool read_batch(Run *r)
{
    const char *text;
    size_t n;
    if (r->width)
        return read_blocks(r);
    r->lines = r->questions = 0;
    r->ids.n = 0;
    r->start[0] = 0;
    while (r->lines < batch_lines(r) && r->ids.n < BatchRows) {
        LineState state = lines_next(&r->in, r->lines == 0, &text, &n);
        if (state == LineEnd || state == LineWait)
            break;
        int64_t tokens = take_line(r, state, text, n);
        for (int64_t i = 0; i < tokens; i++)
            vec_push(r->e.arena, &r->ids, r->line_ids[i]);
        r->number[r->lines] = r->in.number;
        r->asks[r->lines++] = tokens >= 0;
        if (tokens >= 0)
            r->start[++r->questions] = r->ids.n;
    }
    return r->lines > 0;
}

/* ---- answers ---- */
static void search_batch(Run *r)
{
    const struct attn_model *m = r->e.backend.model;
    int64_t longest = 0;
    for (int64_t i = 0; i < r->questions; i++)
        longest = attn_max(longest, r->start[i + 1] - r->start[i]);
    int64_t bytes = attn_search_bytes(m, &r->search.o, r->questions,
                                      r->start[r->questions], longest);
    if (bytes < 0)
        fail(ExitResource,
             "a search of %lld lines of up to %lld tokens with "
             "beam %lld is too large",
             (long long)r->questions, (long long)longest,
             (long long)r->search.o.beam);
    if (bytes > r->bytes) {
        r->bytes = bytes + bytes / 2;
        r->memory = aligned_memory(r->e.arena, r->bytes);
    }
    const struct attn_search_request request = {
        .model = m,
        .bound = r->e.bound,
        .o = &r->search.o,
        .sentences = r->questions,
        .ids = r->ids.at,
        .input = r->numbers.at,
        .start = r->start,
        .memory = r->memory,
        .bytes = r->bytes,
    };
    const int64_t wrong = attn_search(&request, r->out, r->found);
    if (wrong == ATTN_ERROR_FIXED)
        fail(ExitInput, "line %lld: %s: see fix in the spec, and --fix",
             (long long)r->number[0], attn_error_text(wrong));
    if (wrong != 0)
        die("the search refused a batch that fits the model");
}

static void print_answer(Run *r, int64_t line, const struct attn_hypothesis *h)
{
    if (r->o->search.set.nbest > 0)
        printf("%lld\t", (long long)r->number[line]);
    if (r->o->search.set.scores)
        printf("%.7g\t", (double)h->score);
    print_tokens(stdout, r->e.arena, &r->target, h->tokens, h->n);
    putchar('\n');
}

/* {"line": 1, "answers": [{"tokens": [3, 2], "text": "AH", "score": -0.5}]},
 * with "error" before the answers where there is one.                       */
static void print_lines_json(Run *r, int64_t line,
                             const struct attn_hypothesis *h, int64_t n)
{
    Buffer *b = &r->text;
    b->n = 0;
    buffer_printf(b, "{\"line\": %lld", (long long)r->number[line]);
    if (*r->why[line].text) {
        buffer_printf(b, ", \"error\": ");
        json_quote(b, r->why[line].text, -1);
    }
    buffer_printf(b, ", \"answers\": [");
    for (int64_t i = 0; i < n; i++) {
        buffer_printf(b, i ? ", {" : "{");
        json_tokens(b, &r->target, h[i].tokens, h[i].n);
        buffer_printf(b, ", \"score\": ");
        json_number(b, (double)h[i].score, 7);
        buffer_printf(b, "}");
    }
    printf("%s]}\n", b->at);
}

static void print_answers(Run *r, int64_t line, const struct attn_hypothesis *h,
                          int64_t n)
{
    if (r->o->format)
        print_lines_json(r, line, h, n);
    for (int64_t j = 0; j < n && !r->o->format; j++)
        print_answer(r, line, &h[j]);
    if (n <= 0 && r->o->search.set.nbest <= 0 && !r->o->format)
        putchar('\n');
}

static void print_batch(Run *r)
{
    const struct attn_hypothesis *h = r->out;
    const int64_t *found = r->found;
    for (int64_t i = 0; i < r->lines; i++) {
        int64_t n = r->asks[i] ? *found++ : 0;
        if (n == ATTN_ERROR_FINITE) {
            fault(&r->why[i], ExitInput, "%s", attn_error_text(n));
            line_error(r->number[i], "%s", r->why[i].text);
            r->code = ExitInput;
        }
        print_answers(r, i, h, n);
        h += r->asks[i] ? r->search.o.results : 0;
        r->fewer += r->asks[i] && n >= 0 && n < r->search.o.results;
    }
    flush_answers(stdout);
    r->answered += r->lines;
    if (isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO))
        fprintf(stderr, "\r%lld lines", (long long)r->answered);
}

static void print_end(const Run *r)
{
    if (r->answered && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO))
        fputc('\n', stderr);
    if (r->fewer)
        warning_at((Pos){ 0 },
                   "--nbest %lld: fewer answers to %lld of %lld "
                   "lines: a beam of %lld found no more, a wider --beam may",
                   (long long)r->search.o.results, (long long)r->fewer,
                   (long long)r->answered, (long long)r->search.o.beam);
}

/* Refuses what means nothing here, and what cannot be done together. */
static void check_run_use(const RunCommand *o, int use)
{
    const char *wrong = attn_settings_wrong(&o->search.set, use);
    if (wrong)
        fail(ExitUsage, "%s", wrong);
    if (use == ATTN_FOR_LINES) /* whose, the model says */
        use |= ATTN_FOR_ENCODE;
    options_for(o, &commands[NthRun], use);
}

int cmd_run(const RunCommand *o)
{
    if (o->quiet)
        quiet();
    if (o->format == RunSvg && !o->attention)
        fail(ExitUsage, "--format=svg is for --attention FILE");
    if (o->format && !o->attention && (o->input || o->output || o->taps.n))
        fail(ExitUsage, "--format=json is for lines, --prompt and --attention: "
                        "--output FILE has tensors");
    if (o->pairs && (o->attention || o->input || o->output || o->taps.n))
        fail(ExitUsage, "--pairs is for lines of stdin: leave out --attention, "
                        "--input, --output and --tap");
    if (o->pairs && o->lines.ids)
        fail(ExitUsage, "--pairs reads texts: it does not go with --ids");
    if (o->attention)
        return run_attention(o);
    if (o->layer >= 0 || o->head >= 0 || o->query >= 0)
        fail(ExitUsage, "%s chooses what --attention FILE draws",
             o->layer >= 0  ? "--layer"
             : o->head >= 0 ? "--head"
                            : "--query");
    if (o->input || o->output || o->taps.n)
        return run_input(o);
    const bool prompt = o->prompt || o->load_state;
    if (o->chat && o->prompt)
        fail(ExitUsage, "--chat reads turns from stdin: leave out --prompt");
    check_run_use(o, o->chat  ? ATTN_FOR_CHAT
                     : prompt ? ATTN_FOR_PROMPT
                              : ATTN_FOR_LINES);
    if (prompt && !o->chat)
        return run_prompt(o);
    need_lines(&o->model);
    if (o->chat)
        return run_chat(o);
    Run r = { .o = o };
    int code = open_run(&r);
    if (!code && !generates(r.e.spec))
        code = run_rows(o, &r.e);
    while (!code && generates(r.e.spec) && read_batch(&r)) {
        if (r.questions)
            search_batch(&r);
        print_batch(&r);
    }
    print_end(&r);
    engine_close(&r.e);
    return code ? code : r.code;
}
