/* format_rows.h: storage formats of weight matrices in packed files, one row
 * each. Later rows are less precise. Every directory takes the columns that it
 * needs.
 *
 *  name, word  Dtype##name, and the word in specs, dumps and records
 *  group       consecutive numbers along k that are packed together; the last
 *              group is padded
 *  line        bytes of a group in each column of a panel of ATTN_PANEL columns
 *  ending      bytes per column after all groups; for integers, a float scale
 *              and -128 times their sum as 32 bits
 *  shared      if > 0, number of consecutive elements of a column that share a
 *              step and an offset of one byte each; a group contains two such
 *              blocks, so that integer groups fill cache lines
 *  steps       STEPS(divisors): the largest magnitude of a column, divided by
 *              one of these, is its step; the first wins ties. A divisor above
 *              127 clips the largest numbers.
 *  gate        GATE(max_error, nmse, divergence): limits of a model compared
 *              with its own f32 weights (oracle/gates.h)
 *  meaning     follows the word in `attnc fields`
 *  layout      a comment of emitted files, or NULL
 *
 * Files define FORMAT before they include this one, which undefines it. A row
 * OWN_FORMAT is no value of `dtype`: an arithmetic stores f32 in it. */
#ifndef FORMAT
#define FORMAT(...)
#endif
#ifndef OWN_FORMAT
#define OWN_FORMAT FORMAT
#endif

/* clang-format off */
FORMAT(F32, "f32", 1, 4, 0, 0, STEPS(0), GATE(1e-4, 1e-10, 1e-9),
    "floats of 32 bits", NULL)
FORMAT(Bf16, "bf16", 32, 64, 0, 0, STEPS(0), GATE(0.5, 1e-2, 1e-2),
    "rounded to 16 bits, to the nearest even",
    "/* bf16: each number is the upper half of a float's bits. A panel has, for\n"
    " * every two k in turn, two numbers of each of 16 rows, up to a multiple of\n"
    " * 32 k. */\n")
FORMAT(Int8, "int8", 64, 64, 8, 0, STEPS(127, 126, 128, 130, 133),
    GATE(2, 0.02, 0.5),
    "integers from -127 to 127, with a scale for each row of the matrix",
    "/* int8: for every four k in turn, four bytes of each of 16 rows, up to a\n"
    " * multiple of 64 k. After a panel: the rows' scales, 16 floats, and -128\n"
    " * times the sums of their integers, 16 of 32 bits. */\n")
FORMAT(Int4, "int4", 64, 36, 8, 32, STEPS(127), GATE(8, 1, 4),
    "integers of 4 bits, with a step and an offset for 32 of them, and a scale",
    "/* int4: like int8, in groups of 64 k. A group has 8 lines of 64 bytes, each\n"
    " * with two lines of int8: one in the lower halves of its bytes, the next in\n"
    " * the upper halves; then a step and an offset of each row for the first 32\n"
    " * k, then for the others. An integer is (half - 8) step + offset. */\n")
FORMAT(Int4g64, "int4g64", 128, 68, 8, 64, STEPS(127), GATE(8, 1, 4),
    "as int4, with a step and an offset for 64 of them",
    "/* int4g64: in groups of 128 k. A group has 16 lines of 64 bytes, each with\n"
    " * the first four of eight k in the lower halves of its bytes, the others in\n"
    " * the upper halves; then a step and an offset of each row for the first 64\n"
    " * k, then for the others. An integer is (half - 8) step + offset. */\n")
OWN_FORMAT(Bf16x2, "bf16x2", 32, 128, 0, 0, STEPS(0), GATE(3e-3, 1e-7, 1e-6),
    "f32 as the sum of two numbers of bf16",
    "/* bf16x2: a float is stored as two numbers of bf16, the nearest one and the\n"
    " * one nearest to the rest. A panel has, for every 32 k in turn, the first\n"
    " * numbers of 16 rows, two k at a time, then the second ones. */\n")
/* clang-format on */
#undef OWN_FORMAT
#undef FORMAT
