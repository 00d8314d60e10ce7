"""Specs and weights of modules of PyTorch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

MAX_LEN = 1 << 20  # the largest of a spec; memory depends on the call


def _linear(name: str, weight: Tensor, bias: Tensor | None) -> dict[
        str, Tensor]:
    """Returns the two tensors of a product; without a bias it has zeros."""
    if bias is None:
        bias = torch.zeros(len(weight))
    return {name + ".weight": weight.detach(), name + ".bias": bias.detach()}


def _product(name: str, layer: Any, kind: Any = nn.Linear) -> dict[
        str, Tensor]:
    if type(layer) is not kind:
        raise TypeError(f"{name} must be nn.Linear, not "
                        f"{torch.typename(layer)}: merge adapters into the "
                        f"weights first, and quantize by replace(module, "
                        f'dtype="int8")')
    return _linear(name, layer.weight, layer.bias)


def _norm(name: str, norm: Any, d: int) -> dict[str, Tensor]:
    if type(norm) is not nn.LayerNorm or tuple(norm.normalized_shape) != (d,):
        raise ValueError(f"{name} must be nn.LayerNorm({d}), not {norm}")
    weight = torch.ones(d) if norm.weight is None else norm.weight
    return _linear(name, weight, norm.bias)


def projections(name: str, a: nn.MultiheadAttention) -> dict[str, Tensor]:
    if type(a) is not nn.MultiheadAttention:
        raise TypeError(f"{name[:-1]} must be nn.MultiheadAttention, not "
                        f"{torch.typename(a)}")
    if a.in_proj_weight is None or a.bias_k is not None or a.add_zero_attn:
        raise ValueError("attention with kdim, vdim, add_bias_kv or "
                         "add_zero_attn is not supported")
    found = _product(name + "o", a.out_proj,
                     nn.modules.linear.NonDynamicallyQuantizableLinear)
    biases = (None,) * 3 if a.in_proj_bias is None else a.in_proj_bias.chunk(3)
    for part, weight, bias in zip("qkv", a.in_proj_weight.chunk(3), biases):
        found |= _linear(name + part, weight, bias)
    return found


def _activation(f: Any) -> str:
    if f is functional.relu or f is torch.relu or isinstance(f, nn.ReLU):
        return "relu"
    if f is functional.gelu:
        return "gelu"
    if isinstance(f, nn.GELU):
        return "gelu_tanh" if f.approximate == "tanh" else "gelu"
    if f is functional.silu or isinstance(f, nn.SiLU):
        return "silu"
    raise ValueError(f"activation {f} is not supported: relu, gelu and silu "
                     f"are")


def encoder_of(layers: list[Any], norm: Any) -> tuple[str, dict[str, Tensor]]:
    """Returns the spec of an encoder, without masking, and its weights."""
    d = layers[0].self_attn.embed_dim
    found = _linear("source.input_projection", torch.eye(d), None)
    rows = []
    for i, layer in enumerate(layers):
        if type(layer) is not nn.TransformerEncoderLayer:
            raise TypeError(f"layer {i} must be nn.TransformerEncoderLayer, "
                            f"not {type(layer).__name__}")
        if layer.norm1.eps != layer.norm2.eps:
            raise ValueError(f"layer {i}: eps of norm1 and norm2 differ")
        at = f"encoder.{i}."
        found |= projections(at + "self_attn.", layer.self_attn)
        for name, product in (("w1", layer.linear1), ("w2", layer.linear2)):
            found |= _product(at + "ffn." + name, product)
        found |= _norm(at + "norm1", layer.norm1, d)
        found |= _norm(at + "norm2", layer.norm2, d)
        place = "pre" if layer.norm_first else "post"
        rows.append(f"  - {{h: {layer.self_attn.num_heads}, "
                    f"d_ff: {layer.linear1.out_features}, "
                    f"norm.place: {place}, norm.eps: {layer.norm1.eps:.17g}, "
                    f"activation: {_activation(layer.activation)}}}\n")
    if norm is not None:
        found |= _norm("encoder.norm", norm, d)
    eps = layers[0].norm1.eps if norm is None else norm.eps
    final = "false" if norm is None else "true"
    return (f"attnc: 1\nname: torch\nkind: encoder\nd_model: {d}\n"
            f"N: {len(layers)}\nmax_len: {MAX_LEN}\npositions: none\n"
            f"input: {{type: real, width: {d}}}\nhead: {{type: rows}}\n"
            f"norm: {{final: {final}, eps: {eps:.17g}}}\n"
            f"layers:\n{''.join(rows)}"), found


def save(path: Path, tensors: dict[str, Tensor]) -> None:
    """Writes a .safetensors file."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        end = at + 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor.numpy()).data)
