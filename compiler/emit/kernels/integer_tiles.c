/* integer_tiles.c: the vector code of tiles with integer weights. A line of a
 * panel has 64 bytes: four numbers of each of 16 columns, or eight of 4 bits.
 * Rows of floats take one number of each column at a time, as a float; rows of
 * integers take four. */

//: word_at needs: v
/* Returns the offset of vector j in bytes, for panels `panel` bytes apart. */
INLINE int64_t word_at(int64_t j, int64_t panel)
{
    return j * W / 16 * panel + j * W % 16 * 4;
}

//: number_lines needs: ROLLED UNROLLED rows_add word_at tile_fetch
/* number_step() multiplies rows of floats by number i of a line, of all columns
 * of a vector. int4 has a step and an offset for each group of numbers. */
typedef v tile_number(const uint8_t *line, int64_t i, v step, v offset);
INLINE void number_step(tile_sums sum, int mr, int nr, tile_number *number,
                        const struct tile_operands *of, int64_t k,
                        const uint8_t *line, int64_t i, const v *step,
                        const v *offset)
{
    v w[TileVectors];
#define NUMBER(j)                                                              \
    if (nr > j * W)                                                            \
        w[j] = number(line + word_at(j, of->ldb), i, step[j], offset[j]);
    EACH_VECTOR(NUMBER)
    rows_add(sum, mr, nr, (const float *)of->a + k + i, of->lda, w);
}

/* Multiplies by lines of n numbers, k .. end - 1. Returns the next prefetch. */
INLINE const char *number_lines(tile_sums sum, int mr, int nr, int does,
                                tile_number *number, int n,
                                const struct tile_operands *of, int64_t k,
                                int64_t end, const uint8_t *line,
                                const char *next, const v *step,
                                const v *offset)
{
    ROLLED
    for (; k + n <= end; k += n) {
        next = tile_fetch(mr, nr, does, next, of->ldb, of->ahead);
        UNROLLED
        for (int64_t i = 0; i < n; i++)
            number_step(sum, mr, nr, number, of, k, line, i, step, offset);
        line += 64;
    }
    for (int64_t i = 0; i < end - k; i++)
        number_step(sum, mr, nr, number, of, k, line, i, step, offset);
    return next;
}

//: read_scales needs: word_at v_words
INLINE void read_scales(v *scale, int nr, const uint8_t *b, int64_t ldb)
{
#define SCALE(j)                                                               \
    if (nr > j * W)                                                            \
        scale[j] = (v)v_load_words(b + word_at(j, ldb));
    EACH_VECTOR(SCALE)
}

//: scale_sums needs: tile_sums read_scales
/* Multiply sums by the scales of their columns. */
INLINE void row_scale(v *sum, int nr, const v *scale)
{
#define TIMES_SCALE(j)                                                         \
    if (nr > j * W)                                                            \
        sum[j] *= scale[j];
    EACH_VECTOR(TIMES_SCALE)
}

INLINE void scale_sums(tile_sums sum, int mr, int nr, const uint8_t *scales,
                       int64_t ldb)
{
    v scale[TileVectors];
    read_scales(scale, nr, scales, ldb);
#define SCALE_ROW(i)                                                           \
    if (mr > i)                                                                \
        row_scale(sum[i], nr, scale);
    EACH_ROW(SCALE_ROW)
}

//: int8_products needs: number_lines scale_sums v_number8
INLINE void int8_products(tile_sums sum, int mr, int nr, int does,
                          const struct tile_operands *of)
{
    const uint8_t *b = (const uint8_t *)of->b;
    const v none[TileVectors] = {{0}};
    number_lines(sum, mr, nr, does, v_number8, 4, of, 0, of->k, b,
                 (const char *)of->next, none, none);
    scale_sums(sum, mr, nr, b + (of->k + 63) / 64 * 1024, of->ldb);
}

//: int8_floats needs: f32_products scale_sums
/* Multiplies by a copy of float_int8() or another of these. */
INLINE void int8_floats(tile_sums sum, int mr, int nr, int does,
                        const struct tile_operands *of)
{
    const struct tile_operands floats = {
        of->a, of->lda, of->b, of->ldb / 4, of->k, of->next, of->ahead / 4};
    f32_products(sum, mr, nr, does, &floats);
    scale_sums(sum, mr, nr, (const uint8_t *)of->b + of->k * 64, of->ldb);
}

//: group_products needs: number_lines scale_sums v_number4 int4_line
/* Multiplies by int4 weights, of which `shared` have one step and offset. */
INLINE void group_products(tile_sums sum, int mr, int nr, int does,
                           const struct tile_operands *of, int64_t shared)
{
    const uint8_t *b = (const uint8_t *)of->b;
    const char *next = (const char *)of->next;
    for (int64_t g = 0; g < of->k; g += shared) {
        const uint8_t *steps = int4_steps(b, g, shared);
        const int64_t end = of->k - g < shared ? of->k : g + shared;
        v step[TileVectors], offset[TileVectors];
#define NUMBER_STEP(j)                                                         \
    if (nr > j * W) {                                                          \
        step[j] = v_step4(steps + vector_at(j, of->ldb));                      \
        offset[j] = v_base4(steps + vector_at(j, of->ldb));                    \
    }
        EACH_VECTOR(NUMBER_STEP)
        next = number_lines(sum, mr, nr, does, v_number4, 8, of, g, end,
                            int4_line(b, g, shared), next, step, offset);
    }
    scale_sums(sum, mr, nr, b + int4_bytes(of->k, shared), of->ldb);
}

//: int4_products needs: group_products
INLINE void int4_products(tile_sums sum, int mr, int nr, int does,
                          const struct tile_operands *of)
{
    group_products(sum, mr, nr, does, of, 32);
}

//: int4g64_products needs: group_products
INLINE void int4g64_products(tile_sums sum, int mr, int nr, int does,
                             const struct tile_operands *of)
{
    group_products(sum, mr, nr, does, of, 64);
}

//: integer_sums needs: tile_sums word_at v_words v_zero
/* Sum bytes of integer rows times weights. A row of int15 has its lower
 * bits in a second plane of bytes, `stored` bytes after the first. */
typedef v_int tile_integers[TileRows][TileVectors];
struct integer_sums { tile_integers high, low; };
typedef v_int tile_first(const void *p);

INLINE void row_first(v_int *sum, int nr, int does, tile_first *first,
                      const uint8_t *p, int64_t ldb)
{
#define FIRST(j)                                                               \
    if (nr > j * W)                                                            \
        sum[j] = does & TileSum ? v_zero(p) : first(p + word_at(j, ldb));
    EACH_VECTOR(FIRST)
}

INLINE void first_sums(struct integer_sums *s, int mr, int nr, int does,
                       tile_first *first, const uint8_t *p, int64_t ldb)
{
#define FIRST_ROW(i)                                                           \
    if (mr > i) {                                                              \
        row_first(s->high[i], nr, does, first, p, ldb);                        \
        row_first(s->low[i], nr, does, v_zero, p, ldb);                        \
    }
    EACH_ROW(FIRST_ROW)
}

//: dot_step needs: integer_sums v_spread
/* dot_step() multiplies four numbers of each row, from k on, by vectors w. */
typedef v_int tile_row(const uint8_t *a);
typedef v_int tile_dot(v_int sum, v_int x, v_int w);
INLINE void row_dot(v_int *sum, int nr, tile_dot *dot, v_int x, const v_int *w)
{
#define DOT(j)                                                                 \
    if (nr > j * W)                                                            \
        sum[j] = dot(sum[j], x, w[j]);
    EACH_VECTOR(DOT)
}

INLINE void dot_step(struct integer_sums *s, int mr, int nr, int does,
                     tile_row *row, tile_dot *dot,
                     const struct tile_operands *of, int64_t k, int64_t stored,
                     const v_int *w)
{
    const uint8_t *a = (const uint8_t *)of->a + k;
#define DOT_ROW(i)                                                             \
    if (mr > i)                                                                \
        row_dot(s->high[i], nr, dot, row(a + i * of->lda), w);                 \
    if (mr > i && does & TileInt15)                                            \
        row_dot(s->low[i], nr, dot, v_spread(a + stored + i * of->lda), w);
    EACH_ROW(DOT_ROW)
}

//: dot_lines needs: ROLLED UNROLLED dot_step word_at tile_fetch
/* dot_four() takes four numbers of each column from number i of a line; `four`
 * makes bytes of them. */
typedef v_int tile_four(const uint8_t *line, int64_t i, v_int step,
                        v_int offset);
INLINE void dot_four(struct integer_sums *s, int mr, int nr, int does,
                     tile_four *four, tile_row *row, tile_dot *dot,
                     const struct tile_operands *of, int64_t k, int64_t stored,
                     const uint8_t *line, int64_t i, const v_int *step,
                     const v_int *offset)
{
    v_int w[TileVectors];
#define FOUR(j)                                                                \
    if (nr > j * W)                                                            \
        w[j] = four(line + word_at(j, of->ldb), i, step[j], offset[j]);
    EACH_VECTOR(FOUR)
    dot_step(s, mr, nr, does, row, dot, of, k + i, stored, w);
}

/* Multiplies by lines of n = 4 or 8 numbers. Returns the next prefetch. */
INLINE const char *dot_lines(struct integer_sums *s, int mr, int nr, int does,
                             tile_four *four, int n, tile_row *row,
                             tile_dot *dot, const struct tile_operands *of,
                             int64_t k, int64_t end, int64_t stored,
                             const uint8_t *line, const char *next,
                             const v_int *step, const v_int *offset)
{
    ROLLED
    for (; k < end; k += n) {
        next = tile_fetch(mr, nr, does, next, of->ldb, of->ahead);
        dot_four(s, mr, nr, does, four, row, dot, of, k, stored, line, 0, step,
                 offset);
        if (n == 8)
            dot_four(s, mr, nr, does, four, row, dot, of, k, stored, line, 4,
                     step, offset);
        line += 64;
    }
    return next;
}

//: dot_end needs: dot_lines tile_sums read_scales v_both v_splat float_at
/* Convert sums to floats, times the scales of rows and columns, or leave the
 * bits of the sums. */
INLINE void row_end(v *sum, int nr, int does, const v_int *high,
                    const v_int *low, v unit, const v *scale)
{
#define END(j)                                                                 \
    if (nr > j * W)                                                            \
        sum[j] = does & TileSum                                                \
                   ? (v)high[j]                                                \
                   : (does & TileInt15 ? v_both(high[j], low[j])               \
                                       : v_float(high[j]))                     \
                         * (unit * scale[j]);
    EACH_VECTOR(END)
}

INLINE void dot_end(tile_sums sum, const struct integer_sums *s, int mr, int nr,
                    int does, const struct tile_operands *of, int64_t stored,
                    const uint8_t *scales)
{
    const uint8_t *unit = (const uint8_t *)of->a
                        + (does & TileInt15 ? 2 * stored : stored);
    v scale[TileVectors];
    read_scales(scale, nr, scales, of->ldb);
#define END_ROW(i)                                                             \
    if (mr > i)                                                                \
        row_end(sum[i], nr, does, s->high[i], s->low[i],                       \
                v_splat(float_at(unit + i * of->lda)), scale);
    EACH_ROW(END_ROW)
}

//: stored_four needs: v_words
/* Returns weights as stored: bytes, or 16 bits if rows are widened too. */
INLINE v_int stored_four(const uint8_t *line, int64_t i, v_int step,
                         v_int offset)
{
    (void)i;
    (void)step;
    (void)offset;
    return v_load_words(line);
}

//: line_dots needs: dot_lines dot_end stored_four
INLINE void line_dots(tile_sums sum, int mr, int nr, int does,
                      tile_first *first, tile_row *row, tile_dot *dot,
                      const struct tile_operands *of, int64_t stored)
{
    const uint8_t *b = (const uint8_t *)of->b, *scales = b + stored * 16;
    const v_int none[TileVectors] = {{0}};
    struct integer_sums s;
    first_sums(&s, mr, nr, does, first, scales + 64, of->ldb);
    dot_lines(&s, mr, nr, does, stored_four, 4, row, dot, of, 0, stored, stored,
              b, (const char *)of->next, none, none);
    dot_end(sum, &s, mr, nr, does, of, stored, scales);
}

//: int8_dots needs: line_dots v_row v_dot
INLINE void int8_dots(tile_sums sum, int mr, int nr, int does,
                      const struct tile_operands *of)
{
    line_dots(sum, mr, nr, does, v_start, v_row, v_dot, of,
              (of->k + 63) / 64 * 64);
}

//: wide_dots needs: line_dots v_spread v_dot_wide
/* Computes dot products of weights that were widened to 16 bits. */
INLINE void wide_dots(tile_sums sum, int mr, int nr, int does,
                      const struct tile_operands *of)
{
    line_dots(sum, mr, nr, does, v_load_words, v_spread, v_dot_wide, of,
              (of->k + 63) / 64 * 128);
}

//: group_dots needs: dot_end vector_at v_row v_dot v_unpack4 int4_line
/* Multiplies by int4 weights, of which `shared` have one step and offset. */
INLINE void group_dots(tile_sums sum, int mr, int nr, int does,
                       const struct tile_operands *of, int64_t shared)
{
    const uint8_t *b = (const uint8_t *)of->b;
    const uint8_t *scales = b + int4_bytes(of->k, shared);
    const int64_t stored = (of->k + 63) / 64 * 64;
    const char *next = (const char *)of->next;
    struct integer_sums s;
    first_sums(&s, mr, nr, does, v_start, scales + 64, of->ldb);
    for (int64_t g = 0; g < stored; g += shared) {
        const uint8_t *steps = int4_steps(b, g, shared);
        v_int step[TileVectors], offset[TileVectors];
#define BYTE_STEP(j)                                                           \
    if (nr > j * W) {                                                          \
        step[j] = v_steps(steps + vector_at(j, of->ldb));                      \
        offset[j] = v_bases(steps + vector_at(j, of->ldb));                    \
    }
        EACH_VECTOR(BYTE_STEP)
        next = dot_lines(&s, mr, nr, does, v_unpack4, 8, v_row, v_dot, of, g,
                         g + shared, stored, int4_line(b, g, shared), next,
                         step, offset);
    }
    dot_end(sum, &s, mr, nr, does, of, stored, scales);
}

//: int4_dots needs: group_dots
INLINE void int4_dots(tile_sums sum, int mr, int nr, int does,
                      const struct tile_operands *of)
{
    group_dots(sum, mr, nr, does, of, 32);
}

//: int4g64_dots needs: group_dots
INLINE void int4g64_dots(tile_sums sum, int mr, int nr, int does,
                         const struct tile_operands *of)
{
    group_dots(sum, mr, nr, does, of, 64);
}

//: nibble_dots needs: dot_end vector_at v_row v_group int4_line
/* nibble_dots() serves few rows, because it does not unpack int4. A group's
 * weights are (n - 8) step + offset, so their dot product with x is step times
 * that of n, plus offset - 8 step times the sum of x. */
INLINE void row_group(v_int *sum, int nr, const v_int *part, v_int all,
                      const v_int *step, const v_int *offset)
{
#define GROUP(j)                                                               \
    if (nr > j * W)                                                            \
        sum[j] += v_times_group(part[j], step[j])                              \
                + v_times_group(all, offset[j]);
    EACH_VECTOR(GROUP)
}

INLINE void nibble_dots(tile_sums sum, int mr, int nr, int does,
                        const struct tile_operands *of, int64_t shared)
{
    const uint8_t *b = (const uint8_t *)of->b;
    const uint8_t *scales = b + int4_bytes(of->k, shared);
    const int64_t stored = (of->k + 63) / 64 * 64;
    const char *next = (const char *)of->next;
    const v_int ones = (v_int){0} + 0x1010101;
    struct integer_sums s;
    first_sums(&s, mr, nr, does, v_start, scales + 64, of->ldb);
    for (int64_t g = 0; g < stored; g += 32) { /* 16-bit sums hold 32 k */
        const uint8_t *steps = int4_steps(b, g, shared);
        const uint8_t *line = int4_line(b, g, shared);
        v_int step[TileVectors], offset[TileVectors];
        struct integer_sums part, all;
#define GROUP_STEP(j)                                                          \
    if (nr > j * W) {                                                          \
        step[j] = v_group_step(steps + vector_at(j, of->ldb));                 \
        offset[j] = v_group_base(steps + vector_at(j, of->ldb));               \
    }
        EACH_VECTOR(GROUP_STEP)
        first_sums(&part, mr, nr, does, v_zero, b, 0);
        first_sums(&all, mr, W, does, v_zero, b, 0);
        ROLLED
        for (int64_t k = g; k < g + 32; k += 8) {
            next = tile_fetch(mr, nr, does, next, of->ldb, of->ahead);
            UNROLLED
            for (int64_t i = 0; i < 8; i += 4) {
                dot_step(&all, mr, W, does, v_row, v_dot_group, of, k + i,
                         stored, &ones);
                dot_four(&part, mr, nr, does, v_nibbles, v_row, v_dot_group, of,
                         k, stored, line, i, step, offset);
            }
            line += 64;
        }
#define GROUP_ROW(i)                                                           \
    if (mr > i)                                                                \
        row_group(s.high[i], nr, part.high[i], all.high[i][0], step, offset);  \
    if (mr > i && does & TileInt15)                                            \
        row_group(s.low[i], nr, part.low[i], all.low[i][0], step, offset);
        EACH_ROW(GROUP_ROW)
    }
    dot_end(sum, &s, mr, nr, does, of, stored, scales);
}

//: int4_nibble_dots needs: nibble_dots int4_dots
INLINE void int4_nibble_dots(tile_sums sum, int mr, int nr, int does,
                             const struct tile_operands *of)
{
    if (mr * (does & TileInt15 ? 2 : 1) > 2)
        int4_dots(sum, mr, nr, does, of);
    else
        nibble_dots(sum, mr, nr, does, of, 32);
}

//: int4g64_nibble_dots needs: nibble_dots int4g64_dots
INLINE void int4g64_nibble_dots(tile_sums sum, int mr, int nr, int does,
                                const struct tile_operands *of)
{
    if (mr * (does & TileInt15 ? 2 : 1) > 2)
        int4g64_dots(sum, mr, nr, does, of);
    else
        nibble_dots(sum, mr, nr, does, of, 64);
}

//: kernel finish_sums needs: v_row v_both v_load v_store float_at
/* Turns integer sums in y into floats, adds the bias and the residual r unless
 * they are NULL. `units` are those of rows; `scales` those of a panel. */
static void finish_sums(float *y, int64_t ldy, int64_t low,
                        const uint8_t *units, int64_t ldu, int64_t rows,
                        int64_t n, const uint8_t *scales, int64_t lds,
                        const float *bias, const float *r, int64_t ldr)
{
    for (int64_t i = 0; i < rows; i++) {
        const float unit = float_at(units + i * ldu);
        for (int64_t j = 0; j < n; j += W) {
            const uint8_t *of = scales + j / 16 * lds + j % 16 * 4;
            const v_int start = v_start(of + 64);
            const v_int high = v_load_words(y + j) + start;
            v x = v_float(high);
            if (low)
                x = v_both(high, v_load_words(y + low + j) + start);
            x = x * (v_splat(unit) * (v)v_load_words(of));
            if (bias)
                x = x + v_load(bias + j);
            if (r)
                x = x + v_load(r + j);
            v_store(y + j, x);
        }
        y += ldy;
        if (r)
            r += ldr;
    }
}
