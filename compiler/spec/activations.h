/* activations.h: the table of activations. The enum, the words of a spec, the
 * oracle and the kernels come from this list.
 *
 *  text     the word in a spec and in dumps
 *  gated    the word for act(w1 x) * (w3 x); NULL: there is no such form
 *  kernel   the kernel piece that computes it; NULL: nothing to compute
 *  formula  of a double x, for the oracle. NaN stays NaN.
 *
 * Adding an activation: a row here and a kernel piece. Included where ACT is
 * defined, which it is no more behind it.                                   */
#ifndef ACT
#define ACT(...)
#endif

/* clang-format off */
/*  name      text         gated         kernel       formula */
ACT(None,     "none",      NULL,         NULL,        x)
ACT(Relu,     "relu",      "reglu",      "relu",      x < 0 ? 0 : x)
ACT(Gelu,     "gelu",      "geglu",      "gelu",
    0.5 * x * (1 + erf(x / sqrt(2))))
ACT(GeluTanh, "gelu_tanh", "geglu_tanh", "gelu_tanh",
    0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846)
                        * (x + 0.044715 * x * x * x))))
ACT(Silu,     "silu",      "swiglu",     "silu",      x / (1 + exp(-x)))
/* clang-format on */
ACT(QuickGelu, "quick_gelu", NULL, "quick_gelu", x / (1 + exp(-1.702 * x)))

#undef ACT
