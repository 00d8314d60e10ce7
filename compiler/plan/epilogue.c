/* epilogue.c: names of epilogues. */
#include "plan/epilogue.h"

/* In the order of the bits. The word of the activation follows EpAct's. */
static const struct {
    int part;
    const char *suffix;
} suffixes[] = {
    { EpBias, "_bias" },         { EpAct, "_" },
    { EpResidual, "_residual" }, { EpAccumulate, "_accumulate" },
    { EpAny, "_any" },           { EpPrefetch, "_prefetch" },
    { EpPowers, "_powers" },     { EpRescale, "_rescale" },
};

/* Integer products of one plane of x, or of two. */
static const char *const arithmetic_suffix[] = {
    [ArithmeticF32] = "",
    [ArithmeticInt8] = "_dot",
    [ArithmeticInt15] = "_dot2",
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
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ep.parts & suffixes[i].part)
            buffer_printf(&s, "%s%s", suffixes[i].suffix,
                          suffixes[i].part == EpAct ? act_text[ep.act].plain
                                                    : "");
    return s.at;
}
