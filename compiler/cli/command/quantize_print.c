/* quantize_print.c: prints the results of attnc quantize as text or JSON. */
#include <math.h>
#include <string.h>

#include "base/table.h"
#include "base/put_json.h"
#include "base/strings.h"
#include "cli/command/quantize.h"

typedef struct { /* sums over the matrices that have fewer bits than f32 */
    int64_t f32_bytes, bytes;
    double squares, lost;
} Total;

static Total total_of(const Quantized *q)
{
    Total t = { 0 };
    for (int i = 0; i < q->fewer; i++) {
        const Matrix *m = q->worst[i];
        t.f32_bytes += matrix_bytes(m, DtypeF32);
        t.bytes += matrix_bytes(m, matrix_dtype(m));
        t.squares += m->squares;
        t.lost += m->lost;
    }
    return t;
}

/* ---- table ---- */
enum { Name, Format, Shape, F32Bytes, Bytes, Error, Decibels, Cells };

static const char *const heads[Cells] = {
    "matrix", "format", "shape", "f32 bytes", "bytes", "error", "dB",
};

static const char *decibels(Arena *a, double error)
{
    return error > 0 ? arena_printf(a, "%.1f", error_decibels(error)) : "-";
}

static void find_cells(Arena *a, const Matrix *m, const char *cell[Cells])
{
    const double error = relative_error(m->lost, m->squares);
    cell[Name] = m->key;
    cell[Format] = dtype_word[matrix_dtype(m)];
    cell[Shape] = arena_printf(a, "[%lld, %lld]", (long long)m->item->rows,
                               (long long)m->item->k);
    cell[F32Bytes] = arena_grouped(a, matrix_bytes(m, DtypeF32));
    cell[Bytes] = arena_grouped(a, matrix_bytes(m, matrix_dtype(m)));
    cell[Error] = arena_printf(a, "%.3g", error);
    cell[Decibels] = decibels(a, error);
}

static void put_matrix_row(Arena *a, const char *const cell[Cells],
                           const TableFit *fit)
{
    const bool cuts = table_room(stdout) > 0;
    for (int c = 0; c < Cells; c++) {
        const int gap = c == Name ? 0 : 2, width = fit[c].width - gap;
        const char *text = cuts && c == Name ? cut_middle(a, cell[c], width)
                                             : cell[c];
        if (fit[c].shown)
            printf(c <= Shape ? "%*s%-*s" : "%*s%*s", gap, "", width, text);
    }
}

/* Fits the columns to the terminal: shortens names, then drops columns. */
static void fit_columns(TableFit fit[Cells], int name)
{
    enum { Least = 16 };
    static const TableFit all[Cells] = {
        { Least, 0, true }, { 8, 1, true },  { 16, 3, true }, { 15, 4, true },
        { 15, 2, true },    { 10, 0, true }, { 7, 5, true },
    };
    const int room = table_room(stdout);
    memcpy(fit, all, sizeof all);
    const int left = table_fit(fit, Cells, room);
    const int more = name > Least ? name - Least : 0;
    fit[Name].width += room == 0 || left > more ? more : left > 0 ? left : 0;
}

static void print_matrices(const Quantized *q)
{
    TableFit fit[Cells];
    const char *cell[Cells];
    size_t name = strlen(heads[Name]);
    for (int i = 0; i < q->fewer; i++)
        name = strlen(q->worst[i]->key) > name ? strlen(q->worst[i]->key)
                                               : name;
    fit_columns(fit, (int)name);
    fputs(paint(stdout, PaintHead), stdout);
    put_matrix_row(q->arena, heads, fit);
    printf("%s\n", paint(stdout, PaintEnd));
    for (int i = 0; i < q->fewer; i++) {
        find_cells(q->arena, q->worst[i], cell);
        put_matrix_row(q->arena, cell, fit);
        putchar('\n');
    }
}

/* True if products read f32 as two numbers of bf16. */
static bool reads_halves(const Plan *p)
{
    bool any = false;
    for (int i = 0; i < p->block.n; i++)
        any |= p->block.at[i].dtype == DtypeBf16x2;
    return any;
}

static void print_total(const Quantized *q)
{
    const Total t = total_of(q);
    const double error = relative_error(t.lost, t.squares);
    const char *text =
        q->fewer == 0
            ? arena_printf(q->arena, "all %d matrices are f32: %s",
                           q->matrices.at.n,
                           reads_halves(q->e->plan)
                               ? "bf16x3 reads 16 of their 24 bits"
                               : "nothing is lost")
            : arena_printf(q->arena,
                           "%d of %d matrices in fewer bits than f32: %s bytes "
                           "in place of %s, error %.3g, %s dB; all weights: %s "
                           "bytes",
                           q->fewer, q->matrices.at.n,
                           arena_grouped(q->arena, t.bytes),
                           arena_grouped(q->arena, t.f32_bytes), error,
                           decibels(q->arena, error),
                           arena_grouped(q->arena, q->e->plan->pack.bytes));
    put_wrapped(stdout, 0, 2, text);
}

/* ---- text ---- */
static const char *const row_words[] = {
    [LossTokens] = "tokens",
    [LossLabels] = "labels",
    [LossRows] = "rows",
};

static void print_loss(const Quantized *q)
{
    const Loss *l = &q->loss;
    printf("\nbeside f32 weights, on %d lines, %lld %s:\n", q->text->at.n,
           (long long)l->rows, row_words[l->kind]);
    if (l->kind == LossTokens)
        printf("  perplexity     %.4f, %.4f with f32 weights: %+.3g %%\n",
               l->perplexity[1], l->perplexity[0], 100 * loss_share(l));
    if (l->kind != LossRows) {
        printf("  KL divergence  %.3g nats\n", l->divergence);
        printf("  flips          %.3g %% of %s\n", 100 * l->flips,
               row_words[l->kind]);
    }
    if (l->kind != LossTokens) {
        printf("  cosine         %.6f, at least %.6f\n", l->cosine,
               l->least_cosine);
        printf("  error          %.3g, %s dB\n", l->error,
               decibels(q->arena, l->error));
    }
}

/* Returns the name and value of the measure that --keep limits. */
static const char *share_text(Arena *a, const Loss *l)
{
    return arena_printf(a,
                        l->kind == LossTokens ? "perplexity %+.3g %%"
                                              : "error %.3g %%",
                        100 * loss_share(l));
}

static void print_kept(const Quantized *q)
{
    const Kept *k = &q->kept;
    const int64_t more = k->bytes - q->e->plan->pack.bytes;
    const char *found = arena_printf(
        q->arena,
        "%d of %d matrices in more bits: %s, %s bytes of weights, %s more",
        k->raised, q->fewer, share_text(q->arena, &k->loss),
        arena_grouped(q->arena, k->bytes), arena_grouped(q->arena, more));
    putchar('\n');
    put_wrapped(stdout, 0, 2, found);
    put_wrapped(stdout, 0, 2, arena_printf(q->arena, "dtype: %s", k->dtype));
}

void quantized_print(const Quantized *q)
{
    if (q->fewer > 0)
        print_matrices(q);
    print_total(q);
    if (q->text)
        print_loss(q);
    if (q->met)
        print_kept(q);
}

/* ---- JSON ---- */
static void json_sizes(Buffer *b, int64_t f32_bytes, int64_t bytes,
                       double error)
{
    json_put_count(b, "f32_bytes", f32_bytes);
    json_put_count(b, "bytes", bytes);
    json_put_number(b, "error", error, 7);
    json_put_number(b, "decibels", error_decibels(error), 7);
}

static void json_matrix(Buffer *b, const Matrix *m)
{
    const int64_t shape[] = { m->item->rows, m->item->k };
    buffer_printf(b, "  {");
    json_put_text(b, "name", m->key);
    json_put_text(b, "dtype", dtype_word[matrix_dtype(m)]);
    json_put_counts(b, "shape", shape, 2);
    json_sizes(b, matrix_bytes(m, DtypeF32), matrix_bytes(m, matrix_dtype(m)),
               relative_error(m->lost, m->squares));
    buffer_printf(b, "}");
}

static void json_loss(Buffer *b, const Quantized *q)
{
    const Loss *l = &q->loss;
    buffer_printf(b, ",\n \"text\": {");
    json_put_count(b, "lines", q->text->at.n);
    json_put_count(b, row_words[l->kind], l->rows);
    if (l->kind == LossTokens) {
        json_put_number(b, "perplexity", l->perplexity[1], 7);
        json_put_number(b, "f32_perplexity", l->perplexity[0], 7);
    }
    if (l->kind != LossRows) {
        json_put_number(b, "kl", l->divergence, 7);
        json_put_number(b, "flips", l->flips, 7);
    }
    if (l->kind != LossTokens) {
        json_put_number(b, "cosine", l->cosine, 7);
        json_put_number(b, "least_cosine", l->least_cosine, 7);
        json_put_number(b, "error", l->error, 7);
    }
    buffer_printf(b, "}");
}

static void json_kept(Buffer *b, const Quantized *q)
{
    const Kept *k = &q->kept;
    buffer_printf(b, ",\n \"keep\": {");
    json_put_flag(b, "met", q->met);
    json_put_number(b, "most", q->most, 7);
    json_put_number(b, "loss", loss_share(&k->loss), 7);
    json_put_count(b, "raised", k->raised);
    json_put_count(b, "weights_bytes", k->bytes);
    json_put_text(b, "dtype", k->dtype);
    buffer_printf(b, "}");
}

void quantized_json(const Quantized *q)
{
    Buffer b = { .arena = q->arena };
    const Total t = total_of(q);
    buffer_printf(&b, "{");
    json_put_text(&b, "model", q->e->spec->name);
    buffer_printf(&b, ",\n \"matrices\": [");
    for (int i = 0; i < q->fewer; i++) {
        buffer_printf(&b, i ? ",\n" : "\n");
        json_matrix(&b, q->worst[i]);
    }
    buffer_printf(&b, "],\n \"total\": {");
    json_put_count(&b, "matrices", q->matrices.at.n);
    json_put_count(&b, "fewer_bits", q->fewer);
    json_sizes(&b, t.f32_bytes, t.bytes, relative_error(t.lost, t.squares));
    json_put_count(&b, "weights_bytes", q->e->plan->pack.bytes);
    buffer_printf(&b, "}");
    if (q->text)
        json_loss(&b, q);
    if (q->limit)
        json_kept(&b, q);
    printf("%s}\n", b.at);
}
