"""Writes wheels. The same files give the same wheel: it holds no time.

A model's wheel needs only NumPy: the emitted C as a shared library with the
weights, and a module that calls it. `attnc compile --emit=wheel` runs this file
as a program, so it imports nothing of the package.
"""

from __future__ import annotations

import base64
import hashlib
import keyword
import os
import re
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import Callable, Iterable

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
_C.{name}_embed_as.restype = _C.{name}_embed_pair.restype = _n
_C.{name}_embed_as.argtypes = [_at, *_text, _at, _at]
_C.{name}_embed_pair.argtypes = [_at, *_text, *_text, _at]


class _Options(ctypes.Structure):
    _fields_ = [("task", _n), ("prompt", ctypes.c_char_p)]


def embed(texts, prompt=None, is_query=None):
    """Returns the rows of a text; of a list of texts their rows in order.

    prompt: a text that precedes each text, such as PROMPTS["query"]; None:
        that of is_query, or PROMPT
    is_query: True, False: the texts are queries or documents of late
        interaction; their prompt is PROMPTS["query"] or PROMPTS["document"]
    """
    if not isinstance(texts, str):
        return np.concatenate([np.empty((0, COLUMNS), np.float32),
                               *(embed(text, prompt, is_query)
                                 for text in texts)])
    task = 0 if is_query is None else 1 if is_query else 2
    if prompt is None:
        prompt = (PROMPTS.get("query" if is_query else "document", "") if task
                  else PROMPT)
    text, options = (prompt + texts).encode(), _Options(task, b"")
    return _rows(_C.{name}_embed_as, text, len(text), ctypes.byref(options))


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


def write(to: str | os.PathLike[str], files: Iterable[tuple[str, bytes, bool]],
          info: str) -> None:
    """Writes a wheel.

    files: the path of each file, its bytes, and whether it may be executed
    info: the folder for RECORD, such as "attnc-0.1.0.dist-info"
    """
    record = []
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        def add(path: str, data: bytes, program: bool) -> None:
            entry = zipfile.ZipInfo(path)  # of 1980
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)

        for path, data, program in files:
            add(path, data, program)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
            hashed = digest.decode().rstrip("=")
            record.append(f"{path},sha256={hashed},{len(data)}")
        record.append(f"{info}/RECORD,,")
        add(f"{info}/RECORD", ("\n".join(record) + "\n").encode(), False)


def info_wheel(tag: str) -> bytes:
    """Returns the contents of the file WHEEL."""
    return (f"Wheel-Version: 1.0\nGenerator: attnc\nRoot-Is-Purelib: false\n"
            f"Tag: py3-none-{tag}\n").encode()


def _prompts(c: str) -> tuple[dict[str, str], str]:
    """Returns the prompts in a C file, and the default one."""
    found = re.search(r"(?:prompts_of_spec\[\] = \{(.*?)NULL\n\};\n)?"
                      r"static const struct attn_texts texts_of_spec = \{"
                      r".*?\.prompt = (.*?),\n", c, re.S)
    if not found:
        raise ValueError(_PARTS)
    names, default = ([re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]),
                              text.encode()).decode()
                       for text in re.findall('"(.*?)"', part or "")]
                      for part in found.groups())
    prompts = dict(zip(names[::2], names[1::2]))
    return prompts, prompts[default[0]] if default else ""


def _module(header: str, c: str, version: str) -> tuple[str, str]:
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
                         "set the spec's field name to another one")
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
    ids = Path(__file__).with_name("_ids.py").read_text()
    prompts, prompt = _prompts(c) if _EMBED in text else ({}, "")
    return name, text.format(
        name=name, version=version, prompts=prompts, prompt=repr(prompt),
        most=values.get("MAX_SOURCE", 0), columns=values.get("OUTPUT", 0),
        arrays=ids[ids.index("def array_of"):])


_MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine of ELF


def _pack(folder: Path, name: str, module: str, library: bytes,
          version: str) -> Path:
    """Writes the wheel of a module and its shared library to a folder."""
    machine = _MACHINES.get(int.from_bytes(library[18:20], "little"))
    tag = f"linux_{machine}" if machine else re.sub(
        r"[-.]", "_", sysconfig.get_platform())
    to = folder / f"{name}-{version}-py3-none-{tag}.whl"
    info = f"{name}-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"Summary: A Transformer that attnc compiled\n"
        f"Requires-Python: >=3.10\nRequires-Dist: numpy>=1.23\n")
    write(to, [(f"{name}/__init__.py", module.encode(), False),
               (f"{name}/model.so", library, True),
               (f"{info}/METADATA", metadata.encode(), False),
               (f"{info}/WHEEL", info_wheel(tag), False)], info)
    return to


def write_model(folder: str | os.PathLike[str],
                compile: Callable[[Path, bool], None], version: str) -> Path:
    """Writes a wheel to a folder, which it makes, and returns its path.

    compile: writes a C file or a shared library, by the ending of a path, with
        or without the weights in it, and a header next to it
    """
    folder = Path(folder)
    with tempfile.TemporaryDirectory() as work:
        c, library = Path(work) / "model.c", Path(work) / "model.so"
        compile(c, False)
        made = _module(c.with_suffix(".h").read_text(), c.read_text(), version)
        folder.mkdir(parents=True, exist_ok=True)
        compile(library, True)
        return _pack(folder, *made, library.read_bytes(), version)


def _main(work: Path, version: str) -> None:
    """Packs model.c, model.h and model.so of a folder in it. Prints the file's
    name, or what is wrong with the model."""
    if sys.version_info < (3, 10):
        sys.exit(f"{sys.executable} is older than Python 3.10")
    try:
        made = _module((work / "model.h").read_text(),
                       (work / "model.c").read_text(), version)
    except ValueError as error:
        print(error)
        return
    library = (work / "model.so").read_bytes()
    print(_pack(work, *made, library, version).name)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2])
