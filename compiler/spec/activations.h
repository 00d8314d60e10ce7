/* activations.h: the table of activations. The enum, the words of a spec, the
 * oracle and the kernels come from this list.
 *
 *  text     the word in a spec, in dumps and of its kernel pieces
 *  gated    the word for act(w1 x) * (w3 x); NULL: there is no such form
 *  formula  of a double x, for the oracle. NaN stays NaN.
 *
 * Adding an activation: a row here and a kernel piece. Included where ACT is
 * defined, which it is no more behind it.                                   */
#ifndef ACT
#define ACT(...)
#endif

/* clang-format off */
/*  name       text          gated         formula */
ACT(None,      "none",       NULL,         x)
ACT(Relu,      "relu",       "reglu",      x < 0 ? 0 : x)
ACT(Gelu,      "gelu",       "geglu",
    0.5 * x * (1 + erf(x / sqrt(2))))
ACT(GeluTanh,  "gelu_tanh",  "geglu_tanh",
    0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846)
                        * (x + 0.044715 * x * x * x))))
ACT(Silu,      "silu",       "swiglu",     x / (1 + exp(-x)))
ACT(QuickGelu, "quick_gelu", NULL,         x / (1 + exp(-1.702 * x)))
ACT(Tanh,      "tanh",       NULL,         tanh(x))
/* clang-format on */

#undef ACT
