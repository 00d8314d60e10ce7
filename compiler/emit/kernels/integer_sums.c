/* integer_sums.c: the vector code of integer products whose rows are divided
 * among ranks. A rank multiplies its own numbers of each row; the ranks add the
 * sums, which are exact; then each turns them into floats, as the tiles do. y
 * has the sums of upper bits and, `low` floats later, those of lower bits of
 * int15; for int8, low is 0. */

//: sum_tiles needs: sum_operands dot_lines vector_at v_store_words
INLINE void row_keep(float *y, int nr, const v_int *sum)
{
#define KEEP(j)                                                                \
    if (nr > j * W)                                                            \
        v_store_words(y + j * W, sum[j]);
    EACH_VECTOR(KEEP)
}

INLINE void keep_sums(float *y, int64_t ldy, int64_t low, int mr, int nr,
                      int does, const struct integer_sums *s)
{
#define KEEP_ROW(i)                                                            \
    if (mr > i)                                                                \
        row_keep(y + i * ldy, nr, s->high[i]);                                 \
    if (mr > i && does & TileInt15)                                            \
        row_keep(y + i * ldy + low, nr, s->low[i]);
    EACH_ROW(KEEP_ROW)
}

/* Sums one tile. */
typedef void sum_tile(struct integer_sums *s, int mr, int nr, int does,
                      const struct tile_operands *of, int64_t k, int64_t end,
                      int64_t stored);

INLINE void sum_rows(float *y, int64_t ldy, int64_t low, int mr, int nr,
                     int does, sum_tile *tile, const struct sum_operands *of,
                     int64_t row, int64_t j)
{
    const struct tile_operands tile_of = {of->x + row * of->ldx, of->ldx,
                                          of->w + j / 16 * of->ldw, of->ldw,
                                          0, 0, 0};
    struct integer_sums s;
    first_sums(&s, mr, nr, v_zero, tile_of.b, 0);
    tile(&s, mr, nr, does, &tile_of, of->k, of->end, of->stored);
    keep_sums(y + row * ldy + j, ldy, low, mr, nr, does, &s);
}

INLINE void sum_columns(float *y, int64_t ldy, int64_t low, int nr, int does,
                        sum_tile *tile, const struct sum_operands *of,
                        int64_t j)
{
    int64_t i = 0;
    for (; i + 4 <= of->rows; i += 4)
        sum_rows(y, ldy, low, 4, nr, does, tile, of, i, j);
    for (; i < of->rows; i++)
        sum_rows(y, ldy, low, 1, nr, does, tile, of, i, j);
}

INLINE void sum_panels(float *y, int64_t ldy, int64_t low, int64_t from,
                       int64_t to, sum_tile *tile,
                       const struct sum_operands *of)
{
    int64_t j = from;
    for (; j + 32 <= to && low == 0; j += 32)
        sum_columns(y, ldy, low, 32, 0, tile, of, j);
    for (; j < to && low == 0; j += 16)
        sum_columns(y, ldy, low, 16, 0, tile, of, j);
    for (; j < to; j += 16)
        sum_columns(y, ldy, low, 16, TileInt15, tile, of, j);
}

//: kernel sum_int8 needs: sum_tiles stored_four v_row v_dot
INLINE void sum_tile_int8(struct integer_sums *s, int mr, int nr, int does,
                          const struct tile_operands *of, int64_t k,
                          int64_t end, int64_t stored)
{
    const v_int none[TileVectors] = {{0}};
    dot_lines(s, mr, nr, does, stored_four, 4, v_row, v_dot, of, k, end, stored,
              (const uint8_t *)of->b + k * 16, 0, none, none);
}

static void sum_int8(float *y, int64_t ldy, int64_t low, int64_t from,
                     int64_t to, const struct sum_operands *of)
{
    sum_panels(y, ldy, low, from, to, sum_tile_int8, of);
}

//: kernel sum_int4 needs: sum_tiles sum_groups
INLINE void sum_tile_int4(struct integer_sums *s, int mr, int nr, int does,
                          const struct tile_operands *of, int64_t k,
                          int64_t end, int64_t stored)
{
    sum_groups(s, mr, nr, does, of, k, end, stored, 32);
}

static void sum_int4(float *y, int64_t ldy, int64_t low, int64_t from,
                     int64_t to, const struct sum_operands *of)
{
    sum_panels(y, ldy, low, from, to, sum_tile_int4, of);
}

//: kernel sum_int4g64 needs: sum_tiles sum_groups
INLINE void sum_tile_int4g64(struct integer_sums *s, int mr, int nr, int does,
                             const struct tile_operands *of, int64_t k,
                             int64_t end, int64_t stored)
{
    sum_groups(s, mr, nr, does, of, k, end, stored, 64);
}

static void sum_int4g64(float *y, int64_t ldy, int64_t low, int64_t from,
                        int64_t to, const struct sum_operands *of)
{
    sum_panels(y, ldy, low, from, to, sum_tile_int4g64, of);
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
            const v_int high = v_load_words(y + j) + v_start(of + 64);
            v x = v_float(high);
            if (low)
                x = v_both(high, v_load_words(y + low + j));
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
