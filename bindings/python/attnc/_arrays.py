"""Texts, ids and rows as the C library takes them."""

from __future__ import annotations

from ctypes import Array, c_char_p, c_int64
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

import numpy as np

from attnc._ids import array_of as array_of
from attnc._ids import ids_of as ids_of
from attnc._options import utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnc._ids import Ids as Ids
    Rows = NDArray[np.float32]
_TINY = np.finfo(np.float64).tiny


def texts_of(texts: str | Iterable[str]) -> tuple[list[bytes], bool]:
    """Returns texts in UTF-8, and True if there was one that is no list."""
    if isinstance(texts, str):
        return [utf8("text", texts)], True
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"give a str or a list of str, not "
                        f"{type(texts).__name__}")
    return [utf8(f"text {i}", text) for i, text in enumerate(texts)], False


class Texts:
    """Texts with their sizes, so that they may contain NUL."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        n = len(texts)
        self.at: Array[c_char_p] = (c_char_p * n)(*texts)  # keeps the texts
        self.bytes: Array[c_int64] = (c_int64 * n)(*map(len, texts))


def rows_of(rows: Any, width: int, name: str = "rows") -> Rows:
    """Returns rows of `width` floats, contiguous."""
    a = array_of(rows)
    if a.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be floats, not {a.dtype}")
    if a.ndim != 2 or a.shape[1] != width:
        raise TypeError(f"{name} must have the shape (n, {width}), not "
                        f"{a.shape}")
    return np.ascontiguousarray(a, np.float32)


def is_array(values: Any) -> bool:
    return hasattr(values, "__array__") or hasattr(values, "__dlpack__")


def sequences_of(values: Any, dimensions: int) -> tuple[Sequence[Any], bool]:
    """Returns sequences, and True if there was one that is no list.

    dimensions: of one sequence
    """
    if is_array(values) and (a := array_of(values)).ndim:
        single = a.ndim == dimensions
        return [a] if single else list(a), single
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"give a sequence or a list of sequences of numbers, "
                        f"not {type(values).__name__}")
    values = list(values)
    deep, one = 0, values
    while isinstance(one, (list, tuple)) or is_array(one):
        if is_array(one):
            deep += array_of(one).ndim
            break
        deep += 1
        if not one:
            break
        one = one[0]
    single = bool(values) and deep == dimensions
    return [values] if single else values, single


def joined(parts: Sequence[NDArray[Any]], empty: NDArray[Any]) -> tuple[
        NDArray[Any], NDArray[np.int64]]:
    """Returns all parts in one array, and where each begins."""
    start = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=start[1:])
    if len(parts) == 1:
        return parts[0], start
    return np.concatenate(parts) if len(parts) else empty, start


def safetensors(arrays: Mapping[str, Any]) -> bytes:
    """Returns arrays as the bytes of a .safetensors file, in float32."""
    import json
    header, parts, at = {}, [], 0
    for name, values in arrays.items():
        a = np.ascontiguousarray(array_of(values), np.float32)
        header[name] = {"dtype": "F32", "shape": list(a.shape),
                        "data_offsets": [at, at + a.nbytes]}
        parts.append(a.tobytes())
        at += a.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def tensors(rows: Any) -> Any:
    """Returns tensors of PyTorch, which share the memory of rows."""
    import torch
    if isinstance(rows, list):
        return [torch.from_numpy(one) for one in rows]
    return torch.from_numpy(rows)


def normalized(rows: Rows) -> Rows:
    """Returns rows of length 1; a row of zeros stays."""
    # The square of a float32 may be 0 or infinite, but not as a float64.
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    unit: Rows = (rows / np.maximum(length, _TINY)[:, None]).astype(np.float32)
    return unit


def maxsim(query: Any, document: Any) -> float:
    """Returns the sum, over the rows of a query, of the largest product with a
    row of a document: the score of late interaction.

    query, document: [rows, columns], as encode() of such a model gives them
    """
    q, d = (array_of(x).astype(np.float32, copy=False)
            for x in (query, document))
    return float((q @ d.T).max(axis=1).sum()) if len(q) and len(d) else 0.0


def similarity(a: Any, b: Any) -> Rows:
    """Returns the cosines [n, m] of rows a [n, columns] and b [m, columns].

    One row, [columns], counts as [1, columns].
    """
    one, other = (np.atleast_2d(array_of(x)).astype(np.float32, copy=False)
                  for x in (a, b))
    if one.ndim != 2 or other.ndim != 2 or one.shape[1] != other.shape[1]:
        raise ValueError(f"rows must have the same number of columns, not the "
                         f"shapes {one.shape} and {other.shape}")
    cosines: Rows = normalized(one) @ normalized(other).T
    return cosines
