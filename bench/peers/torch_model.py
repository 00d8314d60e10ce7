"""The encoder as PyTorch modules."""
import numpy as np
import torch
from torch.nn import functional

import workloads


def tensor(array):
    return torch.from_numpy(np.array(array))


def fill_layer(layer, weights, name):
    """nn.TransformerEncoderLayer from attnc's names."""
    qkv = [f"{name}.self_attn.{p}" for p in "qkv"]
    layer.self_attn.in_proj_weight.data = torch.cat(
        [tensor(weights[n + ".weight"]) for n in qkv])
    layer.self_attn.in_proj_bias.data = torch.cat(
        [tensor(weights[n + ".bias"]) for n in qkv])
    for module, part in ((layer.self_attn.out_proj, "self_attn.o"),
                         (layer.linear1, "ffn.w1"), (layer.linear2, "ffn.w2"),
                         (layer.norm1, "norm1"), (layer.norm2, "norm2")):
        module.weight.data = tensor(weights[f"{name}.{part}.weight"])
        module.bias.data = tensor(weights[f"{name}.{part}.bias"])


def layers(work, weights):
    """PyTorch's own encoder, whose fast path takes nested tensors."""
    layer = torch.nn.TransformerEncoderLayer(
        work["d"], work["h"], work["ff"], 0.0, "relu", batch_first=True,
        layer_norm_eps=work["eps"])
    encoder = torch.nn.TransformerEncoder(layer, work["layers"],
                                          enable_nested_tensor=True)
    for i, layer in enumerate(encoder.layers):
        fill_layer(layer, weights, f"encoder.{i}")
    return encoder


class Embedding(torch.nn.Module):
    """The scaled row of each token, and its position."""

    def __init__(self, work, weights):
        super().__init__()
        d = work["d"]
        table = d ** 0.5 * weights["source.weight"]
        self.register_buffer("table", tensor(table.astype(np.float32)))
        self.register_buffer("positions", tensor(
            workloads.positions(max(work["lengths"]), d)))

    def forward(self, ids):
        return functional.embedding(ids, self.table) + self.positions


class LearnedEmbedding(torch.nn.Module):
    """BERT's: rows of the token, of its place and of type 0, normed."""

    def __init__(self, work, weights):
        super().__init__()
        self.register_buffer("table", tensor(weights["source.weight"]))
        self.register_buffer("positions", tensor(
            weights["source_positions.weight"] + weights["types.weight"][0]))
        self.norm = torch.nn.LayerNorm(work["d"], work["eps"])
        self.norm.weight.data = tensor(
            weights["encoder.embedding_norm.weight"])
        self.norm.bias.data = tensor(weights["encoder.embedding_norm.bias"])

    def forward(self, ids):
        rows = functional.embedding(ids, self.table)
        return self.norm(rows + self.positions[:ids.shape[1]])


class Nested(torch.nn.Module):
    """ids, and padding: True where a token is none, or None."""

    def __init__(self, work, weights):
        super().__init__()
        self.embed = Embedding(work, weights)
        self.encoder = layers(work, weights)

    def forward(self, ids, padding):
        return self.encoder(self.embed(ids), src_key_padding_mask=padding)


class Encoder(torch.nn.Module):
    """The same by scaled_dot_product_attention, which compilers take. mask is
    added to the scores, or None."""

    def __init__(self, work, weights, embedding=Embedding):
        super().__init__()
        self.h = work["h"]
        self.activation = torch.relu
        self.embed = embedding(work, weights)
        self.layers = layers(work, weights).layers

    def attend(self, attention, x, mask):
        b, n, d = x.shape
        parts = functional.linear(x, attention.in_proj_weight,
                                  attention.in_proj_bias).chunk(3, -1)
        q, k, v = [p.view(b, n, self.h, d // self.h).transpose(1, 2)
                   for p in parts]
        heads = functional.scaled_dot_product_attention(q, k, v,
                                                        attn_mask=mask)
        return attention.out_proj(heads.transpose(1, 2).reshape(b, n, d))

    def forward(self, ids, mask=None):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer.norm1(x + self.attend(layer.self_attn, x, mask))
            y = layer.linear2(self.activation(layer.linear1(x)))
            x = layer.norm2(x + y)
        return x


class Sentence(Encoder):
    """ids of one text to its embedding: BERT's forms, the mean of the rows, of
    length 1."""

    def __init__(self, work, weights):
        super().__init__(work, weights, LearnedEmbedding)
        self.activation = functional.gelu

    def forward(self, ids, mask=None):
        return functional.normalize(super().forward(ids, mask).mean(1))


def compiled_form(work, weights):
    """What compilers take, for the workload's kind."""
    form = Sentence if work["kind"] == "embed" else Encoder
    return form(work, weights).eval()
