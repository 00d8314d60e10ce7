/* epilogue.c: names of epilogues. */
#include "plan/epilogue.h"

/* Suffix of each part, in the order of the bits. The activation's name follows
 * the suffix of EpAct. */
static const struct {
    int part;
    const char *suffix;
} suffixes[] = {
    { EpBias, "_bias" },         { EpAct, "_" },
    { EpResidual, "_residual" }, { EpAccumulate, "_accumulate" },
    { EpAny, "_any" },           { EpPrefetch, "_prefetch" },
    { EpPowers, "_powers" },     { EpRescale, "_rescale" },
    { EpSum, "_sum" },
};

/* ArithmeticInt8 multiplies one plane of bytes of x, ArithmeticInt15 two,
 * ArithmeticBf16Dp pairs, ArithmeticBf16Amx blocks of 32, ArithmeticBf16x3
 * three products of such blocks. */
static const char *const arithmetic_suffix[] = {
    [ArithmeticF32] = "",         [ArithmeticInt8] = "_dot",
    [ArithmeticInt15] = "_dot2",  [ArithmeticBf16Dp] = "_dp",
    [ArithmeticBf16Amx] = "_amx", [ArithmeticBf16x3] = "_x3",
};

const char *epilogue_suffix(Arena *a, Epilogue ep)
{
    Buffer s = { .arena = a };
    buffer_add(&s, "", 0);
    if (ep.dtype != DtypeF32)
        buffer_printf(&s, "_%s", dtype_word[ep.dtype]);
    if (ep.arithmetic != ArithmeticF32)
        buffer_printf(&s, "%s%s", arithmetic_suffix[ep.arithmetic],
                      ep.wide ? "_wide" : "");
    else if (ep.wide)
        buffer_printf(&s, "_float");
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ep.parts & suffixes[i].part)
            buffer_printf(&s, "%s%s", suffixes[i].suffix,
                          suffixes[i].part == EpAct ? act_text[ep.act].plain
                                                    : "");
    return s.at;
}
