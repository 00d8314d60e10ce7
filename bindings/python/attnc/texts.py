"""Functions that compile a model to C, or describe it."""

from __future__ import annotations

import json
import os
from ctypes import byref, c_void_p, string_at
from typing import Any, Callable, Sequence

from attnc._library import LIB
from attnc._options import compiler, words

_Path = str | os.PathLike[str]


def compile(path: _Path | None, output: _Path,
            *, spec: str | None = None, embed: bool = False,
            options: Sequence[str] = (), **more: Any) -> None:
    """Compiles a model to C, as `attnc compile PATH -o OUTPUT`.

    output: the C file, such as "model.c"; a header and, without embed, the
        weights are written next to it. The ending .o, .so or none compiles it.
    embed: puts weights and vocabularies into the C file
    spec: the text of a spec, as in load()
    more: options of `attnc compile`, such as march="x86-64-v3"
    """
    found = words({"o": output, "embed": embed, **more}, options)
    compiler(LIB.attnc_compile, path, spec, found)


def _described(function: Callable[..., int], path: _Path | None,
               spec: str | None, options: Sequence[str],
               more: dict[str, Any]) -> dict[str, Any]:
    if "format" in more:
        raise TypeError("format is json: the result is a dict")
    out = c_void_p()
    compiler(lambda *a: function(byref(out), *a), path, spec,
             words({"format": "json", **more}, options),
             undo=lambda: LIB.attnc_free(out))
    text = string_at(out)
    LIB.attnc_free(out)
    return json.loads(text)  # type: ignore[no-any-return]


def graph(path: _Path | None = None, *, spec: str | None = None,
          options: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Returns the graph of a model as `attnc graph --format=json` prints it.

    more: options of `attnc graph`, such as stage="built"
    """
    return _described(LIB.attnc_graph, path, spec, options, more)


def plan(path: _Path | None = None, *, spec: str | None = None,
         options: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Returns the plan of a model as `attnc plan --format=json` prints it:
    parameters, bytes, functions and buffers.

    more: options of `attnc plan`, such as march="generic"
    """
    return _described(LIB.attnc_plan, path, spec, options, more)
