"""The decoder of models/llama-110m.yaml and llama-1b.yaml as a PyTorch module:
keys and values of the prompt go in and come out, so that compilers take it."""
import torch
from torch.nn import functional

import workloads
from torch_model import tensor


def turns(n, d):
    """Cosines and sines of rotary positions 0 .. n - 1, for the halves of a
    head."""
    rate = 10000.0 ** (-torch.arange(0, d, 2) / d)
    angle = torch.arange(n)[:, None] * rate
    return (torch.cat([f(angle)] * 2, -1) for f in (torch.cos, torch.sin))


class Layer(torch.nn.Module):
    def __init__(self, work, weights, name):
        super().__init__()
        self.heads = work["h"], work.get("h_kv", work["h"])
        self.d, self.eps = work["d"] // work["h"], 1e-5

        def buffer(own, *parts):
            self.register_buffer(own, torch.cat(
                [tensor(weights[f"{name}.{p}.weight"]) for p in parts]))
        buffer("qkv", *[f"self_attn.{p}" for p in "qkv"])
        buffer("o", "self_attn.o")
        buffer("gate", "ffn.w1", "ffn.w3")
        buffer("down", "ffn.w2")
        buffer("norm1", "norm1")
        buffer("norm2", "norm2")

    def norm(self, x, by):
        return functional.rms_norm(x, by.shape, by, self.eps)

    def turned(self, x, cos, sin):
        low, high = x.chunk(2, -1)
        return x * cos + torch.cat([-high, low], -1) * sin

    def forward(self, x, cos, sin, past):
        n = x.shape[0]
        h, h_kv = self.heads
        parts = functional.linear(self.norm(x, self.norm1), self.qkv)
        q, k, v = [p.view(1, n, -1, self.d).transpose(1, 2) for p in
                   parts.split([s * self.d for s in (h, h_kv, h_kv)], -1)]
        q, k = self.turned(q, cos, sin), self.turned(k, cos, sin)
        if past is not None:     # one row, which sees all
            k, v = [torch.cat(pair, 2) for pair in zip(past, (k, v))]
        heads = functional.scaled_dot_product_attention(
            q, k, v, is_causal=past is None, enable_gqa=h != h_kv)
        x = x + functional.linear(
            heads.transpose(1, 2).reshape(n, h * self.d), self.o)
        gate, up = functional.linear(self.norm(x, self.norm2),
                                     self.gate).chunk(2, -1)
        return x + functional.linear(functional.silu(gate) * up,
                                     self.down), k, v


class Decoder(torch.nn.Module):
    """ids [n], and keys and values of each layer in turn, or none: to the
    logits of the last row, and all keys and values."""

    def __init__(self, work, weights):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            [Layer(work, weights, f"decoder.{i}")
             for i in range(work["layers"])])
        self.register_buffer("table", tensor(weights["target.weight"]))
        self.register_buffer("norm", tensor(weights["decoder.norm.weight"]))
        cos, sin = turns(work["prompt"] + work["steps"],
                         work["d"] // work["h"])
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)

    def forward(self, ids, *past):
        at = past[0].shape[2] if past else 0
        turn = [t[at:at + ids.shape[0]] for t in (self.cos, self.sin)]
        x, kept = functional.embedding(ids, self.table), []
        for i, layer in enumerate(self.layers):
            x, k, v = layer(x, *turn, past[2 * i:2 * i + 2] or None)
            kept += [k, v]
        last = functional.rms_norm(x[-1:], self.norm.shape, self.norm, 1e-5)
        return (functional.linear(last, self.table)[0], *kept)


def inputs(work):
    """The decoder, ids of the prompt, and those of the steps."""
    model = Decoder(work, workloads.weights(work)).eval().requires_grad_(False)
    ids = torch.from_numpy(workloads.prompt(work).astype("int64"))
    return model, ids[:work["prompt"]], ids[work["prompt"]:]
