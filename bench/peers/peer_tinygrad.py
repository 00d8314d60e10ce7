"""tinygrad, its CPU backend (clang), under TinyJit."""
import os
from importlib import metadata

import numpy as np

import workloads

os.environ["DEV"] = "CPU"
os.environ.setdefault("CC", "clang-19")


def version(work):
    return metadata.version("tinygrad")


def layer_weights(weights, name):
    from tinygrad import Tensor

    def pair(*parts):
        return [Tensor(np.concatenate(
            [weights[f"{name}.{p}.{end}"] for p in parts])).realize()
            for end in ("weight", "bias")]
    return {"qkv": pair("self_attn.q", "self_attn.k", "self_attn.v"),
            "o": pair("self_attn.o"), "w1": pair("ffn.w1"),
            "w2": pair("ffn.w2"), "norm1": pair("norm1"),
            "norm2": pair("norm2")}


def make(work):
    """Of ids [1, n] the rows [1, n, d]."""
    from tinygrad import Tensor, TinyJit
    weights = workloads.weights(work)
    n, d, h = work["lengths"][0], work["d"], work["h"]
    table = d ** 0.5 * weights["source.weight"]
    table = Tensor(table.astype(np.float32)).realize()
    positions = Tensor(workloads.positions(n, d)).realize()
    layers = [layer_weights(weights, f"encoder.{i}")
              for i in range(work["layers"])]

    def linear(x, pair):
        return x @ pair[0].T + pair[1]

    def norm(x, pair):
        return x.layernorm(eps=work["eps"]) * pair[0] + pair[1]

    @TinyJit
    def forward(ids):
        x = table[ids] + positions
        for layer in layers:
            q, k, v = [p.reshape(1, n, h, d // h).transpose(1, 2)
                       for p in linear(x, layer["qkv"]).chunk(3, -1)]
            y = q.scaled_dot_product_attention(k, v).transpose(1, 2)
            x = norm(x + linear(y.reshape(1, n, d), layer["o"]),
                     layer["norm1"])
            y = linear(linear(x, layer["w1"]).relu(), layer["w2"])
            x = norm(x + y, layer["norm2"])
        return x.realize()
    return forward


def prepare(work, variant):
    from tinygrad import Tensor
    forward = make(work)
    ids = Tensor(workloads.sources(work)[0][None]).realize()
    for _ in range(3):
        forward(ids)
    return lambda: forward(ids).numpy(), lambda y: y[0]
