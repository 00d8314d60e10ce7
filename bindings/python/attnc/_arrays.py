"""Texts, ids and rows as the C library takes them."""

from __future__ import annotations

from ctypes import Array, c_char_p, c_int64
from typing import Any, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Rows = NDArray[np.float32]
_TINY = np.finfo(np.float32).tiny


def texts_of(texts: str | Iterable[str]) -> tuple[list[bytes], bool]:
    """Returns texts in UTF-8, and True if there was one that is no list."""
    if isinstance(texts, str):
        return [texts.encode()], True
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"give a str or a list of str, not "
                        f"{type(texts).__name__}")
    found = []
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {i} must be str, not {type(text).__name__}")
        found.append(text.encode())
    return found, False


class Texts:
    """Texts with their sizes, so that they may contain NUL."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        n = len(texts)
        self.at: Array[c_char_p] = (c_char_p * n)(*texts)  # keeps the texts
        self.bytes: Array[c_int64] = (c_int64 * n)(*map(len, texts))


def array_of(values: Any) -> NDArray[Any]:
    """Returns an array, without a copy if another library lends its memory."""
    if not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
        return np.from_dlpack(values)
    return np.asarray(values)


def ids_of(ids: Any, name: str = "ids") -> Ids:
    """Returns one sequence of ids, contiguous."""
    a = array_of(ids)
    if a.ndim != 1:
        raise TypeError(f"{name} must have 1 dimension, not {a.ndim}")
    if a.dtype == np.int32 or a.size == 0:
        return np.ascontiguousarray(a, np.int32)
    if a.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {a.dtype}")
    if a.min() < -2**31 or a.max() >= 2**31:
        raise OverflowError(f"{name} must fit 32 bits")
    return np.ascontiguousarray(a, np.int32)


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
    if is_array(values):
        a = array_of(values)
        single = a.ndim == dimensions
        return [a] if single else list(a), single
    if values is None or isinstance(values, (str, bytes)):
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


def normalized(rows: Rows) -> Rows:
    """Returns rows of length 1; a row of zeros stays."""
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    unit: Rows = rows / np.maximum(length, _TINY)[:, None]
    return unit


def similarity(a: Any, b: Any) -> Rows:
    """Returns the cosines [n, m] of rows a [n, columns] and b [m, columns].

    One row, [columns], counts as [1, columns].
    """
    one, other = (normalized(np.atleast_2d(array_of(x)).astype(
        np.float32, copy=False)) for x in (a, b))
    cosines: Rows = one @ other.T
    return cosines
