"""Compares the reference's own parts with torch's, in double precision."""
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from attention import attend, mask
from fields import View
from mixing import CELLS, convolution, run, taps
from parts import ACTIVATIONS, norm
from weights import Weights

torch.set_default_dtype(torch.float64)
torch.manual_seed(1)
BASE = {"kind": "encoder", "d_model": 6, "h": 2, "d_ff": 8, "N": 1,
        "max_len": 20, "vocab.size": 9}
ROWS = torch.randn(11, 6)


def view(**more):
    return View({**BASE, **{k.replace("__", "."): x
                            for k, x in more.items()}}, "encoder")


def of_module(module, names):
    """Weights under the reference's names."""
    w = Weights({}, 1)
    for name, at in names.items():
        x = getattr(module, at).detach().numpy()
        if x.ndim == 3:
            x = x.reshape(len(x), -1)
        w.made[name] = w.used[name] = x
    return w


def recurrences():
    for cell, make in (("simple", nn.RNN), ("gru", nn.GRU),
                       ("lstm", nn.LSTM)):
        module = make(6, 5)
        w = of_module(module, {
            "input.weight": "weight_ih_l0", "input.bias": "bias_ih_l0",
            "hidden.weight": "weight_hh_l0", "hidden.bias": "bias_hh_l0"})
        out, left = run(view(mix__cell=cell), w, "", ROWS.numpy(), 5)
        want, last = module(ROWS)
        yield cell, want, out
        last = last if cell == "lstm" else (last,)
        for part, x in zip(last, left):
            yield cell + ", the last state", part[0], x
        assert len(left) == CELLS[cell][2]


def convolutions():
    for kernel, dilation in ((3, 1), (5, 2)):
        module = nn.Conv1d(6, 6, kernel, dilation=dilation, padding="same")
        w = of_module(module, {"w1.weight": "weight", "w1.bias": "bias"})
        out = convolution(view(mix__kernel=kernel, mix__dilation=dilation),
                          w, "", ROWS.numpy())
        yield f"convolution {kernel}, {dilation}", module(ROWS.T).T, out
        module = nn.Conv1d(6, 6, kernel, dilation=dilation, padding="same",
                           groups=6)
        w = of_module(module, {"depthwise1.weight": "weight",
                               "depthwise1.bias": "bias"})
        out = convolution(view(mix__kernel=kernel, mix__dilation=dilation,
                               mix__depthwise=True), w, "", ROWS.numpy())
        yield f"depthwise {kernel}, {dilation}", module(ROWS.T).T, out
    module = nn.Conv1d(6, 4, 3, stride=2, padding=1)
    weight = module.weight.detach().numpy().reshape(4, -1)
    out = taps(ROWS.numpy()[:10], 3, 1, 1, 2, 5) @ weight.T
    yield "stride", module(ROWS[:10].T).T, out + module.bias.detach().numpy()


def heads(h, rows, width):
    return torch.randn(h, rows, width)


def attentions():
    for h, h_kv in ((4, 4), (4, 2), (6, 1)):
        q, k, v = heads(h, 7, 5), heads(h_kv, 9, 5), heads(h_kv, 9, 3)
        seen = mask(["causal", {"window": 4}], 7, 9)
        want = F.scaled_dot_product_attention(
            q[None], k[None], v[None], attn_mask=torch.tensor(seen),
            enable_gqa=True)[0]
        out = attend(view(h=h, h_kv=h_kv, d_k=5), Weights({}, 1), "",
                     q.numpy(), k.numpy(), v.numpy(), seen)
        yield f"attention {h}, {h_kv}", want.transpose(0, 1).reshape(7, -1), \
            out


def norms():
    for kind, make in (("layer", nn.LayerNorm), ("rms", nn.RMSNorm)):
        module = make(6, eps=1e-3)
        nn.init.normal_(module.weight)
        names = {"n.weight": "weight"}
        if kind == "layer":
            nn.init.normal_(module.bias)
            names["n.bias"] = "bias"
        out = norm(view(norm__type=kind, norm__eps=1e-3),
                   of_module(module, names), "n", ROWS.numpy())
        yield kind, module(ROWS), out


def activations():
    x = torch.linspace(-9, 9, 101)
    for name, f in (("relu", F.relu), ("gelu", F.gelu), ("silu", F.silu),
                    ("gelu_tanh", lambda y: F.gelu(y, approximate="tanh")),
                    ("sigmoid", torch.sigmoid), ("tanh", torch.tanh)):
        yield name, f(x), ACTIVATIONS[name](x.numpy())


def main():
    failed = 0
    for part in (recurrences, convolutions, attentions, norms, activations):
        for name, want, got in part():
            error = np.abs(want.detach().numpy() - got).max()
            good = error < 1e-12
            failed += not good
            print(f"{'ok' if good else 'FAILED':6} {error:8.1e}  "
                  f"{part.__name__}: {name}")
    sys.exit(failed > 0)


main()
