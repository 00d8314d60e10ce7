/* tile_int.c: the text of tiles of integers. A line of a panel, 64 bytes, is
 * four numbers of each of 16 columns (int8) or eight (of 4 bits), a 32-bit lane
 * a column. Rows of floats are multiplied by the numbers as floats, one k after
 * the other; quantised ones by four numbers of a column at once.            */
#include "emit/tile/lanes.h"

enum { FewGroupRows = 2 }; /* planes of rows: more need more registers */

typedef struct {        /* what differs by dtype */
    int numbers;        /* of a column, in a line */
    const char *groups; /* of 4 bits: where the lines of number g are, .. */
    const char *steps;  /* .. and steps and offsets */
    const char *scales; /* how far behind b the scales of the columns are */
    const char *number; /* number j of a line, as floats */
    const char *four;   /* numbers j .. j + 3 as bytes */
    const char *one;    /* number i of column l */
} Line;

#define NUMBER4 "const v $bj = v_number4($line, j, $step, $base);\n"
#define FOUR4   "const v_int $bj = v_unpack4($line, j, $step, $base);\n"
static const Line lines[Dtypes] = {
    [DtypeInt8] = { .numbers = 4,
                    .scales = "stored * 16",
                    .number = "const v $bj = v_number8($line, j);\n",
                    .four = "const v_int $bj = v_load_words($line);\n",
                    .one = "int8_at(b, i, l)" },
    [DtypeInt4] = { .numbers = 8,
                    .groups = "b + g / 64 * 576 + g % 64 * 8",
                    .steps = "b + g / 64 * 576 + 512 + g % 64",
                    .scales = "stored * 9",
                    .number = NUMBER4,
                    .four = FOUR4,
                    .one = "int4_at(b, i, l, 32)" },
    [DtypeInt4g64] = { .numbers = 8,
                       .groups = "b + g / 128 * 1088 + g % 128 * 8",
                       .steps = "b + g / 128 * 1088 + 1024 + g % 128 / 64 * 32",
                       .scales = "(k + 127) / 128 * 1088",
                       .number = NUMBER4,
                       .four = FOUR4,
                       .one = "int4_at(b, i, l, 64)" },
};

/* A block of text for each accumulator of row i, as put_lanes(), with names of
 * what is read of panels.                                                   */
static void put_int_columns(Emit *e, TileKey k, int i, const char *block)
{
    for (int j = 0; j < k.nr / k.width; j++) {
        const int mark = emit_mark(e), column = j * k.width;
        const int panel = column / ATTN_PANEL, in = column % ATTN_PANEL;
        let_lane(e, k, i, j);
        let(e, "sum", "sum%d_%d", i, j);
        let(e, "low", "low%d_%d", i, j);
        let(e, "step", "step%d", j);
        let(e, "base", "base%d", j);
        let(e, "scale", "scale%d", j);
        let_at(e, "line", "line", panel, "ldb", in * 4);
        let_at(e, "steps", "steps", panel, "ldb", in);
        let_at(e, "scales", "scales", panel, "ldb", in * 4);
        let_at(e, "minus", "scales + 64", panel, "ldb", in * 4);
        put(e, block);
        emit_reset(e, mark);
    }
}

static void put_int_rows(Emit *e, TileKey k, const char *block)
{
    for (int i = 0; i < k.mr; i++)
        put_int_columns(e, k, i, block);
}

/* Where things are in the panels; $number is the type of b. stored: of rows,
 * and of panels where these have groups of as many k. */
static void put_places(Emit *e, TileKey k)
{
    let(e, "scales_at", "%s", lines[k.dtype].scales);
    if (k.arithmetic != ArithmeticF32 || dtype_stored(k.dtype, 1) == 64)
        put(e, k.wide ? "const int64_t stored = (k + 63) / 64 * 128;\n"
                      : "const int64_t stored = (k + 63) / 64 * 64;\n");
    put(e, "const $number *scales = b + $scales_at;\n"
           "\n");
}

/* Begins the loop over groups of `numbers`, with their steps and offsets. */
static void put_groups(Emit *e, TileKey k, const char *end, int64_t numbers,
                       const char *begin)
{
    let(e, "end", "%s", end);
    let(e, "group", "%lld", (long long)numbers);
    let(e, "line_at", "%s", lines[k.dtype].groups);
    let(e, "steps_at", "%s", lines[k.dtype].steps);
    put(e, "for (int64_t g = 0; g < $end; g += $group) {\n"
           "    const uint8_t *line = $line_at;\n"
           "    const uint8_t *steps = $steps_at;\n");
    put_int_columns(e, k, 0, begin);
}

/* ---- rows of floats ---- */

/* Of number i + j of the rows. */
static void put_float_step(Emit *e, TileKey k)
{
    put_int_columns(e, k, 0, lines[k.dtype].number);
    for (int i = 0; i < k.mr; i++) {
        const int mark = emit_mark(e);
        let_at(e, "at", "i + j", i, "lda", 0);
        put(e, i == 0 ? "v x = v_splat(a[$at]);\n" : "x = v_splat(a[$at]);\n");
        put_lanes(e, k, i, "$acc = v_fma(x, $bj, $acc);\n");
        emit_reset(e, mark);
    }
}

/* Lines from `line`, of numbers i .. end - 1; the last one may be a part. */
static void put_float_lines(Emit *e, TileKey k)
{
    let(e, "numbers", "%d", lines[k.dtype].numbers);
    put(e, "ROLLED\n"
           "for (; i + $numbers <= end; i += $numbers) {\n");
    if (tile_prefetches(k))
        put_prefetch(e, k);
    put(e, "UNROLLED\n"
           "for (int64_t j = 0; j < $numbers; j++) {\n");
    put_float_step(e, k);
    put(e, "}\n"
           "line += 64;\n"
           "}\n"
           "for (int64_t j = 0; j < end - i; j++) {\n");
    put_float_step(e, k);
    put(e, "}\n");
}

static void put_float_sums(Emit *e, TileKey k)
{
    put_int_rows(e, k, "v $acc = v_splat(0.0f);\n");
    const int64_t shared = dtype_shared(k.dtype);
    if (shared) {
        put_groups(e, k, "k", shared,
                   "const v $step = v_step4($steps);\n"
                   "const v $base = v_base4($steps);\n");
        put(e, "const int64_t end = k - g < $group ? k : g + $group;\n"
               "int64_t i = g;\n"
               "\n");
        put_float_lines(e, k);
        put(e, "}\n");
    } else {
        put(e, "const int64_t end = k;\n"
               "const $number *line = b;\n"
               "int64_t i = 0;\n"
               "\n");
        put_float_lines(e, k);
    }
    put_int_columns(e, k, 0, "const v $scale = (v)v_load_words($scales);\n");
    put_int_rows(e, k, "$acc *= $scale;\n");
}

/* ---- rows of bytes ---- */

/* Of a plane of them, from numbers i + j on. */
static void put_dots(Emit *e, TileKey k, int i, const char *plane,
                     const char *block)
{
    const int mark = emit_mark(e);
    let_at(e, "at", plane, i, "lda", 0);
    put(e, "x = v_spread($at);\n");
    put_int_columns(e, k, i, block);
    emit_reset(e, mark);
}

static void put_dot_step(Emit *e, TileKey k)
{
    put_int_columns(e, k, 0, lines[k.dtype].four);
    put(e, "v_int x;\n"
           "\n");
    for (int i = 0; i < k.mr; i++) {
        put_dots(e, k, i, dtype_shared(k.dtype) ? "a + i + j" : "a + i",
                 k.wide ? "$sum = v_dot_wide($sum, x, $bj);\n"
                        : "$sum = v_dot($sum, x, $bj);\n");
        if (k.arithmetic == ArithmeticInt15)
            put_dots(e, k, i,
                     dtype_shared(k.dtype) ? "a + stored + i + j"
                                           : "a + stored + i",
                     k.wide ? "$low = v_dot_wide($low, x, $bj);\n"
                            : "$low = v_dot_low($low, x, $bj);\n");
    }
}

static void put_dot_lines(Emit *e, TileKey k)
{
    const int64_t shared = dtype_shared(k.dtype);
    if (shared) {
        put_groups(e, k, "stored", shared,
                   "const v_int $step = v_steps($steps);\n"
                   "const v_int $base = v_bases($steps);\n");
        put(e, "ROLLED\n"
               "for (int64_t i = g; i < g + $group; i += 8) {\n");
    } else {
        put(e, "const $number *line = b;\n"
               "\n"
               "ROLLED\n"
               "for (int64_t i = 0; i < stored; i += 4) {\n");
    }
    if (tile_prefetches(k))
        put_prefetch(e, k);
    if (shared)
        put(e, "UNROLLED\n"
               "for (int64_t j = 0; j < 8; j += 4) {\n");
    put_dot_step(e, k);
    if (shared)
        put(e, "}\n");
    put(e, "line += 64;\n"
           "}\n");
    if (shared)
        put(e, "}\n");
}

/* As floats, times both scales. */
static void put_dot_end(Emit *e, TileKey k)
{
    const bool two = k.arithmetic == ArithmeticInt15;
    put_int_columns(e, k, 0, "const v $scale = (v)v_load_words($scales);\n");
    for (int i = 0; i < k.mr; i++) {
        const int mark = emit_mark(e);
        let(e, "unit", "unit%d", i);
        let_at(e, "at", two ? "a + 2 * stored" : "a + stored", i, "lda", 0);
        put(e, "const v $unit = v_splat(float_at($at));\n");
        put_int_columns(
            e, k, i,
            two ? "v $acc = v_both($sum, $low) * ($unit * $scale);\n"
                : "v $acc = v_float($sum) * ($unit * $scale);\n");
        emit_reset(e, mark);
    }
}

/* ---- few rows of bytes and int4 ----
 *
 * Numbers are not unpacked: those of a group are (n - 8) step + offset, so the
 * sum of x times them is step times that of x n, and offset - 8 step times that
 * of x.                                                                     */

/* What has a name for each row and plane, and a block for each of its sums. */
static void put_planes(Emit *e, TileKey k, const char *once, const char *block)
{
    for (int i = 0; i < k.mr; i++)
        for (int low = 0; low < tile_planes(k); low++) {
            const int mark = emit_mark(e);
            let(e, "all", low ? "rest%d" : "all%d", i);
            let(e, "dot", low ? "v_dot_group_low" : "v_dot_group");
            let_at(e, "at", low ? "a + stored + i + j" : "a + i + j", i, "lda",
                   0);
            put(e, once);
            for (int j = 0; j < k.nr / k.width; j++) {
                const int column = emit_mark(e);
                let(e, "part", low ? "late%d_%d" : "part%d_%d", i, j);
                let(e, "sum", low ? "low%d_%d" : "sum%d_%d", i, j);
                let(e, "bj", "b%d", j);
                let(e, "step", "step%d", j);
                let(e, "base", "base%d", j);
                put(e, block);
                emit_reset(e, column);
            }
            emit_reset(e, mark);
        }
}

static void put_group_sums(Emit *e, TileKey k)
{
    put(e, "const v_int ones = (v_int){0} + 0x1010101;\n"
           "\n");
    put_groups(e, k, "stored", 32, /* more do not fit 16 bits */
               "const v_int $step = v_group_step($steps);\n"
               "const v_int $base = v_group_base($steps);\n");
    put_planes(e, k, "v_int $all = {0};\n", "v_int $part = {0};\n");
    put(e, "\n"
           "ROLLED\n"
           "for (int64_t i = g; i < g + 32; i += 8) {\n");
    if (tile_prefetches(k))
        put_prefetch(e, k);
    put(e, "UNROLLED\n"
           "for (int64_t j = 0; j < 8; j += 4) {\n");
    put_int_columns(e, k, 0, "const v_int $bj = v_nibbles($line, j);\n");
    put(e, "v_int x;\n"
           "\n");
    put_planes(e, k,
               "x = v_spread($at);\n"
               "$all = $dot($all, x, ones);\n",
               "$part = $dot($part, x, $bj);\n");
    put(e, "}\n"
           "line += 64;\n"
           "}\n");
    put_planes(e, k, "",
               "$sum += v_times_group($part, $step)\n"
               "      + v_times_group($all, $base);\n");
    put(e, "}\n");
}

static void put_dot_sums(Emit *e, TileKey k)
{
    put_int_rows(e, k,
                 k.wide ? "v_int $sum = v_load_words($minus);\n"
                        : "v_int $sum = v_start($minus);\n");
    if (k.arithmetic == ArithmeticInt15)
        put_int_rows(e, k, "v_int $low = {0};\n");
    if (k.groups)
        put_group_sums(e, k);
    else
        put_dot_lines(e, k);
    put_dot_end(e, k);
}

/* ---- one number at a time ---- */

static void put_scalar_sums(Emit *e, TileKey k)
{
    const bool floats = k.arithmetic == ArithmeticF32;
    let(e, "sum", floats ? "float" : "int32_t");
    put(e, "$sum sum[2][$mr][16] = {{{0}}};\n"
           "for (int64_t i = 0; i < k; i++)\n"
           "    for (int64_t l = 0; l < 16; l++) {\n");
    put(e, floats ? "const float w = (float)$one;\n"
                  : "const int32_t w = $one;\n");
    put(e, "for (int64_t r = 0; r < $mr; r++)\n");
    put(e, floats
               ? "    sum[0][r][l] = v_fma(a[r * lda + i], w, sum[0][r][l]);\n"
               : "    sum[0][r][l] += (a[r * lda + i] - 128) * w;\n");
    if (k.arithmetic == ArithmeticInt15)
        put(e, "for (int64_t r = 0; r < $mr; r++)\n"
               "    sum[1][r][l] += a[r * lda + stored + i] * w;\n");
    put(e, "}\n");
}

static void put_scalar_tile(Emit *e, TileKey k)
{
    let(e, "one", "%s", lines[k.dtype].one);
    put(e, "for (int64_t j = 0; j < $nr; j += 16) {\n");
    put_scalar_sums(e, k);
    put(e, "for (int64_t r = 0; r < $mr; r++) {\n"
           "    for (int64_t l = 0; l < 16; l++) {\n"
           "        const float scale = float_at(scales + l * 4);\n");
    if (k.arithmetic == ArithmeticF32)
        put(e, "float x = sum[0][r][l] * scale;\n");
    else if (k.arithmetic == ArithmeticInt8)
        put(e, "const float unit = float_at(a + r * lda + stored);\n"
               "float x = (float)sum[0][r][l] * (unit * scale);\n");
    else
        put(e, "const float unit = float_at(a + r * lda + 2 * stored);\n"
               "const float high = (float)sum[0][r][l];\n"
               "float x = v_fma(128.0f, high, (float)sum[1][r][l])\n"
               "        * (unit * scale);\n");
    put_scalar_end(e, k);
    put(e, "}\n"
           "}\n"
           "b += ldb;\n"
           "scales += ldb;\n"
           "}\n");
}

int tile_planes(TileKey k)
{
    return k.arithmetic == ArithmeticInt15 ? 2 : 1;
}

bool tile_groups(TileKey k)
{
    return dtype_shared(k.dtype) && k.arithmetic != ArithmeticF32 && k.width > 1
        && k.mr * tile_planes(k) <= FewGroupRows;
}

void put_integer_tile(Emit *e, TileKey k)
{
    put_places(e, k);
    if (k.width == 1) {
        put_scalar_tile(e, k);
        return;
    }
    if (k.arithmetic == ArithmeticF32)
        put_float_sums(e, k);
    else
        put_dot_sums(e, k);
    put_lanes_end(e, k);
}
