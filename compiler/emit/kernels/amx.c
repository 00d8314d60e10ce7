/* amx.c: multiplies blocks of 32 rows and 32 columns in the tile registers of
 * AMX. A register has 16 rows of 64 bytes. An instruction multiplies 64 bytes
 * of 16 rows of x by those of the 16 columns of a panel, and adds the products
 * to 16 x 16 sums. Sums of integers are exact; those of bf16 are in the order
 * of bf16_amx. */

//: amx_registers when: amx needs: intrinsics
/* With ATTNC_AMX_MODEL the registers are an array, and C computes what the
 * instructions do: a test of all the code around them on any processor, of one
 * thread, because rows of other threads are read, too. */
#ifdef ATTNC_AMX_MODEL
#define AMX_FUNCTION
union amx_register {
    uint8_t byte[16][64];
    int32_t sum[16][16];
    uint16_t bf16[16][32];
    float float_sum[16][16];
};
#define AMX_REGISTERS union amx_register amx[8]
#define AMX_BEGIN(config) ((void)(config))
#define AMX_END() ((void)0)
#define AMX_ZERO(t) (amx[t] = (union amx_register){{{0}}})
#define AMX_LOAD(t, from, stride) amx_load(amx + (t), from, stride)
#define AMX_STORE(t, to, stride) amx_store(amx + (t), to, stride)
#define AMX_SUM(sum, c, a, b) sum(amx + (c), amx + (a), amx + (b))
static inline void amx_load(union amx_register *t, const void *from,
                            int64_t stride)
{
    for (int64_t i = 0; i < 1024; i++)
        t->byte[i / 64][i % 64] =
            ((const uint8_t *)from)[i / 64 * stride + i % 64];
}

static inline void amx_store(const union amx_register *t, void *to,
                             int64_t stride)
{
    for (int64_t i = 0; i < 1024; i++)
        ((uint8_t *)to)[i / 64 * stride + i % 64] = t->byte[i / 64][i % 64];
}
#else
#ifndef AMX_FUNCTION
#define AMX_FUNCTION __attribute__((target("amx-tile,amx-int8,amx-bf16")))
#endif
#define AMX_REGISTERS __asm__ volatile("" : : : "memory")
#define AMX_BEGIN(config) _tile_loadconfig(config)
#define AMX_END() _tile_release()
#define AMX_ZERO(t) _tile_zero(t)
#define AMX_LOAD(t, from, stride) _tile_loadd(t, from, stride)
#define AMX_STORE(t, to, stride) _tile_stored(t, to, stride)
#define AMX_SUM(sum, c, a, b) sum(c, a, b)
#endif

//: kernel amx_allowed when: amx
/* Returns 1 if the processor has AMX for integers and for bf16, and Linux
 * grants it to this process on request. */
static int64_t amx_allowed(void)
{
#if defined ATTNC_AMX_MODEL
    return 1;
#elif defined __linux__ && defined __x86_64__ && !defined ATTNC_NO_AMX
    enum { ArchPrctl = 158, RequestPermission = 0x1023, TileData = 18 };
    const unsigned all = 1u << 22 | 1u << 24 | 1u << 25; /* bf16, tiles, int8 */
    unsigned a = 7, b, c = 0, has;
    long result = ArchPrctl;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(has));
    if ((has & all) != all)
        return 0;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((long)RequestPermission), "S"((long)TileData)
                     : "rcx", "r11", "memory");
    return result == 0;
#else
    return 0;
#endif
}

//: amx_begin when: amx needs: amx_registers
/* amx_begin() gives each register 16 rows of 64 bytes; amx_end() gives them
 * back. A thread keeps them only during a product. */
static AMX_FUNCTION __attribute__((noinline)) void amx_begin(void)
{
    static const struct {
        uint8_t palette, row, none[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1,
                .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    AMX_BEGIN(&config);
}

static AMX_FUNCTION __attribute__((noinline)) void amx_end(void)
{
    AMX_END();
}

//: amx_operands when: amx
/* A block has two groups of 16 rows and two panels. The second group of rows is
 * the next 16 or, for int15, the lower bits of the same 16. */
struct amx_operands {
    const uint8_t *a, *a2;     /* rows, lda bytes apart */
    int64_t lda;
    const uint8_t *b, *b2;     /* panels */
    int64_t stored;            /* bytes of a row that are multiplied */
    const char *next;          /* to prefetch, `ahead` bytes each 64 k */
    int64_t ahead;
};

//: amx_sums when: amx needs: amx_operands amx_registers v_prefetch
/* Load a line of each group of rows into registers 4 and 5, and of each panel
 * into 6 and 7; add their products to the sums, registers 0 to 3. */
#define AMX_ROWS(at)                                                           \
    AMX_LOAD(4, of->a + (at), of->lda);                                        \
    if (groups > 1)                                                            \
        AMX_LOAD(5, of->a2 + (at), of->lda);
#define AMX_PANELS(at)                                                         \
    AMX_LOAD(6, b + (at), 64);                                                 \
    if (panels > 1)                                                            \
        AMX_LOAD(7, b2 + (at), 64);
#define AMX_PRODUCTS(dot)                                                      \
    AMX_SUM(dot, 0, 4, 6);                                                     \
    if (panels > 1)                                                            \
        AMX_SUM(dot, 1, 4, 7);                                                 \
    if (groups > 1)                                                            \
        AMX_SUM(dot, 2, 5, 6);                                                 \
    if (groups > 1 && panels > 1)                                              \
        AMX_SUM(dot, 3, 5, 7);
#define AMX_STEP(dot)                                                          \
    AMX_PANELS(0)                                                              \
    AMX_ROWS(k)                                                                \
    AMX_PRODUCTS(dot)

/* Computes sums[group of rows][row][column]. A step multiplies `size` bytes of
 * each row. */
#define AMX_SUMS(name, dot, size, step)                                        \
    INLINE AMX_FUNCTION void name##_of(                                        \
        int32_t *sums, int groups, int panels, const struct amx_operands *of)  \
    {                                                                          \
        const uint8_t *b = of->b, *b2 = of->b2;                                \
        const char *next = of->next;                                           \
        AMX_REGISTERS;                                                         \
        AMX_ZERO(0);                                                           \
        AMX_ZERO(1);                                                           \
        AMX_ZERO(2);                                                           \
        AMX_ZERO(3);                                                           \
        for (int64_t k = 0; k < of->stored; k += size) {                       \
            step(dot)                                                          \
            for (int64_t i = 0; i < of->ahead * (size / 64); i += 64)          \
                v_prefetch(next + i);                                          \
            next += of->ahead * (size / 64);                                   \
            b += size * 16;                                                    \
            b2 += size * 16;                                                   \
        }                                                                      \
        AMX_STORE(0, sums, 128);                                               \
        AMX_STORE(1, sums + 16, 128);                                          \
        AMX_STORE(2, sums + 512, 128);                                         \
        AMX_STORE(3, sums + 528, 128);                                         \
    }                                                                          \
    static AMX_FUNCTION __attribute__((noinline)) void name(                   \
        int32_t *sums, int groups, int panels, const struct amx_operands *of)  \
    {                                                                          \
        if (groups > 1 && panels > 1)                                          \
            name##_of(sums, 2, 2, of);                                         \
        else if (groups > 1)                                                   \
            name##_of(sums, 2, 1, of);                                         \
        else if (panels > 1)                                                   \
            name##_of(sums, 1, 2, of);                                         \
        else                                                                   \
            name##_of(sums, 1, 1, of);                                         \
    }

//: amx_int8 when: amx needs: amx_sums dot_end
#ifdef ATTNC_AMX_MODEL
/* Adds products of bytes, of which those of b are signed. */
static inline void amx_sum_int8(union amx_register *c,
                                const union amx_register *a,
                                const union amx_register *b)
{
    for (int64_t i = 0; i < 16; i++)
        for (int64_t j = 0; j < 16; j++)
            for (int64_t k = 0; k < 64; k++)
                c->sum[i][j] += a->byte[i][k]
                              * (int8_t)b->byte[k / 4][j * 4 + k % 4];
}

AMX_SUMS(amx_int8, amx_sum_int8, 64, AMX_STEP)
#else
AMX_SUMS(amx_int8, _tile_dpbusd, 64, AMX_STEP)
#endif

/* Converts the sums of a row and a panel to floats, times both scales, or
 * leaves their bits. */
INLINE void amx_int8_row(tile_sums sum, int does, const int32_t *sums,
                         int64_t row, const uint8_t *panel,
                         const struct amx_operands *of)
{
    const uint8_t *scales = panel + of->stored * 16;
    const uint8_t *unit = of->a + row * of->lda
                        + (does & TileInt15 ? 2 * of->stored : of->stored);
    v scale[TileVectors];
    v_int high[TileVectors], low[TileVectors];
    read_scales(scale, 16, scales, 0);
#define AMX_VECTOR(j)                                                          \
    if (16 > j * W) {                                                          \
        high[j] = v_load_words(sums + j * W);                                  \
        if (!(does & TileSum))                                                 \
            high[j] = high[j] + v_start(scales + 64 + j * W * 4);              \
        low[j] = does & TileInt15 ? v_load_words(sums + 512 + j * W)           \
                                  : high[j];                                   \
    }
    EACH_VECTOR(AMX_VECTOR)
    row_end(sum[0], 16, does, high, low, v_splat(float_at(unit)), scale);
}

//: amx_sum_bf16 when: amx needs: amx_registers widen1
#ifdef ATTNC_AMX_MODEL
/* Adds the sum of the even and that of the odd products. No number is a
 * denormal, which the instruction would flush. */
static inline void amx_sum_bf16(union amx_register *c,
                                const union amx_register *a,
                                const union amx_register *b)
{
    for (int64_t i = 0; i < 16; i++)
        for (int64_t j = 0; j < 16; j++) {
            float of[2] = {0.0f, 0.0f};
            for (int64_t k = 0; k < 32; k++)
                of[k % 2] = fmaf(widen1(a->bf16[i][k]),
                                 widen1(b->bf16[k / 2][j * 2 + k % 2]),
                                 of[k % 2]);
            c->float_sum[i][j] += of[0] + of[1];
        }
}
#else
#define amx_sum_bf16 _tile_dpbf16ps
#endif

//: amx_float_row when: amx needs: amx_operands tile_sums v_load
INLINE void amx_float_row(tile_sums sum, int does, const int32_t *sums,
                         int64_t row, const uint8_t *panel,
                         const struct amx_operands *of)
{
#define AMX_FLOATS(j)                                                          \
    if (16 > j * W)                                                            \
        sum[0][j] = v_load((const float *)sums + j * W);
    EACH_VECTOR(AMX_FLOATS)
    (void)does;
    (void)row;
    (void)panel;
    (void)of;
}

//: amx_bf16 when: amx needs: amx_sums amx_sum_bf16 amx_float_row
#define amx_bf16_row amx_float_row
AMX_SUMS(amx_bf16, amx_sum_bf16, 64, AMX_STEP)

//: amx_bf16x3 when: amx needs: amx_sums amx_sum_bf16 amx_float_row
/* Rows and panels have 64 bytes of first numbers, then as many of second ones.
 * This order of products loads the fewest registers. */
#define AMX_STEP_X3(dot)                                                       \
    AMX_ROWS(k)                                                                \
    AMX_PANELS(1024)                                                           \
    AMX_PRODUCTS(dot)                                                          \
    AMX_PANELS(0)                                                              \
    AMX_PRODUCTS(dot)                                                          \
    AMX_ROWS(k + 64)                                                           \
    AMX_PRODUCTS(dot)
#define amx_bf16x3_row amx_float_row
AMX_SUMS(amx_bf16x3, amx_sum_bf16, 128, AMX_STEP_X3)

//: amx_block when: amx needs: amx_operands
/* Computes a block of y = act(x W^T + bias) + r. */
typedef void amx_block(const struct amx_operands *of, int64_t rows,
                       int64_t panels, float *y, int64_t ldy,
                       const float *bias, const float *r, int64_t ldr,
                       int64_t act);

//: AMX_BLOCK when: amx needs: amx_block tile_finish tile_store
#define AMX_BLOCK(name, multiply, does, act)                                   \
    static void name(const struct amx_operands *of, int64_t rows,              \
                     int64_t panels, float *y, int64_t ldy, const float *bias, \
                     const float *r, int64_t ldr, int64_t number)              \
    {                                                                          \
        _Alignas(64) int32_t sums[1024];                                       \
        multiply(sums, of->a2 ? 2 : 1, (int)panels, of);                       \
        for (int64_t j = 0; j < panels; j++)                                   \
            for (int64_t i = 0; i < rows; i++) {                               \
                tile_sums sum;                                                 \
                multiply##_row(sum, does, sums + i * 32 + j * 16, i,           \
                               j ? of->b2 : of->b, of);                        \
                tile_finish(sum, 1, 16, does, act,                             \
                            (does) & TileBias ? bias + j * 16 : bias,          \
                            (does) & TileResidual ? r + i * ldr + j * 16 : r,  \
                            ldr, 16);                                          \
                tile_store(sum, 1, 16, y + i * ldy + j * 16, ldy, 16);         \
            }                                                                  \
        (void)number;                                                          \
    }

//: AMX_BLOCK_ANY when: amx needs: amx_block finish_rows tile_store
#define AMX_BLOCK_ANY(name, multiply, does)                                    \
    static void name(const struct amx_operands *of, int64_t rows,              \
                     int64_t panels, float *y, int64_t ldy, const float *bias, \
                     const float *r, int64_t ldr, int64_t act)                 \
    {                                                                          \
        _Alignas(64) int32_t sums[1024];                                       \
        _Alignas(64) float x[1024];                                            \
        multiply(sums, of->a2 ? 2 : 1, (int)panels, of);                       \
        for (int64_t j = 0; j < panels; j++)                                   \
            for (int64_t i = 0; i < rows; i++) {                               \
                tile_sums sum;                                                 \
                multiply##_row(sum, (does) | (act < 0 ? TileSum : 0),          \
                               sums + i * 32 + j * 16, i,                      \
                               j ? of->b2 : of->b, of);                        \
                tile_store(sum, 1, 16, x + (i * panels + j) * 16, 0, 16);      \
            }                                                                  \
        finish_rows(y, ldy, 16, x, rows, panels * 16, bias, r, ldr, act);      \
    }

//: kernel amx_product when: amx needs: amx_block amx_begin shape min_of
/* Multiplies many rows, block by block. Reads up to 15 rows after the last one,
 * whose bytes do not matter. `copy` has room for two panels if they are
 * unpacked. */
INLINE void amx_product(const struct shape *s, amx_block *multiply,
                        int8_t *copy, int64_t rows, int64_t from, int64_t to,
                        const void *x, int64_t ldx, const void *w, float *y,
                        int64_t ldy, const float *bias, const float *r,
                        int64_t ldr)
{
    const int64_t line = s->column * s->bytes, lda = ldx * s->x_bytes;
    const int64_t panel = 16 * (s->copied ? s->copied->column : line);
    const int64_t group = s->x_bytes < 4 ? 64 : 128; /* bytes of a step */
    const int64_t stored = (s->k * s->x_bytes + group - 1) / group * group;
    const int64_t blocks = (rows + s->mr - 1) / s->mr;
    const int64_t steps = stored > 0 ? blocks * stored / 64 : 1;
    amx_begin();
    for (int64_t j = from; j < to; j += s->nr) {
        const uint8_t *b = (const uint8_t *)w + j * line;
        const int64_t panels = min_of(to - j, s->nr) / 16;
        const char *next = (const char *)b + panels * 16 * line;
        const int64_t ahead = (s->nr * line / steps + 63) / 64 * 64;
        for (int64_t p = 0; p < panels && s->copied; p++)
            s->copied->copy(copy + p * panel, b + p * 16 * line, s->k);
        if (s->copied)
            b = (const uint8_t *)copy;
        for (int64_t i = 0; i < rows; i += s->mr) {
            const int64_t some = min_of(rows - i, s->mr);
            const uint8_t *a = (const uint8_t *)x + i * lda;
            const struct amx_operands of = {
                .a = a,
                .a2 = s->mr == 16 ? a + stored : some > 16 ? a + 16 * lda : 0,
                .lda = lda,
                .b = b,
                .b2 = b + panel,
                .stored = stored,
                .next = next,
                .ahead = ahead};
            multiply(&of, some, panels, y + i * ldy + j, ldy,
                     bias ? bias + j : 0, r ? r + i * ldr + j : 0, ldr, s->act);
            next += ahead * (stored / 64);
        }
    }
    amx_end();
}

//: prebuilt_amx when: amx needs: amx_block
/* The blocks of each kind. */
static amx_block *const amx_blocks[39];

//: kernel product_by_amx when: amx needs: amx_product prebuilt_amx
/* Computes what product() computes, for many rows. */
static void product_by_amx(const struct shape *s, int64_t rows, int64_t from,
                           int64_t to, const void *x, int64_t ldx,
                           const void *w, float *y, int64_t ldy,
                           const float *bias, const float *r, int64_t ldr)
{
    _Alignas(64) int8_t copy[1 << 18];
    amx_product(s, amx_blocks[s->kind], copy, rows, from, to, x, ldx, w, y, ldy,
                bias, r, ldr);
}
