/* epilogue.c: what an epilogue is called. */
#include "plan/epilogue.h"

/* In the order of the bits; EpAct goes on with the activation's word. */
static const struct {
    int part;
    const char *suffix;
} suffixes[] = {
    { EpBias, "_bias" },         { EpAct, "_" },
    { EpResidual, "_residual" }, { EpAccumulate, "_accumulate" },
    { EpAny, "_any" },           { EpPrefetch, "_prefetch" },
};

const char *epilogue_suffix(Arena *a, Epilogue ep)
{
    Buffer s = { .arena = a };
    buffer_printf(&s, "%s", ep.dtype == DtypeBf16 ? "_bf16" : "");
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ep.parts & suffixes[i].part)
            buffer_printf(&s, "%s%s", suffixes[i].suffix,
                          suffixes[i].part == EpAct ? act_text[ep.act].plain
                                                    : "");
    return s.at;
}
