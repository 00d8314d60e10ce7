/* products.c: multiplies matrices of any shape in prebuilt tiles, because loops
 * compiled by libtcc are slow. matmul.c, small_m.c and panels.c emit the same
 * loops for constant shapes. */

//: type shape
struct shape {                 /* shape and tiling of a product */
    int64_t kind;              /* index of its tiles, tiles[kind] */
    int64_t x_bytes, bytes;    /* size of a number of x, of a weight */
    int64_t k;                 /* length of the sums */
    int64_t column;            /* weights of a column in a panel */
    int64_t mr, nr;            /* height and width of the largest tiles */
    int64_t line;              /* weights from a line of a panel to the next */
    int64_t fetch;             /* tiles that share the prefetch of two panels */
    int64_t step;              /* length of a block of the sums, */
    int64_t rows, columns;     /* and its rows and columns */
    int64_t small_m;           /* fewer rows go to product_small_m() */
    int64_t streams;           /* panels that it reads at a time */
    int64_t small_m_fetch;     /* rows from which it prefetches the next */
    int64_t small_m_ahead;     /* bytes that fewer rows prefetch ahead */
    int64_t act;               /* Activation of spec/fields/activations.h */
    int64_t copied_kind;       /* kind of tiles that multiply copies */
    int64_t copied_nr;         /* columns of a copy; 0: no copies */
    int64_t copied_panel;      /* bytes of a copied panel */
    int64_t copied_shared;     /* int4 numbers that share a step */
    int64_t copied_rows;       /* rows of x copied at once; 0: none */
    int64_t copied_line;       /* bytes of a copied row */
};

//: tile
/* tiles[kind][adds][rows - 1][panels - 1] computes a tile, and adds it to C if
 * adds is 1. A kind is an arithmetic and a dtype; the wide ones are last. */
typedef void tile(const void *a, int64_t lda, const void *b, int64_t ldb,
                  int64_t k, float *c, int64_t ldc, const float *bias,
                  const float *residual, int64_t ldr, int64_t act,
                  const void *next, int64_t ahead, int64_t ldp);
static tile *const tiles[17][2][16][4];

//: TILE_OF_TILES needs: tile
/* Divides a tile whose sums do not fit registers into others of its kind. The
 * default tilings and those that tune tries have no such tile. */
static __attribute__((noinline)) void
tile_of_tiles(tile *const (*of)[4], int mr, int nr, int rows, int columns,
              int x_bytes, int bytes, const char *a, int64_t lda, const char *b,
              int64_t ldb, int64_t k, float *c, int64_t ldc, const float *bias,
              const float *r, int64_t ldr, int64_t act, const char *next,
              int64_t ahead, int64_t ldp)
{
    for (int64_t n, j = 0; j < nr; j += n) {
        const int64_t p = j / 16;
        n = nr - j < columns ? nr - j : columns;
        for (int64_t m, i = 0; i < mr; i += m) {
            m = mr - i < rows ? mr - i : rows;
            of[m - 1][n / 16 - 1](
                a + i * lda * x_bytes, lda, b + p * ldb * bytes, ldb, k,
                c + i * ldc + p * ldp, ldc, bias ? bias + p * ldp : bias,
                r ? r + i * ldr + p * ldp : r, ldr, act,
                next + p * ldb * bytes, ahead, ldp);
        }
    }
}

#define TILE_OF_TILES(name, mr, nr, kind, adds, rows, columns, x_bytes, bytes) \
    static void name(const void *a, int64_t lda, const void *b, int64_t ldb,   \
                     int64_t k, float *c, int64_t ldc, const float *bias,      \
                     const float *r, int64_t ldr, int64_t act,                 \
                     const void *next, int64_t ahead, int64_t ldp)             \
    {                                                                          \
        tile_of_tiles(tiles[kind][adds], mr, nr, rows, columns, x_bytes,       \
                      bytes, a, lda, b, ldb, k, c, ldc, bias, r, ldr, act,     \
                      next, ahead, ldp);                                       \
    }

//: rows_of_tiles needs: v shape tile
/* Multiplies all rows of a by nr columns, in tiles whose heights differ by at
 * most one. They share the prefetch of the panels at `next`, two at a time. */
INLINE void rows_of_tiles(const struct shape *s, int64_t adds, int64_t nr,
                          int64_t rows, const char *a, int64_t lda,
                          const char *b, int64_t ldb, int64_t k, float *c,
                          int64_t ldc, const float *bias, const float *r,
                          int64_t ldr, int64_t act, const char *next)
{
    const int64_t pairs = nr > 32 ? 2 : 1, p = nr / 16 - 1;
    const int64_t panel = s->bytes > 1 ? 16 * k : ldb; /* of these k */
    const int64_t count = rows > s->mr ? (rows + s->mr - 1) / s->mr : 1;
    const int64_t all = count > pairs ? count / pairs : 1;
    const int64_t share = all < s->fetch ? all : s->fetch;
    const int64_t fetch = rows > 1 ? share : 0; /* see of_rows() in panels.c */
    const int64_t ahead = fetch ? (s->line + share - 1) / share : s->line;
    int64_t i = 0;
    for (int64_t t = 0; t < count; t++) {
        const int64_t end = t < count - 1 ? rows * (t + 1) / count : rows;
        const int64_t pair = t % pairs, part = t / pairs;
        const char *soon = b;
        if (part < fetch)
            soon = next + (pair * 2 * ldb + panel * part / share) * s->bytes;
        tiles[s->kind][adds][end - i - 1][p](
            a + i * lda * s->x_bytes, lda, b, ldb, k, c + i * ldc, ldc, bias,
            r ? r + i * ldr : 0, ldr, act, soon, ahead, 16);
        i = end;
    }
}

//: min_of
static inline int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

//: tile_width
/* Returns the width of the next tile: nr, or less if `left` is less. */
static inline int64_t tile_width(int64_t nr, int64_t left)
{
    return left >= nr ? nr : left >= 32 ? 32 : 16;
}

//: kernel product_panels needs: rows_of_tiles tile_width
/* Computes c = a b or c += a b. b has `panels` panels of 16, ldb apart. */
static void product_panels(const struct shape *s, int64_t adds, int64_t rows,
                           const float *a, int64_t lda, const float *b,
                           int64_t ldb, int64_t k, int64_t panels, float *c,
                           int64_t ldc, const float *next)
{
    int64_t j = 0;
    while (j < panels && rows > 0) {
        const int64_t nr = tile_width(s->nr, (panels - j) * 16);
        rows_of_tiles(s, adds, nr, rows, (const char *)a, lda,
                      (const char *)(b + j * ldb), ldb, k, c + j * 16, ldc,
                      0, 0, 0, 0, (const char *)(next + j * ldb));
        j += nr / 16;
    }
}

//: waiting_tile when: w16 needs: waiting tile
/* waiting_tiles[adds][rows - 1][panels - 1] also turns pending scores of
 * attention into weights or, if adds is 1, rescales c and adds to it. */
typedef void waiting_tile(const float *a, int64_t lda, const float *b,
                          int64_t ldb, int64_t k, float *c, int64_t ldc,
                          const float *next, int64_t ahead,
                          const struct waiting *w);
static waiting_tile *const waiting_tiles[2][6][4];

//: kernel panels_waiting when: w16 needs: waiting_tile shape tile_width
/* Does the same for one tile of at most 6 rows and the pending rows of w. */
static void panels_waiting(const struct shape *s, int64_t adds, int64_t rows,
                           const float *a, int64_t lda, const float *b,
                           int64_t ldb, int64_t k, int64_t panels, float *c,
                           int64_t ldc, const float *next, int64_t ahead,
                           const struct waiting *w)
{
    int64_t j = 0;
    while (j < panels) {
        const int64_t nr = tile_width(s->nr, (panels - j) * 16);
        waiting_tiles[adds][rows - 1][nr / 16 - 1](
            a, lda, b + j * ldb, ldb, k, c + j * 16, ldc, next + j * ldb,
            ahead, w);
        j += nr / 16;
    }
}

//: product_small_m needs: shape tile
/* Multiplies one panel at a time, or two that lie half of the columns apart. If
 * their number is odd, one is multiplied alone. */
static void product_small_m(const struct shape *s, int64_t rows, int64_t from,
                            int64_t to, const char *x, int64_t ldx,
                            const char *w, float *y, int64_t ldy,
                            const float *bias, const float *r, int64_t ldr)
{
    const int64_t line = s->column * s->bytes;
    const int64_t ahead = rows < s->small_m_fetch ? s->small_m_ahead
                                                  : 16 * line;
    const int64_t half = s->streams == 2 ? (to - from + 16) / 32 * 16
                                         : to - from;
    for (int64_t j = from; j < from + half; j += 16) {
        const int64_t far = j + half < to ? half : 0;
        const char *b = w + j * line;
        tiles[s->kind][0][rows - 1][far > 0](
            x, ldx, b, far * s->column, s->k, y + j, ldy, bias ? bias + j : 0,
            r ? r + j : 0, ldr, s->act, b + ahead, s->line, half);
    }
}

//: unpack_any needs: shape unpack_int4 unpack_int4g64
static inline void unpack_any(const struct shape *s, void *to, const void *w)
{
    if (s->copied_shared == 32)
        unpack_int4(to, w, s->k);
    else
        unpack_int4g64(to, w, s->k);
}

//: copy_panel when: narrow needs: unpack_any
#define copy_panel(s, to, w) unpack_any(s, to, w)

//: copy_panel when: wide needs: unpack_any widen_int4 widen_int4g64 widen_int8
static inline void copy_panel(const struct shape *s, void *to, const void *w)
{
    if (s->copied_rows == 0)
        unpack_any(s, to, w);
    else if (s->copied_shared == 32)
        widen_int4(to, w, s->k);
    else if (s->copied_shared == 64)
        widen_int4g64(to, w, s->k);
    else
        widen_int8(to, w, s->k);
}

//: copy_rows_of when: narrow
#define copy_rows_of(s, to, x, ldx, rows)

//: copy_rows_of when: wide needs: shape widen_rows
static inline void copy_rows_of(const struct shape *s, void *to,
                                const void *x, int64_t ldx, int64_t rows)
{
    widen_rows(to, s->copied_line, x, ldx, rows, s->copied_line / 2 - 32);
}

//: product_copied needs: rows_of_tiles tile_width copy_panel
/* Multiplies by copies of panels. Copies each panel once for all rows. */
static void product_copied(const struct shape *s, int8_t *copy, int64_t rows,
                           int64_t from, int64_t to, const char *x,
                           int64_t ldx, const char *w, float *y, int64_t ldy,
                           const float *bias, const float *r, int64_t ldr)
{
    struct shape as = *s;
    int64_t nr;
    as.kind = s->copied_kind;
    as.nr = s->copied_nr;
    as.line = 64; /* of int8 */
    for (int64_t j = from; j < to; j += nr) {
        nr = tile_width(as.nr, to - j);
        for (int64_t i = 0; i < nr; i += 16)
            copy_panel(s, copy + i / 16 * s->copied_panel,
                       w + (j + i) * s->column);
        rows_of_tiles(&as, 0, nr, rows, x, ldx, (const char *)copy,
                      s->copied_panel, s->k, y + j, ldy, bias ? bias + j : 0,
                      r ? r + j : 0, ldr, s->act, w + (j + nr) * s->column);
    }
}

//: product_copies needs: product_copied copy_rows_of min_of
/* Copies panels and, behind them, rows. The copies take at most a quarter of a
 * thread's stack and stay in a cache. */
static void product_copies(const struct shape *s, int64_t rows, int64_t from,
                           int64_t to, const char *x, int64_t ldx,
                           const char *w, float *y, int64_t ldy,
                           const float *bias, const float *r, int64_t ldr)
{
    _Alignas(64) int8_t copy[1 << 18];
    int8_t *wide = copy + s->copied_nr / 16 * s->copied_panel;
    if (s->copied_rows == 0)
        product_copied(s, copy, rows, from, to, x, ldx, w, y, ldy, bias, r,
                       ldr);
    for (int64_t i = 0; i < rows && s->copied_rows > 0; i += s->copied_rows) {
        const int64_t some = min_of(rows - i, s->copied_rows);
        copy_rows_of(s, wide, x + i * ldx, ldx, some);
        product_copied(s, copy, some, from, to, (const char *)wide,
                       s->copied_line, w, y + i * ldy, ldy, bias,
                       r ? r + i * ldr : 0, ldr);
    }
}

//: product_whole needs: rows_of_tiles tile_width product_copies
static void product_whole(const struct shape *s, int64_t rows, int64_t from,
                          int64_t to, const char *x, int64_t ldx,
                          const char *w, float *y, int64_t ldy,
                          const float *bias, const float *r, int64_t ldr)
{
    const int64_t line = s->column * s->bytes;
    int64_t nr;
    if (s->copied_nr && rows > s->mr) {
        product_copies(s, rows, from, to, x, ldx, w, y, ldy, bias, r, ldr);
        return;
    }
    for (int64_t j = from; j < to; j += nr) {
        nr = tile_width(s->nr, to - j);
        rows_of_tiles(s, 0, nr, rows, x, ldx, w + j * line, 16 * s->column,
                      s->k, y + j, ldy, bias ? bias + j : 0, r ? r + j : 0, ldr,
                      s->act, w + (j + nr) * line);
    }
}

//: product_of_block needs: rows_of_tiles tile_width finish_rows
/* Adds products of n of k, from `at` on, to y. The last block finishes y. */
static void product_of_block(const struct shape *s, int64_t at, int64_t n,
                             int64_t rows, int64_t from, int64_t to,
                             const char *x, int64_t ldx, const char *w,
                             float *y, int64_t ldy, const float *bias,
                             const float *r, int64_t ldr)
{
    const int64_t line = s->column * s->bytes;
    int64_t nr;
    for (int64_t j = from; j < to; j += nr) {
        const char *b = w + j * line + at * 16 * s->bytes;
        nr = tile_width(s->nr, to - j);
        rows_of_tiles(s, at > 0, nr, rows, x + at * s->x_bytes, ldx, b,
                      16 * s->column, n, y + j, ldy, 0, 0, 0, 0,
                      b + nr * line);
        for (int64_t i = 0; i < rows && at + n == s->k; i++)
            finish_rows(y + i * ldy + j, ldy, 16, y + i * ldy + j, 1, nr,
                        bias ? bias + j : 0, r ? r + i * ldr + j : 0, ldr,
                        s->act);
    }
}

//: product_blocks needs: product_of_block min_of
/* Multiplies many rows and columns by one block of k before the next. */
static void product_blocks(const struct shape *s, int64_t rows, int64_t from,
                           int64_t to, const char *x, int64_t ldx,
                           const char *w, float *y, int64_t ldy,
                           const float *bias, const float *r, int64_t ldr)
{
    for (int64_t i = 0; i < rows; i += s->rows)
        for (int64_t j = from; j < to; j += s->columns)
            for (int64_t at = 0; at < s->k; at += s->step)
                product_of_block(s, at, min_of(s->step, s->k - at),
                                 min_of(s->rows, rows - i), j,
                                 min_of(j + s->columns, to),
                                 x + i * ldx * s->x_bytes, ldx, w, y + i * ldy,
                                 ldy, bias, r ? r + i * ldr : 0, ldr);
}

//: kernel product needs: product_small_m product_whole product_blocks
/* Computes columns from .. to - 1 of y = act(x W^T + bias) + r. bias and r may
 * be NULL. */
static void product(const struct shape *s, int64_t rows, int64_t from,
                    int64_t to, const void *x, int64_t ldx, const void *w,
                    float *y, int64_t ldy, const float *bias, const float *r,
                    int64_t ldr)
{
    if (rows < 1)
        return;
    if (rows < s->small_m)
        product_small_m(s, rows, from, to, x, ldx, w, y, ldy, bias, r, ldr);
    else if (s->step >= s->k)
        product_whole(s, rows, from, to, x, ldx, w, y, ldy, bias, r, ldr);
    else
        product_blocks(s, rows, from, to, x, ldx, w, y, ldy, bias, r, ldr);
}
