/* run_rows.c: attnc run of a model that answers by rows of numbers: an encoder
 * reads a line of text or of ids, or a block of rows of numbers behind which an
 * empty line is; kind attention three blocks: queries, keys, values. The answer
 * is a line a row and an empty line, as the emitted program prints it
 * (runtime/program/program_rows.c). */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strings.h"
#include "cli/options/options.h"

enum { BatchParts = 32, BatchRows = 8192, Blocks = 3 };

/* A part is a line of tokens, or a block of rows. */
typedef struct {
    const RunCommand *o;
    Engine e;
    const struct attn_model *m;
    Tokens source;
    Lines in;
    int64_t width;     /* numbers of a row; 0: tokens are read */
    bool blocks;       /* kind attention: three parts are a question */
    int32_t *line_ids; /* of the line at hand */
    int32_t *line_types;
    char *line; /* the same, where it is numbers */
    float *row;
    VEC(int32_t) ids, types; /* types: of pairs */
    VEC(float) numbers;
    int64_t parts, begun; /* ended in this batch; blocks, in all */
    int32_t start[BatchParts + 1];
    int64_t last[BatchParts]; /* a part's last line */
    bool refused;             /* something of the open part is bad */
    int64_t beyond;           /* its rows behind the longest input: not kept */
    Fault why[BatchParts];    /* of those that are: what */
    Buffer text;              /* of a JSON object */
    float *output;
    void *work;
    int64_t output_bytes, work_bytes;
    int code; /* ExitInput once a line was bad */
} Rows;

static int64_t rows_read(const Rows *r)
{
    return r->width ? r->numbers.n / r->width : r->ids.n;
}

/* The fault of a part is the first that it has. */
static void refuse_rows(Rows *r, const Fault *why)
{
    Fault *first = &r->why[attn_min(r->parts, BatchParts - 1)];
    line_error(r->in.number, "%s", why->text);
    if (!*first->text)
        *first = *why;
    r->refused = true;
    r->code = ExitInput;
}

/* ---- parts ---- */

/* The most rows of the part that is open. */
static int64_t most_rows(const Rows *r)
{
    if (r->blocks && r->parts > 0)
        return r->m->max_target;
    return r->m->max_source - r->m->class_token;
}

static void end_part(Rows *r)
{
    const int64_t first = r->start[r->parts], most = most_rows(r);
    const int64_t cut = r->o->search.set.max_input;
    const int64_t kept = rows_read(r) - first;
    int64_t rows = kept + r->beyond;
    if (cut > 0 && !r->blocks)
        rows = attn_min(rows, cut);
    if (rows > most) {
        Fault why;
        fault(&why, ExitInput,
              "the %s has %lld %s, the model takes %lld (max_len%s)%s",
              r->width ? "block" : "line", (long long)rows,
              r->width ? "rows" : "tokens", (long long)most,
              r->m->class_token ? ", which counts the class token" : "",
              r->blocks ? "" : "; --max-input=N cuts it");
        refuse_rows(r, &why);
    }
    rows = r->refused ? 0 : attn_min(rows, kept);
    r->beyond = 0;
    if (!r->blocks)
        r->refused = false;
    if (r->width)
        r->numbers.n = (int)((first + rows) * r->width);
    else
        r->ids.n = r->types.n = (int)(first + rows);
    r->last[r->parts++] = r->in.number;
    r->start[r->parts] = (int32_t)(first + rows);
    r->begun++;
}

/* ---- lines ---- */

/* Does the model have the types of the line's n tokens? */
static bool types_fit(const Rows *r, int64_t n, Fault *why)
{
    for (int64_t i = 0; i < n && r->m->types > 1; i++)
        if (r->line_types[i] >= r->m->types)
            return fault(why, ExitInput,
                         "the vocabulary's template has type %d, the model "
                         "takes 0 to %lld",
                         r->line_types[i], (long long)r->m->types - 1);
    return true;
}

static bool take_tokens(Rows *r, const char *text, size_t n, Fault *why)
{
    const bool pair = r->o->pairs && n > 0;
    const int64_t tokens = pair ? pair_of(&r->source, text, n, r->line_ids,
                                          r->line_types, why)
                                : question_of(&r->source, text, n, r->line_ids,
                                              why);
    if (pair && !types_fit(r, tokens, why))
        return false;
    for (int64_t i = 0; i < tokens; i++) {
        vec_push(r->e.arena, &r->ids, r->line_ids[i]);
        vec_push(r->e.arena, &r->types, pair ? r->line_types[i] : 0);
    }
    return tokens >= 0;
}

static bool take_numbers(Rows *r, const char *text, size_t n, Fault *why)
{
    if (!row_of(text, n, r->width, r->line, r->row, why))
        return false;
    if (rows_read(r) - r->start[r->parts]
        >= attn_max(r->m->max_source, r->m->max_target)) {
        r->beyond++;
        return true;
    }
    for (int64_t i = 0; i < r->width; i++)
        vec_push(r->e.arena, &r->numbers, r->row[i]);
    return true;
}

static void take_row_line(Rows *r, LineState state, const char *text, size_t n)
{
    Fault why;
    bool ok = true;
    const int64_t rows = rows_read(r);
    const bool waits = r->blocks ? r->parts == 0 : r->begun == 0;
    if (r->width && n == 0 && waits && rows == 0 && !r->refused)
        return; /* empty lines before the first block */
    if (state == LineTooLong)
        ok = fault(&why, ExitInput,
                   "the line has %zu bytes, at most %d are read", n,
                   LongestLine);
    else if (r->width && n > 0)
        ok = take_numbers(r, text, n, &why);
    else if (!r->width)
        ok = take_tokens(r, text, n, &why);
    if (!ok) {
        refuse_rows(r, &why);
    }
    if (!r->width || n == 0)
        end_part(r);
}

/* Collects whole parts; false at the end of the input. */
static bool read_row_batch(Rows *r)
{
    const char *text;
    size_t n;
    LineState state = LineText;
    const int64_t most = r->blocks ? Blocks : BatchParts;
    r->parts = r->ids.n = r->types.n = r->numbers.n = 0;
    r->start[0] = 0;
    r->refused = false;
    memset(r->why, 0, sizeof r->why);
    while (r->parts < most) {
        const bool open = r->refused || rows_read(r) > r->start[r->parts];
        if (!r->blocks && !open && rows_read(r) >= BatchRows)
            break;
        const bool wait = r->parts == 0 || r->blocks || open;
        state = lines_next(&r->in, wait, &text, &n);
        if (state == LineEnd || state == LineWait)
            break;
        take_row_line(r, state, text, n);
    }
    if (state == LineEnd && (r->refused || rows_read(r) > r->start[r->parts]))
        end_part(r);
    return r->parts > 0;
}

/* ---- answers ---- */

/* Are these blocks queries, and as many keys as values? */
static bool are_question(Rows *r)
{
    const int32_t *s = r->start;
    if (r->refused)
        return false;
    if (r->parts == Blocks && s[2] - s[1] == s[3] - s[2])
        return true;
    Fault why;
    if (r->parts < Blocks)
        fault(&why, ExitInput,
              "the input ends here: queries, an empty line, keys, an empty "
              "line and values are expected");
    else
        fault(&why, ExitInput,
              "as many values as keys are expected: %d keys, %d values",
              s[2] - s[1], s[3] - s[2]);
    refuse_rows(r, &why);
    return false;
}

static void *grow(const Rows *r, void *at, int64_t *have, int64_t bytes)
{
    if (bytes < 0)
        fail(ExitResource, "%lld rows at once are too many",
             (long long)rows_read(r));
    if (bytes <= *have)
        return at;
    *have = bytes + bytes / 2;
    return aligned_memory(r->e.arena, *have);
}

static void encode(Rows *r, struct attn_batch *b)
{
    const int64_t rows = b->rows + b->sequences * (1 + r->m->class_token);
    r->output = grow(r, r->output, &r->output_bytes,
                     rows * r->m->output_columns * 4);
    b->output = r->output;
    const int64_t bytes = attn_batch_bytes(r->m, b);
    r->work = grow(r, r->work, &r->work_bytes, bytes);
    const int error = attn_encode_batch(r->m, r->e.bound, b, r->work, bytes);
    if (error)
        die("the model refused a batch that fits it: %s",
            attn_error_text(error));
}

/* {"line": 1, "rows": [[0.5, -1], [2, 0.25]]}, "error" before them where there
 * is one; a number that is not finite is null.                              */
static void print_rows_json(Rows *r, int64_t part, const float *x, int64_t rows)
{
    const int64_t columns = r->m->output_columns;
    Buffer *b = &r->text;
    const Fault *why = &r->why[part];
    for (int i = 0; r->blocks && i < Blocks && !*why->text; i++)
        why = *r->why[i].text ? &r->why[i] : why;
    b->n = 0;
    buffer_printf(b, "{\"line\": %lld", (long long)r->last[part]);
    if (*why->text) {
        buffer_printf(b, ", \"error\": ");
        json_quote(b, why->text, -1);
    }
    buffer_printf(b, ", \"rows\": [");
    for (int64_t i = 0; i < rows; i++) {
        buffer_printf(b, i ? ", [" : "[");
        for (int64_t j = 0; j < columns; j++) {
            buffer_add(b, ", ", j ? 2 : 0);
            json_number(b, (double)x[i * columns + j], 9);
        }
        buffer_add(b, "]", 1);
    }
    printf("%s]}\n", b->at);
}

static void print_rows_text(const Rows *r, const float *x, int64_t rows)
{
    const int64_t columns = r->m->output_columns;
    for (int64_t i = 0; i < rows * columns; i++)
        printf("%s%.9g%s", i % columns ? " " : "", (double)x[i],
               (i + 1) % columns ? "" : "\n");
    putchar('\n');
}

static void print_rows(Rows *r, int64_t part, const float *x, int64_t rows)
{
    const int64_t n = rows * r->m->output_columns;
    int64_t wrong = 0;
    if (r->o->format)
        print_rows_json(r, part, x, rows);
    else
        print_rows_text(r, x, rows);
    for (int64_t i = 0; i < n; i++)
        wrong += !isfinite(x[i]);
    if (wrong)
        warning_at((Pos){ 0 },
                   "<stdin>:%lld: %lld of %lld numbers are not finite",
                   (long long)r->last[part], (long long)wrong, (long long)n);
}

/* Rows of the result, for so many of a part. */
static int64_t result_of(const Rows *r, int64_t rows)
{
    if (rows == 0 || r->m->output_pooled)
        return rows > 0;
    return rows + r->m->class_token;
}

static void answer_rows(Rows *r)
{
    const int32_t *s = r->start;
    const float *x = r->numbers.at;
    const int32_t key_start[2] = { 0, s[2] - s[1] };
    struct attn_batch b = { .sequences = r->parts,
                            .start = s,
                            .parallel = r->e.parallel };
    if (r->blocks) {
        b.sequences = 1;
        b.query = x;
        b.key = x + s[1] * r->width;
        b.value = x + s[2] * r->width;
        b.key_start = key_start;
        b.key_rows = key_start[1];
    } else if (r->width) {
        b.input = x;
    } else {
        b.ids = r->ids.at;
        if (r->o->pairs && r->m->types > 1)
            b.types = r->types.at;
    }
    b.rows = s[b.sequences];
    encode(r, &b);
    const float *y = b.output;
    for (int64_t i = 0; i < b.sequences; i++) {
        const int64_t rows = result_of(r, s[i + 1] - s[i]);
        print_rows(r, r->blocks ? Blocks - 1 : i, y, rows);
        y += (r->m->output_pooled ? 1 : rows) * r->m->output_columns;
    }
}

/* Is there what pairs need? */
static bool pairs_fit(const Rows *r)
{
    const char *wrong = r->width ? "--pairs reads texts: this model reads rows "
                                   "of numbers"
                      : !r->source.block
                          ? "--pairs reads texts: the model has no vocabulary"
                          : NULL;
    if (wrong)
        error_at((Pos){ 0 }, "%s", wrong);
    else if (attn_vocab_most_pair_ids(r->source.block, 0) < 0)
        error_at((Pos){ 0 },
                 "--pairs: %s (post_processor of its tokenizer.json)",
                 attn_error_text(ATTN_ERROR_PAIR));
    else
        return true;
    return false;
}

static int open_rows(Rows *r)
{
    const Spec *s = r->e.spec;
    r->m = r->e.backend.model;
    r->text = (Buffer){ .arena = r->e.arena };
    r->width = r->m->input_width;
    r->blocks = s->kind == KindAttention;
    r->source = tokens_with(r->e.source.block, s->source.size, r->o->lines.ids);
    const char *wrong = generation_option(r->o);
    if (wrong)
        fail(ExitUsage, "%s is about an answer: this model gives none", wrong);
    if (r->o->pairs && !pairs_fit(r))
        return ExitInput;
    lines_open(&r->in, r->e.arena, STDIN_FILENO);
    if (r->width) {
        r->line = arena_alloc(r->e.arena, LongestLine + 1);
        r->row = arena_alloc(r->e.arena, (size_t)r->width * sizeof *r->row);
        return ExitDone;
    }
    r->line_ids = arena_alloc(r->e.arena, MostTokens * sizeof *r->line_ids);
    if (r->o->pairs)
        r->line_types = arena_alloc(r->e.arena,
                                    MostTokens * sizeof *r->line_types);
    return ExitDone;
}

int run_rows(const RunCommand *o, const Engine *e)
{
    Rows r = { .o = o, .e = *e };
    int code = open_rows(&r);
    while (!code && read_row_batch(&r)) {
        if (!r.blocks || are_question(&r))
            answer_rows(&r);
        else
            print_rows(&r, r.parts - 1, NULL, 0);
        flush_answers(stdout);
    }
    return code ? code : r.code;
}
