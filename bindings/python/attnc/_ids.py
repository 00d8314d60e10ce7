"""Ids as the C library and wheels of one model take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    Ids = NDArray[np.int32]


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
