"""What rows go through one by one: products, norms, activations, networks.

A weight is asked for by its canonical name and its shape: weights.py makes
it, or has it already.
"""
import math

import numpy as np

ERF = np.vectorize(math.erf, otypes=[float])


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def gelu(x):
    return 0.5 * x * (1 + ERF(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) *
                                  (x + 0.044715 * x ** 3)))


def quick_gelu(x):
    return x * sigmoid(1.702 * x)


def silu(x):
    return x * sigmoid(x)


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "silu": silu,
    "quick_gelu": quick_gelu,
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "clipped_gelu": lambda x: quick_gelu(np.minimum(x, 7)),
    "clipped_plus_1": lambda x: np.clip(x, -7, 7) + 1,
    "squared_relu": lambda x: np.maximum(x, 0) ** 2,
    "log1p_relu": lambda x: np.log1p(np.maximum(x, 0)),
    "log1p_log1p_relu": lambda x: np.log1p(np.log1p(np.maximum(x, 0))),
}
# f(w1 x) * g(w3 x)
GATED = {
    "reglu": ("relu", "none"),
    "geglu": ("gelu", "none"),
    "geglu_tanh": ("gelu_tanh", "none"),
    "swiglu": ("silu", "none"),
    "glu": ("sigmoid", "none"),
    "clipped_swiglu": ("clipped_gelu", "clipped_plus_1"),
}


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def product(w, name, x, out, bias):
    """x W^T + b, with the arithmetic that the spec asks for."""
    weight = w(name + ".weight", (out, x.shape[-1]), "matrix")
    y = w.rows(name, x) @ weight.T
    return y + w(name + ".bias", (out,)) if bias else y


def norm(v, w, name, x, eps=None):
    eps = v["norm.eps"] if eps is None else eps
    if v["norm.type"] == "layer":
        x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    x = x * w(name + ".weight", x.shape[-1:], "norm")
    if v["norm.bias"]:
        x = x + w(name + ".bias", x.shape[-1:])
    return x


def network(v, w, name, x, width):
    """w2 f(w1 x), or w2 (f(w1 x) * g(w3 x))."""
    f, g = GATED.get(v["activation"], (v["activation"], None))
    bias = v["bias.ffn"]
    y = ACTIVATIONS[f](product(w, name + ".w1", x, width, bias))
    if g:
        y = y * ACTIVATIONS[g](product(w, name + ".w3", x, width, bias))
    return product(w, name + ".w2", y, x.shape[-1], v["bias.w2"])


def best(scores, n, w):
    """The columns of the n largest scores of a row, of equal ones the lower;
    w.margin becomes the least distance to those that were left out."""
    order = np.argsort(-scores, kind="stable")
    if n < len(order):
        w.margin = min(w.margin, scores[order[n - 1]] - scores[order[n]])
    return order[:n]


def experts(v, w, name, x):
    count, chosen = v["ffn.experts"], v["ffn.chosen"]
    d_ff, kind = v["d_ff"], v["ffn.softmax"]
    raw = product(w, name + ".router", x, count, v["ffn.router_bias"])
    scores = {"before": softmax, "after": lambda s: s,
              "sigmoid": sigmoid}[kind](raw)
    choice = scores
    if v["ffn.correction"]:
        choice = choice + w(name + ".correction.weight", (count,))
    out = np.zeros_like(x)
    networks = [network(v, w, f"{name}.experts.{e}", x, d_ff)
                for e in range(count)]
    for row in range(len(x)):
        ids = choose_experts(v, w, choice[row])
        weight = scores[row, ids]
        if kind == "after":
            weight = softmax(weight)
        elif v["ffn.normalize"]:
            weight = weight / weight.sum()
        for e, s in zip(ids, weight):
            out[row] += v["ffn.factor"] * s * networks[e][row]
    if v["ffn.shared"]:
        y = network(v, w, name + ".shared", x, v["ffn.shared"])
        if v["ffn.shared_gate"]:
            y = y * sigmoid(product(w, name + ".shared_gate", x, 1, False))
        out = out + y
    return out


def choose_experts(v, w, scores):
    groups = v["ffn.groups"]
    if groups > 1 and v["ffn.groups_chosen"] < groups:
        each = np.sort(scores.reshape(groups, -1), axis=1)
        worth = (each[:, -1] if v["ffn.group_score"] == "max" else
                 each[:, -2:].sum(axis=1))
        kept = best(worth, v["ffn.groups_chosen"], w)
        left = np.full_like(scores, -np.inf).reshape(groups, -1)
        left[kept] = scores.reshape(groups, -1)[kept]
        scores = left.reshape(-1)
    return best(scores, v["ffn.chosen"], w)


def feed_forward(v, w, name, x):
    if v["ffn.type"] == "experts":
        return experts(v, w, name, x)
    return network(v, w, name, x, v["d_ff"])
