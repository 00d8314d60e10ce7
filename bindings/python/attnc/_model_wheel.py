"""One model as a wheel of its own, which needs only NumPy: the emitted C as a
shared library with the weights, and a module that calls it."""

from __future__ import annotations

import inspect
import keyword
import os
import re
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Callable, Iterator

from attnc._arrays import array_of, ids_of
from attnc._library import version
from attnc._wheel import info_wheel, write

_HEAD = '''\
"""{name}, a Transformer that attnc {version} compiled.

Threads: any number may call these functions; each call has memory of its own.
"""

from __future__ import annotations

import ctypes
import os

import numpy as np

_C = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "model.so"))
_at, _n = ctypes.c_void_p, ctypes.c_int64
_C.{name}_open.restype, _C.{name}_open.argtypes = _at, [ctypes.c_char_p, _at]
_C.{name}_error.restype, _C.{name}_error.argtypes = ctypes.c_char_p, [_at]
_free = []  # handles that no call uses


class Error(ValueError):
    """A text or ids are invalid, or memory has run out."""


def _call(function, *arguments):
    try:
        handle = _free.pop()
    except IndexError:
        handle = _C.{name}_open(None, None)
    try:
        result = function(handle, *arguments)
        if result < 0:
            raise Error(_C.{name}_error(handle).decode())
        return result
    finally:
        if handle:
            _free.append(handle)
'''
_ENCODE = '''

MAX_TOKENS, COLUMNS = {most}, {columns}
_C.{name}_encode.restype = _n
_C.{name}_encode.argtypes = [_at, _at, _n, _at]


def _rows(function, *arguments):
    rows = np.empty((MAX_TOKENS, COLUMNS), np.float32)
    return rows[:_call(function, *arguments, rows.ctypes.data)].copy()


{arrays}

def encode(ids):
    """Returns the rows of token ids, [1 or the number of ids, COLUMNS]."""
    ids = ids_of(ids)
    return _rows(_C.{name}_encode, ids.ctypes.data, ids.size)
'''
_EMBED = '''

PROMPTS = {prompts}  # texts by name
PROMPT = {prompt}  # the default one
_text = [ctypes.c_char_p, _n]
_C.{name}_embed.restype = _C.{name}_embed_pair.restype = _n
_C.{name}_embed.argtypes = [_at, *_text, _at]
_C.{name}_embed_pair.argtypes = [_at, *_text, *_text, _at]


def embed(texts, prompt=None):
    """Returns the rows of a text; of a list of texts their rows in order.

    prompt: a text that precedes each text, such as PROMPTS["query"]; None:
        PROMPT
    """
    if not isinstance(texts, str):
        return np.concatenate([np.empty((0, COLUMNS), np.float32),
                               *(embed(text, prompt) for text in texts)])
    text = ((PROMPT if prompt is None else prompt) + texts).encode()
    return _rows(_C.{name}_embed, text, len(text))


def embed_pair(text, other):
    """Returns the rows of a pair of texts, as a reranker reads them."""
    text, other = text.encode(), other.encode()
    return _rows(_C.{name}_embed_pair, text, len(text), other, len(other))
'''
_GENERATE = '''

_Take = ctypes.CFUNCTYPE(ctypes.c_int, _at, _at, _n)
_C.{name}_generate.restype = _n
_C.{name}_generate.argtypes = [_at, ctypes.c_char_p, _at, _Take, _at]


def generate(prompt, stream=None):
    """Returns the answer to a text, by the search that the spec asks for.

    stream: is called with each piece of the answer; True ends the answer
    """
    if "\\0" in prompt:
        raise ValueError("a prompt must not contain NUL")
    pieces, errors = [], []

    def take(_, text, size):
        pieces.append(ctypes.string_at(text, size).decode())
        try:
            return bool(stream and stream(pieces[-1]))
        except BaseException as error:
            errors.append(error)
            return 1

    _call(_C.{name}_generate, prompt.encode(), None, _Take(take), None)
    if errors:
        raise errors[0]
    return "".join(pieces)
'''
_PARTS = ("a wheel needs all parts of the C file: leave out the options parts "
          "and freestanding")


def _prompts(c: str) -> tuple[dict[str, str], str]:
    """Returns the prompts in a C file, and the default one."""
    found = re.search(r"prompts_of_spec\[\] = \{(.*?)NULL\n\};\n"
                      r".*?default_prompt_of_spec = (.*?);", c, re.S)
    if not found:
        raise ValueError(_PARTS)
    names, default = ([re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]),
                              text.encode()).decode()
                       for text in re.findall('"(.*?)"', part)]
                      for part in found.groups())
    prompts = dict(zip(names[::2], names[1::2]))
    return prompts, prompts[default[0]] if default else ""


def _module(header: str, c: str) -> tuple[str, str]:
    """Returns the model's name and the module for it.

    c: the C file, without the weights
    """
    found = re.search(r"\b(\w+)_open\(", header)
    if not found:
        raise ValueError(_PARTS)
    name = found[1]
    if keyword.iskeyword(name) or name in (
            "attnc", "numpy", *sys.stdlib_module_names):
        raise ValueError(f"Python has another meaning for the name {name!r}: "
                         f'set={{"name": "another"}} changes it')
    text = _HEAD
    if re.search(rf"\b{name}_encode\(struct attn_handle \*h,\s+const int32_t",
                 header):
        text += _ENCODE
        if f"{name}_embed(" in header:
            text += _EMBED
    if f"{name}_generate(" in header:
        text += _GENERATE
    if text == _HEAD:
        raise ValueError(
            "a wheel is for encoders of ids or text, and for models that "
            f"generate text: {name} " + (
                "has no vocabulary" if f"{name}_generate_ids(" in header
                else "is neither"))
    values = dict(re.findall(rf"{name.upper()}_(\w+) = (\d+)", header))
    prompts, prompt = _prompts(c) if _EMBED in text else ({}, "")
    return name, text.format(
        name=name, version=version, prompts=prompts, prompt=repr(prompt),
        most=values.get("MAX_SOURCE", 0), columns=values.get("OUTPUT", 0),
        arrays=f"{inspect.getsource(array_of)}\n\n"
               f"{inspect.getsource(ids_of)}")


def _files(name: str, module: str, library: bytes, tag: str,
           info: str) -> Iterator[tuple[str, bytes, bool]]:
    yield f"{name}/__init__.py", module.encode(), False
    yield f"{name}/model.so", library, True
    yield f"{info}/METADATA", (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"Summary: A Transformer that attnc compiled\n"
        f"Requires-Python: >=3.10\nRequires-Dist: numpy>=1.23\n"
    ).encode(), False
    yield f"{info}/WHEEL", info_wheel(tag), False


def write_model(folder: str | os.PathLike[str],
                compile: Callable[[Path, bool], None]) -> Path:
    """Writes a wheel to a folder, which it makes, and returns its path.

    compile: writes a C file or a shared library, by the ending of a path, with
        or without the weights in it, and a header next to it
    """
    folder = Path(folder)
    with tempfile.TemporaryDirectory() as work:
        c, library = Path(work) / "model.c", Path(work) / "model.so"
        compile(c, False)
        name, module = _module(c.with_suffix(".h").read_text(), c.read_text())
        folder.mkdir(parents=True, exist_ok=True)
        compile(library, True)
        tag = re.sub(r"[-.]", "_", sysconfig.get_platform())
        to = folder / f"{name}-{version}-py3-none-{tag}.whl"
        info = f"{name}-{version}.dist-info"
        write(to, _files(name, module, library.read_bytes(), tag, info), info)
    return to
