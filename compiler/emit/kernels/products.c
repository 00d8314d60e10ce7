/* products.c: multiplies matrices of any shape in tiles. In an emitted file the
 * shape is constant, and the compiler folds it. product() and product_panels()
 * are prebuilt for the JIT, whose compiler makes slow loops. */

//: type shape
struct shape {                 /* shape and tiling of a product */
    int64_t kind;              /* index of prebuilt tiles, tiles[kind] */
    int64_t x_bytes, bytes;    /* size of a number of x, of a weight */
    int64_t k;                 /* length of the sums */
    int64_t column;            /* weights of a column in a panel */
    int64_t mr, nr;            /* height and width of the largest tiles */
    int64_t line;              /* weights from a line of a panel to the next */
    int64_t fetch;             /* tiles that share the prefetch of two panels */
    int64_t step;              /* length of a block of the sums, */
    int64_t rows, columns;     /* and its rows and columns; 0: undivided */
    int64_t small_m;           /* fewer rows go to small_m_product() */
    int64_t streams;           /* panels that it reads at a time */
    int64_t small_m_fetch;     /* rows from which it prefetches the next */
    int64_t small_m_ahead;     /* bytes that fewer rows prefetch ahead */
    int64_t act;               /* Activation of spec/fields/activations.h */
    const struct shape *copied; /* by which copies are multiplied, or NULL: */
    void (*copy)(int8_t *to, const void *panel, int64_t k);
    int64_t row_bytes;         /* size of a copied row; 0: rows are not */
};

//: tile needs: shape
/* Tiles of a kind are of[panels - 1][rows - 1]. */
typedef void tile(const void *a, int64_t lda, const void *b, int64_t ldb,
                  int64_t k, float *c, int64_t ldc, const float *bias,
                  const float *r, int64_t ldr, int64_t act, const void *next,
                  int64_t ahead, int64_t ldp);

//: prebuilt_tiles needs: tile
/* The tiles of each kind, and those that add to C. A kind is an arithmetic and
 * a dtype; the wide ones are last. */
static tile *const *const tiles[39][2][4];

//: TILE_OF_TILES needs: prebuilt_tiles
/* Divides a tile whose sums do not fit registers into others of its kind. The
 * default tilings and those that tune tries have no such tile. */
static __attribute__((noinline)) void
tile_of_tiles(tile *const *const *of, int mr, int nr, int rows, int columns,
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
            of[n / 16 - 1][m - 1](
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

//: rows_of_tiles needs: v tile
/* Multiplies all rows of a by nr columns, in tiles whose heights differ by at
 * most one, because a low tile takes as long to read the panels as a tall one.
 * They share the prefetch of the panels at `next`, two at a time. A single row
 * prefetches nothing: the hardware does, as fast as memory delivers. */
INLINE void rows_of_tiles(const struct shape *s, tile *const *of, int64_t nr,
                          int64_t rows, const char *a, int64_t lda,
                          const char *b, int64_t ldb, int64_t k, float *c,
                          int64_t ldc, const float *bias, const float *r,
                          int64_t ldr, int64_t act, const char *next)
{
    const int64_t pairs = nr > 32 ? 2 : 1;
    const int64_t panel = s->bytes > 1 ? 16 * k : ldb; /* of these k */
    const int64_t count = rows > s->mr ? (rows + s->mr - 1) / s->mr : rows > 0;
    const int64_t all = count > pairs ? count / pairs : 1;
    const int64_t share = all < s->fetch ? all : s->fetch;
    const int64_t fetch = rows > 1 ? share : 0;
    const int64_t ahead = fetch ? (s->line + share - 1) / share : s->line;
    int64_t i = 0;
    for (int64_t t = 0; t < count; t++) {
        const int64_t end = t < count - 1 ? rows * (t + 1) / count : rows;
        const int64_t pair = t % pairs, part = t / pairs;
        const char *soon = b;
        if (part < fetch)
            soon = next + (pair * 2 * ldb + panel * part / share) * s->bytes;
        of[end - i - 1](a + i * lda * s->x_bytes, lda, b, ldb, k, c + i * ldc,
                        ldc, bias, r ? r + i * ldr : 0, ldr, act, soon, ahead,
                        16);
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
    return left >= nr ? nr : left >= 32 && nr > 32 ? 32 : 16;
}

//: kernel multiply_panels needs: rows_of_tiles tile_width
/* Computes c = a b or c += a b. b has `panels` panels of 16, ldb apart. */
INLINE void multiply_panels(const struct shape *s, tile *const *const *of,
                            int64_t rows, const float *a, int64_t lda,
                            const float *b, int64_t ldb, int64_t k,
                            int64_t panels, float *c, int64_t ldc,
                            const float *next)
{
    int64_t j = 0;
    while (j < panels) {
        const int64_t nr = tile_width(s->nr, (panels - j) * 16);
        rows_of_tiles(s, of[nr / 16 - 1], nr, rows, (const char *)a, lda,
                      (const char *)(b + j * ldb), ldb, k, c + j * 16, ldc,
                      0, 0, 0, 0, (const char *)(next + j * ldb));
        j += nr / 16;
    }
}

//: kernel product_panels needs: multiply_panels prebuilt_tiles
static void product_panels(const struct shape *s, int64_t adds, int64_t rows,
                           const float *a, int64_t lda, const float *b,
                           int64_t ldb, int64_t k, int64_t panels, float *c,
                           int64_t ldc, const float *next)
{
    multiply_panels(s, tiles[s->kind][adds], rows, a, lda, b, ldb, k, panels, c,
                    ldc, next);
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

//: kernel small_m_product needs: tile v
/* Multiplies one panel at a time, or two that lie half of the columns apart,
 * because memory delivers two streams faster. If the number of panels is odd,
 * the last one is multiplied alone. */
INLINE void small_m_product(const struct shape *s, tile *const *const *of,
                            int64_t rows, int64_t from, int64_t to,
                            const void *x, int64_t ldx, const void *w, float *y,
                            int64_t ldy, const float *bias, const float *r,
                            int64_t ldr)
{
    const int64_t line = s->column * s->bytes;
    const int64_t ahead = rows < s->small_m_fetch ? s->small_m_ahead
                                                  : 16 * line;
    const int64_t half = s->streams == 2 ? (to - from + 16) / 32 * 16
                                         : to - from;
    for (int64_t j = from; j < from + half && rows > 0; j += 16) {
        const int64_t far = j + half < to ? half : 0;
        const char *b = (const char *)w + j * line;
        of[far > 0][rows - 1](x, ldx, b, far * s->column, s->k, y + j, ldy,
                              bias ? bias + j : 0, r ? r + j : 0, ldr, s->act,
                              b + ahead, s->line, far);
    }
}

//: kernel large_product needs: rows_of_tiles tile_width
/* Multiplies panel by panel, by sums that are not divided into blocks. */
INLINE void large_product(const struct shape *s, tile *const *const *of,
                          int64_t rows, int64_t from, int64_t to, const void *x,
                          int64_t ldx, const void *w, float *y, int64_t ldy,
                          const float *bias, const float *r, int64_t ldr)
{
    const int64_t line = s->column * s->bytes;
    int64_t nr;
    for (int64_t j = from; j < to; j += nr) {
        const char *b = (const char *)w + j * line;
        nr = tile_width(s->nr, to - j);
        rows_of_tiles(s, of[nr / 16 - 1], nr, rows, (const char *)x, ldx, b,
                      16 * s->column, s->k, y + j, ldy, bias ? bias + j : 0,
                      r ? r + j : 0, ldr, s->act, b + nr * line);
    }
}

//: kernel copied_product needs: rows_of_tiles tile_width
/* Multiplies by copies of panels. Copies each panel once for all rows. */
INLINE void copied_product(const struct shape *s, tile *const *const *of,
                           int8_t *copy, int64_t rows, int64_t from, int64_t to,
                           const void *x, int64_t ldx, const void *w, float *y,
                           int64_t ldy, const float *bias, const float *r,
                           int64_t ldr)
{
    const struct shape *by = s->copied;
    int64_t nr;
    for (int64_t j = from; j < to; j += nr) {
        nr = tile_width(by->nr, to - j);
        for (int64_t i = 0; i < nr; i += 16)
            by->copy(copy + i * by->column,
                     (const char *)w + (j + i) * s->column, s->k);
        rows_of_tiles(by, of[nr / 16 - 1], nr, rows, (const char *)x, ldx,
                      (const char *)copy, 16 * by->column, s->k, y + j, ldy,
                      bias ? bias + j : 0, r ? r + j : 0, ldr, s->act,
                      (const char *)w + (j + nr) * s->column);
    }
}

//: kernel widened_product when: wide needs: copied_product widen_rows min_of
/* Also widens rows, and copies them behind the panels. */
INLINE void widened_product(const struct shape *s, tile *const *const *of,
                            int8_t *copy, int64_t rows, int64_t from,
                            int64_t to, const uint8_t *x, int64_t ldx,
                            const void *w, float *y, int64_t ldy,
                            const float *bias, const float *r, int64_t ldr)
{
    const struct shape *by = s->copied;
    uint8_t *wide = (uint8_t *)copy + by->nr * by->column;
    for (int64_t i = 0; i < rows; i += by->rows) {
        const int64_t some = min_of(rows - i, by->rows);
        widen_rows(wide, by->row_bytes, x + i * ldx, ldx, some,
                   by->row_bytes / 2 - 32);
        copied_product(s, of, copy, some, from, to, wide, by->row_bytes, w,
                       y + i * ldy, ldy, bias, r ? r + i * ldr : 0, ldr);
    }
}

//: kernel blocked_product needs: rows_of_tiles tile_width min_of
/* Adds products of n of k, from `at` on, to y, in tiles of that block. */
INLINE void product_of_block(const struct shape *s, tile *const *const *of,
                             int64_t at, int64_t n, int64_t rows, int64_t from,
                             int64_t to, const char *x, int64_t ldx,
                             const char *w, float *y, int64_t ldy,
                             const float *bias, const float *r, int64_t ldr,
                             int64_t act)
{
    const int64_t line = s->column * s->bytes;
    int64_t nr;
    for (int64_t j = from; j < to; j += nr) {
        const char *b = w + j * line + at * 16 * s->bytes;
        nr = tile_width(s->nr, to - j);
        rows_of_tiles(s, of[nr / 16 - 1], nr, rows, x + at * s->x_bytes, ldx, b,
                      16 * s->column, n, y + j, ldy, bias ? bias + j : 0,
                      r ? r + j : 0, ldr, act, b + nr * line);
    }
}

/* Multiplies many rows and columns by one block of k before the next. Each
 * panel of a block is read once for all these rows. `last` finishes y. */
INLINE void blocked_product(const struct shape *s, tile *const *const *first,
                            tile *const *const *more, tile *const *const *last,
                            int64_t rows, int64_t from, int64_t to,
                            const void *x, int64_t ldx, const void *w, float *y,
                            int64_t ldy, const float *bias, const float *r,
                            int64_t ldr)
{
    for (int64_t i = 0; i < rows; i += s->rows)
        for (int64_t j = from; j < to; j += s->columns)
            for (int64_t at = 0; at < s->k; at += s->step) {
                const int64_t n = min_of(s->step, s->k - at);
                const int ends = at + n == s->k;
                product_of_block(s, at == 0 ? first : ends ? last : more, at, n,
                                 min_of(s->rows, rows - i), j,
                                 min_of(j + s->columns, to),
                                 (const char *)x + i * ldx * s->x_bytes, ldx,
                                 (const char *)w, y + i * ldy, ldy,
                                 ends ? bias : 0, ends && r ? r + i * ldr : 0,
                                 ldr, ends ? s->act : 0);
            }
}

//: product_by_copies when: narrow needs: copied_product
#define product_by_copies copied_product

//: product_by_copies when: wide needs: widened_product
INLINE void product_by_copies(const struct shape *s, tile *const *const *of,
                              int8_t *copy, int64_t rows, int64_t from,
                              int64_t to, const void *x, int64_t ldx,
                              const void *w, float *y, int64_t ldy,
                              const float *bias, const float *r, int64_t ldr)
{
    if (s->copied->row_bytes)
        widened_product(s, of, copy, rows, from, to, x, ldx, w, y, ldy, bias, r,
                        ldr);
    else
        copied_product(s, of, copy, rows, from, to, x, ldx, w, y, ldy, bias, r,
                       ldr);
}

//: prebuilt_copies needs: product_by_copies prebuilt_tiles large_product
/* The copies take at most a quarter of a thread's stack and stay in a cache. */
static __attribute__((noinline)) void
prebuilt_copies(const struct shape *s, int64_t rows, int64_t from, int64_t to,
                const void *x, int64_t ldx, const void *w, float *y,
                int64_t ldy, const float *bias, const float *r, int64_t ldr)
{
    _Alignas(64) int8_t copy[1 << 18];
    product_by_copies(s, tiles[s->copied->kind][0], copy, rows, from, to, x,
                      ldx, w, y, ldy, bias, r, ldr);
}

//: kernel product needs: small_m_product blocked_product prebuilt_copies
/* Computes columns from .. to - 1 of y = act(x W^T + bias) + r. bias and r may
 * be NULL. */
static void product(const struct shape *s, int64_t rows, int64_t from,
                    int64_t to, const void *x, int64_t ldx, const void *w,
                    float *y, int64_t ldy, const float *bias, const float *r,
                    int64_t ldr)
{
    tile *const *const *of = tiles[s->kind][0];
    tile *const *const *more = tiles[s->kind][1];
    if (rows < s->small_m)
        small_m_product(s, of, rows, from, to, x, ldx, w, y, ldy, bias, r, ldr);
    else if (s->copied && rows > s->mr)
        prebuilt_copies(s, rows, from, to, x, ldx, w, y, ldy, bias, r, ldr);
    else if (s->columns == 0)
        large_product(s, of, rows, from, to, x, ldx, w, y, ldy, bias, r, ldr);
    else
        blocked_product(s, of, more, more, rows, from, to, x, ldx, w, y, ldy,
                        bias, r, ldr);
}
