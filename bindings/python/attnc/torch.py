"""Encoders and attention of PyTorch that attnc computes: replace().

    fast = attnc.torch.replace(encoder.eval(), threads=2)
    with torch.no_grad():
        y = fast(x, src_key_padding_mask=padding)

This module needs torch, the package attnc does not.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnc._torch_spec import MAX_LEN, encoder_of, projections, save
from attnc.model import Model, load


def replace(module: nn.Module, **options: Any) -> nn.Module:
    """Returns a module with the same forward() as `module`.

    module: an nn.TransformerEncoder, nn.TransformerEncoderLayer or
        nn.MultiheadAttention in float32 on the CPU, in evaluation mode. Its
        weights are copied.
    options: those of attnc.load(), such as threads=2, dtype="int8"

    The new module computes no gradients. It takes causal masks and padding
    masks; in its result, rows that are padding are zeros.
    """
    if type(module) not in (nn.TransformerEncoder, nn.TransformerEncoderLayer,
                            nn.MultiheadAttention):
        raise TypeError(f"replace() takes nn.TransformerEncoder, "
                        f"nn.TransformerEncoderLayer and "
                        f"nn.MultiheadAttention, not {torch.typename(module)}")
    for name, tensor in module.named_parameters():
        if tensor.dtype != torch.float32 or tensor.device.type != "cpu":
            raise TypeError(f"{name} must be float32 on the CPU, not "
                            f"{tensor.dtype} on {tensor.device}: "
                            f"module.float().cpu() converts a module")
    for name, part in module.named_modules():
        rate = part.p if isinstance(part, nn.Dropout) else (
            part.dropout if isinstance(part, nn.MultiheadAttention) else 0)
        if part.training and rate:
            raise ValueError("the module is in training mode, and attnc has "
                             "no dropout: call module.eval() first")
        if part._forward_hooks or part._forward_pre_hooks or (
                "forward" in vars(part)):
            raise ValueError(f"{name or 'the module'} has hooks of forward() "
                             f"or another forward(), and attnc only reads "
                             f"weights: remove them first")
    if isinstance(module, nn.TransformerEncoder):
        return _Encoder(list(module.layers), module.norm, options)
    if isinstance(module, nn.TransformerEncoderLayer):
        return _Layer([module], None, options)
    assert isinstance(module, nn.MultiheadAttention)
    return _Attention(module, options)


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # not in the child of a fork
        shutil.rmtree(folder, ignore_errors=True)


# ---- modules ----

class _Replaced(nn.Module):
    """A module without parameters. Its weights are a file, which exists as
    long as the module, because a model that is opened again reads it.
    """

    def __init__(self, spec: str, tensors: dict[str, Tensor],
                 options: dict[str, Any]) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="attnc-"))
        self._finalizer = weakref.finalize(self, _remove, str(self._folder),
                                           os.getpid())
        save(self._folder / "torch.safetensors", tensors)
        self._spec, self._options = spec, options
        self._models: dict[bool, Model] = {}
        self._lock = threading.Lock()
        self.model(False)

    def model(self, causal: bool) -> Model:
        """Returns the model with or without a causal mask."""
        with self._lock:
            if causal not in self._models:
                mask = "causal" if causal else "none"
                self._models[causal] = load(
                    self._folder / "torch.yaml",
                    spec=f"{self._spec}masking: {mask}\n"
                    "weights: torch.safetensors\n", **self._options)
            return self._models[causal]

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a replaced module is not pickled or copied: do that "
                        "with the module of PyTorch, and replace it again")


def _checked(name: str, x: Tensor) -> Tensor:
    if x.requires_grad and torch.is_grad_enabled():
        raise RuntimeError(f"{name} requires a gradient, and attnc computes "
                           f"none: call it under torch.no_grad(), or give "
                           f"{name}.detach()")
    if x.dtype != torch.float32 or x.device.type != "cpu" or x.is_nested or (
            x.layout != torch.strided):
        raise TypeError(f"{name} must be a dense tensor of float32 on the "
                        f"CPU, not {x.dtype} on {x.device}")
    return x.detach()


def _allowed(name: str, mask: Tensor) -> Tensor:
    """Returns where a mask, bool or float, allows attention."""
    if mask.dtype == torch.bool:
        return ~mask
    if not bool(((mask == 0) | (mask == -torch.inf)).all()):
        raise ValueError(f"{name} may only have the numbers 0 and -inf")
    return mask == 0


def _causal(mask: Tensor | None, hint: bool | None, n: int, keys: int) -> bool:
    """Returns true for a causal mask, false for none."""
    if mask is None:
        if hint:
            raise ValueError("is_causal needs a mask: it only tells that the "
                             "mask is causal")
        return False
    allowed = _allowed("the mask", mask)
    if allowed.shape == (n, keys):
        if bool(allowed.all()):
            return False
        if bool((allowed == torch.ones(n, keys, dtype=torch.bool).tril()
                 ).all()):
            return True
    raise ValueError(f"the mask, {list(mask.shape)}, is not a causal one of "
                     f"[{n}, {keys}]; attnc takes causal masks, and padding "
                     f"as a key padding mask")


def _kept(name: str, padding: Tensor | None, shape: tuple[int, int],
          batched: bool) -> Tensor | None:
    """Returns where rows are no padding, [batch, rows]."""
    if padding is None:
        return None
    keep = _allowed(name, padding)
    keep = keep if batched else keep[None]
    if keep.shape != shape:
        raise ValueError(f"{name} must have the shape "
                         f"{list(shape) if batched else [shape[1]]}, not "
                         f"{list(padding.shape)}")
    return keep


class _Stack(_Replaced):
    def __init__(self, layers: list[Any], norm: Any,
                 options: dict[str, Any]) -> None:
        if not layers:
            raise ValueError("the encoder has no layers")
        attention = layers[0].self_attn
        self.batch_first: bool = attention.batch_first
        self.d_model: int = attention.embed_dim
        super().__init__(*encoder_of(layers, norm), options)

    def _rows(self, src: Tensor, mask: Tensor | None, padding: Tensor | None,
              hint: bool | None) -> Tensor:
        x = _checked("src", src)
        if x.dim() not in (2, 3) or x.shape[-1] != self.d_model:
            raise ValueError(f"src must have 2 or 3 dimensions, the last "
                             f"{self.d_model}, not {list(src.shape)}")
        turn = x.dim() == 3 and not self.batch_first
        x = x.transpose(0, 1) if turn else x
        x = x if x.dim() == 3 else x[None]
        n, rows = x.shape[:2]
        keep = _kept("src_key_padding_mask", padding, (n, rows),
                     src.dim() == 3)
        model = self.model(_causal(mask, hint, rows, rows))
        y = torch.zeros(x.shape)
        if keep is None:
            keep = torch.ones(n, rows, dtype=torch.bool)
        counts = [int(count) for count in keep.sum(1) if count]
        if counts:
            found = model.encode_rows(list(np.split(
                x[keep].numpy(), np.cumsum(counts[:-1]))), len(counts))
            y[keep] = torch.from_numpy(np.concatenate(found))
        y = y if src.dim() == 3 else y[0]
        return y.transpose(0, 1) if turn else y


class _Encoder(_Stack):
    def forward(self, src: Tensor, mask: Tensor | None = None,
                src_key_padding_mask: Tensor | None = None,
                is_causal: bool | None = None) -> Tensor:
        return self._rows(src, mask, src_key_padding_mask, is_causal)


class _Layer(_Stack):
    def forward(self, src: Tensor, src_mask: Tensor | None = None,
                src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:
        return self._rows(src, src_mask, src_key_padding_mask, is_causal)


class _Attention(_Replaced):
    def __init__(self, module: nn.MultiheadAttention,
                 options: dict[str, Any]) -> None:
        self.batch_first: bool = module.batch_first
        self.d_model: int = module.embed_dim
        super().__init__(
            f"attnc: 1\nname: torch\nkind: attention\n"
            f"d_model: {module.embed_dim}\nh: {module.num_heads}\n"
            f"max_len: {MAX_LEN}\n", projections("", module), options)

    def forward(self, query: Tensor, key: Tensor, value: Tensor,
                key_padding_mask: Tensor | None = None,
                need_weights: bool = True, attn_mask: Tensor | None = None,
                average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, None]:
        if need_weights:
            raise ValueError("attnc returns no weights of attention: give "
                             "need_weights=False")
        shapes = [list(x.shape) for x in (query, key, value)]
        batched, batch = query.dim() == 3, 0 if self.batch_first else 1
        if query.dim() not in (2, 3) or any(
                len(one) != query.dim() or one[-1] != self.d_model or (
                    batched and one[batch] != shapes[0][batch])
                for one in shapes) or shapes[1] != shapes[2]:
            raise ValueError(f"query, key and value must have 2 or 3 "
                             f"dimensions, the last {self.d_model}, and the "
                             f"same batch size, and key the shape of value, "
                             f"not {shapes}")
        q, k, v = (_checked(name, x) for name, x in (
            ("query", query), ("key", key), ("value", value)))
        turn = batched and not self.batch_first
        if turn:
            q, k, v = (x.transpose(0, 1) for x in (q, k, v))
        q, k, v = (x if batched else x[None] for x in (q, k, v))
        keep = _kept("key_padding_mask", key_padding_mask,
                     (len(k), k.shape[1]), batched)
        causal = _causal(attn_mask, is_causal, q.shape[1], k.shape[1])
        if causal and keep is not None:
            raise ValueError("attention takes a causal mask or padding, not "
                             "both")
        model = self.model(causal)
        y = torch.zeros(q.shape)
        for i in range(len(q)):
            at = slice(None) if keep is None else keep[i]
            if keep is not None and not bool(keep[i].any()):
                continue  # zeros
            y[i] = torch.from_numpy(model.attend(
                q[i].numpy(), k[i][at].numpy(), v[i][at].numpy()))
        y = y if batched else y[0]
        return y.transpose(0, 1) if turn else y, None
