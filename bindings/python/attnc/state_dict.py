"""Tensors of the files that PyTorch writes, without running their pickles.

    python -m attnc.state_dict sparse_linear.pt sparse_linear.safetensors

A file of torch.save() is a zip of a pickle and of the tensors' numbers. A
pickle is a program, which can call any function when it is loaded. This reader
knows the few instructions that describe a dict of dense tensors of floats,
calls nothing, and refuses all others by name.
"""

from __future__ import annotations

import json
import math
import os
import pickletools
import sys
import zipfile
from typing import TYPE_CHECKING, Any, BinaryIO, Callable, Iterator, NamedTuple

import numpy as np

from attnc._arrays import safetensors
from attnc.errors import FileError, InputError, Message

if TYPE_CHECKING:
    from attnc._arrays import Rows

_TYPES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2",
          "BFloat16Storage": "<u2"}
_SAFE = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "BF16": "<u2"}
_KNOWN = ("collections OrderedDict", "torch._utils _rebuild_tensor_v2",
          *(f"torch {name}" for name in _TYPES))
_MOST_PICKLE = 1 << 20  # bytes; a pickle has about 100 per tensor


class _Name(str):
    """A function or class that the pickle names."""


class _Storage(NamedTuple):
    type: str
    key: str


class _Tensor(NamedTuple):
    storage: _Storage
    first: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _is_count(x: Any) -> bool:
    return type(x) is int and x >= 0


def _are_counts(values: Any) -> bool:
    return isinstance(values, tuple) and all(map(_is_count, values))


def _shown(name: str) -> str:
    """Returns a name of the file as one line of a message."""
    return repr(name[:80])[1:-1]


# Values of a pickle may be nested so that their text or hash takes hours: only
# those of a known type may be printed, compared or used as keys.
def _called(name: Any, given: Any) -> Any:
    if not isinstance(name, _Name) or not isinstance(given, tuple):
        raise ValueError("it calls what is no function")
    if name == "collections OrderedDict" and not given:
        return {}
    if name == "torch._utils _rebuild_tensor_v2" and len(given) >= 4:
        storage, first, shape, strides = given[:4]
        if not isinstance(storage, _Storage):
            raise ValueError("a tensor has no storage")
        return _Tensor(storage, first, shape, strides)
    raise ValueError(f"it calls {_shown(name)}")


class _Pickle:
    """The value of a pickle, as dicts, tuples and _Tensor."""

    def __init__(self, data: bytes) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        for code, argument, _ in pickletools.genops(data):
            act = _INSTRUCTIONS.get(code.name)
            if act is None:
                raise ValueError(f"it has the instruction {code.name}")
            act(self, argument)

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def since_mark(self) -> list[Any]:
        at = self.marks.pop()
        found = self.stack[at:]
        del self.stack[at:]
        return found

    def mark(self, _: Any) -> None:
        self.marks.append(len(self.stack))

    def put(self, i: int) -> None:
        self.memo[i] = self.stack[-1]

    def get(self, i: int) -> None:
        self.push(self.memo[i])

    def tuple_of(self, n: int) -> None:
        if len(self.stack) < n:
            raise ValueError("its stack has too few values")
        found = (*self.stack[-n:],)
        del self.stack[-n:]
        self.push(found)

    def name(self, name: str) -> None:
        if name not in _KNOWN:
            raise ValueError(f"it names {_shown(name)}")
        self.push(_Name(name))

    def storage(self, _: Any) -> None:
        found = self.stack.pop()
        if not isinstance(found, tuple) or len(found) < 3:
            raise ValueError("it has a persistent id that is no storage")
        kind, name, key = found[:3]
        if kind != "storage" or not (isinstance(name, _Name)
                                     and isinstance(key, str)):
            raise ValueError("it has a persistent id that is no storage")
        self.push(_Storage(name.rpartition(" ")[2], key))

    def reduce(self, _: Any) -> None:
        given, name = self.stack.pop(), self.stack.pop()
        self.push(_called(name, given))

    def set(self, pairs: list[Any]) -> None:
        """Adds keys and values, in turn, to the dict on the stack."""
        to = self.stack[-1]
        if not isinstance(to, dict) or len(pairs) % 2:
            raise ValueError("it sets items of what is no dict")
        for key, value in zip(pairs[::2], pairs[1::2]):
            if type(key) is not str:
                raise ValueError("it has a key that is no text")
            to[key] = value

    def set_one(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.set([key, value])


_INSTRUCTIONS: dict[str, Callable[[_Pickle, Any], Any]] = {
    "PROTO": lambda p, _: None,
    "STOP": lambda p, _: None,
    "MARK": _Pickle.mark,
    "BINPUT": _Pickle.put,
    "LONG_BINPUT": _Pickle.put,
    "BINGET": _Pickle.get,
    "LONG_BINGET": _Pickle.get,
    "BINUNICODE": _Pickle.push,
    "BININT": _Pickle.push,
    "BININT1": _Pickle.push,
    "BININT2": _Pickle.push,
    "LONG1": _Pickle.push,
    "NEWTRUE": lambda p, _: p.push(True),
    "NEWFALSE": lambda p, _: p.push(False),
    "NONE": lambda p, _: p.push(None),
    "EMPTY_DICT": lambda p, _: p.push({}),
    "EMPTY_TUPLE": lambda p, _: p.push(()),
    "TUPLE": lambda p, _: p.push((*p.since_mark(),)),
    "TUPLE1": lambda p, _: p.tuple_of(1),
    "TUPLE2": lambda p, _: p.tuple_of(2),
    "TUPLE3": lambda p, _: p.tuple_of(3),
    "GLOBAL": _Pickle.name,
    "BINPERSID": _Pickle.storage,
    "REDUCE": _Pickle.reduce,
    "SETITEM": _Pickle.set_one,
    "SETITEMS": lambda p, _: p.set(p.since_mark()),
    # attributes of an OrderedDict, such as _metadata
    "BUILD": lambda p, _: p.stack.pop(),
}


def _floats(data: bytes, type: str) -> Rows:
    """Returns numbers of a storage as float32."""
    found = np.frombuffer(data, type)
    if type == "<u2":  # bfloat16: the upper half of a float32
        return (found.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):  # a float64 may be infinite as float32
        return found.astype(np.float32)


def _check_entries(z: zipfile.ZipFile, size: int) -> str:
    """Checks a zip before its files are read. Returns the path of data.pkl.

    size: bytes of the zip; it bounds the memory for its files
    """
    entries, name = z.infolist(), None
    for x in entries:
        if x.flag_bits & 1:
            raise ValueError("it is encrypted")
        if x.compress_type != zipfile.ZIP_STORED:
            raise ValueError("it is compressed")
        if x.filename.endswith("/data.pkl") and name is None:
            name = x.filename
            if x.file_size > _MOST_PICKLE:
                raise ValueError(f"its data.pkl has {x.file_size} bytes, at "
                                 f"most {_MOST_PICKLE} are allowed")
    if sum(x.file_size for x in entries) > size:
        raise ValueError("its files are larger than the zip")
    if len({x.filename for x in entries}) < len(entries):
        raise ValueError("it has two files of one name")
    if name is None:
        raise ValueError("it has no data.pkl: torch.save() wrote it before "
                         "version 1.6")
    return name


def _strided(t: _Tensor, x: Rows) -> Rows | None:
    """Returns a copy of a tensor whose storage is x; None: it is beyond x."""
    if not (_is_count(t.first) and _are_counts(t.shape)
            and _are_counts(t.strides) and len(t.shape) == len(t.strides)):
        return None
    last = t.first + sum((n - 1) * s for n, s in zip(t.shape, t.strides))
    if 0 in t.shape or last >= len(x) or math.prod(t.shape) > len(x):
        return None
    # The stride of a dimension of 1 is any number: it is not used.
    strides = [4 * s * (n > 1) for n, s in zip(t.shape, t.strides)]
    return np.lib.stride_tricks.as_strided(
        x[t.first:], t.shape, strides).copy()


def _tensors(z: zipfile.ZipFile, size: int) -> Iterator[tuple[str, Rows]]:
    name = _check_entries(z, size)
    folder = name.removesuffix("data.pkl")
    order = f"{folder}byteorder"
    if order in z.namelist() and z.read(order) != b"little":
        raise ValueError("its byte order is not little-endian")
    top = _Pickle(z.read(name)).stack[-1]
    if not isinstance(top, dict):
        raise ValueError("it is no dict of tensors")
    storages: dict[_Storage, Rows] = {}  # tensors may share one
    numbers = 0
    for key, t in top.items():
        if not isinstance(t, _Tensor) or t.storage.type not in _TYPES:
            raise ValueError(f"{_shown(key)} is no tensor of floats")
        of = t.storage
        if of not in storages:
            storages[of] = _floats(z.read(f"{folder}data/{of.key}"),
                                   _TYPES[of.type])
        x = _strided(t, storages[of])
        if x is None:
            raise ValueError(f"{_shown(key)} is beyond its numbers")
        numbers += x.size
        if numbers > size:  # each has 2 bytes or more, unless tensors share it
            raise ValueError("its tensors share too many numbers")
        yield key, x


def _zipped(file: BinaryIO, size: int) -> dict[str, Rows]:
    with zipfile.ZipFile(file) as z:
        return dict(_tensors(z, size))


def _safe_one(name: str, x: Any, data: bytes) -> Rows:
    """Returns a tensor of a .safetensors file.

    x: what the head has for it
    data: the file after the head
    """
    if not isinstance(x, dict):
        raise ValueError(f"{name} has no type, shape and data_offsets")
    dtype, shape, at = (x.get(k) for k in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in _SAFE:
        raise ValueError(f"{name} is no tensor of {', '.join(_SAFE)}")
    if not (isinstance(shape, list) and all(map(_is_count, shape))
            and isinstance(at, list) and len(at) == 2
            and all(map(_is_count, at)) and at[0] <= at[1] <= len(data)
            and at[1] - at[0]
            == math.prod(shape) * np.dtype(_SAFE[dtype]).itemsize):
        raise ValueError(f"{name} is beyond its numbers")
    return _floats(data[at[0]:at[1]], _SAFE[dtype]).reshape(shape)


def _safe(file: BinaryIO, size: int) -> dict[str, Rows]:
    head = int.from_bytes(file.read(8), "little")
    if size < 8 or head > size - 8:
        raise ValueError("its head is larger than the file")
    heads = json.loads(file.read(head))
    if not isinstance(heads, dict):
        raise ValueError("its head is no map of names")
    data = file.read()
    heads.pop("__metadata__", None)
    found, used = {}, 0
    for name, x in heads.items():
        found[name] = _safe_one(_shown(name), x, data)
        used += x["data_offsets"][1] - x["data_offsets"][0]
        if used > len(data):
            raise ValueError("its tensors overlap")
    return found


def state_dict(path: str | os.PathLike[str]) -> dict[str, Rows]:
    """Returns the tensors of a .pt or .safetensors file, in float32.

    Raises InputError, a ValueError, if the file is another one, and FileError,
    an OSError, if it cannot be opened.
    """
    path = os.fspath(path)
    read = _safe if path.endswith(".safetensors") else _zipped
    try:
        file = open(path, "rb")
    except OSError as error:
        raise FileError(4, (Message(
            "error", f"{path}: {error.strerror}", path),)) from error
    with file:
        try:
            return read(file, os.fstat(file.fileno()).st_size)
        except MemoryError:
            raise
        # zipfile, json and pickletools raise exceptions of many kinds for a
        # file that was damaged.
        except Exception as error:
            why = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputError(3, (Message(
                "error", f"{path} is not read: {why}; only a dict of tensors "
                         f"of floats is", path),)) from error


def _main(source: str, to: str) -> None:
    data = safetensors(state_dict(source))
    with open(to, "xb") as f:
        f.write(data)


if __name__ == "__main__":
    _main(*sys.argv[1:])
