/* activations.h: the table of activations. It defines the enum, the words in a
 * spec, the oracle's functions and the kernels.
 *
 *  text     the word in a spec, in dumps and in kernel names
 *  gated    the word for act(w1 x) * other(w3 x); NULL: no gated form
 *  other    the activation of w3 x in the gated form; None: w3 x itself
 *  formula  the value for a double x, for the oracle; NaN stays NaN
 *
 * To add an activation, add a row here and a kernel piece. Define ACT before
 * you include this file, which undefines it. */
#ifndef ACT
#define ACT(...)
#endif

/* clang-format off */
/*  name         text              gated             other, formula */
ACT(None,        "none",           NULL,             None, x)
ACT(Relu,        "relu",           "reglu",          None, x < 0 ? 0 : x)
ACT(Gelu,        "gelu",           "geglu",          None,
    0.5 * x * (1 + erf(x / sqrt(2))))
ACT(GeluTanh,    "gelu_tanh",      "geglu_tanh",     None,
    0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846)
                        * (x + 0.044715 * x * x * x))))
ACT(Silu,        "silu",           "swiglu",         None, x / (1 + exp(-x)))
ACT(QuickGelu,   "quick_gelu",     NULL,             None,
    x / (1 + exp(-1.702 * x)))
ACT(Sigmoid,     "sigmoid",        "glu",            None, 1 / (1 + exp(-x)))
ACT(Tanh,        "tanh",           NULL,             None, tanh(x))
ACT(ClippedGelu, "clipped_gelu",   "clipped_swiglu", ClippedPlus1,
    (x > 7 ? 7 : x) / (1 + exp(-1.702 * (x > 7 ? 7 : x))))
ACT(ClippedPlus1, "clipped_plus_1", NULL,             None,
    (x > 7 ? 7 : x < -7 ? -7 : x) + 1)
ACT(SquaredRelu, "squared_relu",   NULL,             None, x < 0 ? 0 : x * x)
ACT(Log1pRelu,   "log1p_relu",     NULL,             None,
    x < 0 ? 0 : log1p(x))
ACT(Log1pTwice,  "log1p_log1p_relu", NULL,           None,
    x < 0 ? 0 : log1p(log1p(x)))
/* clang-format on */

#undef ACT
