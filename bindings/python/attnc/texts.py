"""Functions that compile a model to C, describe it, or measure it."""

from __future__ import annotations

import json
import os
from ctypes import byref, c_void_p, string_at
from typing import Any, Mapping, Sequence

from attnc._library import LIB, TakeFile, version
from attnc._options import Progress, compiler, words

_Path = str | os.PathLike[str]


def compile(path: _Path | None, output: _Path,
            *, spec: str | None = None, embed: bool = False,
            wheel: bool = False, files: bool = False,
            options: Sequence[str] = (),
            **more: Any) -> str | dict[str, bytes] | None:
    """Compiles a model to C, as `attnc compile PATH -o OUTPUT`.

    output: the C file, such as "model.c"; a header and, without embed, the
        weights are written next to it. The ending .o, .so or none compiles it.
    embed: puts weights and vocabularies into the C file
    wheel: writes a wheel for this system to the folder `output` and returns
        its path. It needs only NumPy: a module with the model's name has
        encode(), embed() or generate().
    files: writes nothing, and returns the files as a dict of bytes by name
    spec: the text of a spec, as in load()
    more: options of `attnc compile`, such as march="x86-64-v3"
    """
    made: dict[str, bytes] = {}
    failed: list[BaseException] = []

    def take(_: Any, name: bytes, data: int, size: int) -> int:
        try:
            made[os.fsdecode(name)] = string_at(data, size)
        except BaseException as error:
            failed.append(error)
        return len(failed)

    def write(to: _Path, embed: bool) -> None:
        found = words({"o": os.fspath(to), "embed": embed, **more}, options)
        taker = TakeFile(take)

        def to_memory(*a: Any) -> int:
            code: int = LIB.attnc_compile_files(*a[:3], taker, None, *a[3:])
            if failed:
                raise failed[0]
            return code

        compiler(to_memory if files else LIB.attnc_compile, path, spec, found)

    if wheel and files:
        raise TypeError("a wheel is a file in a folder: leave out files")
    if wheel:
        from attnc._model_wheel import write_model
        return str(write_model(output, write, version))
    write(output, embed)
    return made if files else None


def _report(report: str, path: _Path | None, spec: str | None,
            options: Sequence[str], progress: Progress | None = None) -> str:
    out = c_void_p()
    compiler(lambda *a: LIB.attnc_report(byref(out), report.encode(), *a),
             path, spec, options, undo=lambda: LIB.attnc_free(out),
             progress=progress)
    text = string_at(out)
    LIB.attnc_free(out)
    return text.decode()


def _words(options: Sequence[str], more: dict[str, Any]) -> list[str]:
    found = words(more, options)
    if any(word.startswith("--format") for word in found):
        raise TypeError("format is json: the result is made of dicts")
    return found


def _described(report: str, path: _Path | None, spec: str | None,
               options: Sequence[str], more: dict[str, Any],
               progress: Progress | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_report(
        report, path, spec, ["--format=json", *_words(options, more)],
        progress))
    return found


class Graph(dict[str, Any]):
    """A graph of operations: the dict that `attnc graph --format=json` prints.
    A notebook shows its drawing.

    nodes: dicts with id, entry, op, name, type, shape, inputs, attributes
    edges: pairs of ids, (input, node)
    """

    def __init__(self, path: _Path | None, spec: str | None,
                 options: Sequence[str]) -> None:
        self._from = (path, spec, list(options))
        super().__init__(_described("graph", *self._from, {}))

    @property
    def nodes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self["nodes"]
        return found

    @property
    def edges(self) -> list[tuple[int, int]]:
        return [(i, node["id"]) for node in self.nodes
                for i in node["inputs"]]

    def svg(self) -> str:
        """Returns the drawing that `attnc graph --format=svg` prints."""
        path, spec, options = self._from
        return _report("graph", path, spec, [*options, "--format=svg"])

    _repr_svg_ = svg

    def __repr__(self) -> str:
        return (f"<attnc.Graph {self['model']}: {len(self.nodes)} nodes, "
                f"{len(self.edges)} edges>")

    def __reduce__(self) -> tuple[type[Graph], tuple[Any, ...]]:
        return Graph, self._from


def graph(path: _Path | None = None, *, spec: str | None = None,
          options: Sequence[str] = (), **more: Any) -> Graph:
    """Returns the graph of a model, a dict that a notebook draws.

    more: options of `attnc graph`, such as stage="built"
    """
    return Graph(path, spec, _words(options, more))


def plan(path: _Path | None = None, *, spec: str | None = None,
         options: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Returns the plan of a model as `attnc plan --format=json` prints it:
    parameters, bytes, functions and buffers.

    more: options of `attnc plan`, such as march="generic"
    """
    return _described("plan", path, spec, options, more)


def bench(path: _Path | None = None, *, spec: str | None = None,
          progress: Progress | None = None, options: Sequence[str] = (),
          **more: Any) -> dict[str, Any]:
    """Measures a model and this machine, as `attnc bench --format=json` does.

    progress: is called with the part that is done, 0 to 1 or NaN, and its name
    more: options of `attnc bench`, such as p=128, seconds=0.5, threads=2
    """
    return _described("bench", path, spec, options, more, progress)


def tune(path: _Path | None = None, *, spec: str | None = None,
         progress: Progress | None = None, options: Sequence[str] = (),
         **more: Any) -> dict[str, Any]:
    """Finds the fastest tiles on this machine and records them, as
    `attnc tune --format=json` does. Later calls of load() use them.

    progress: as for bench()
    more: options of `attnc tune`, such as budget="60s", records="here.json"
    """
    return _described("tune", path, spec, options, more, progress)


def _number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def sweep(path: _Path | Sequence[_Path] | None = None, *,
          spec: str | None = None,
          vary: Mapping[str, Any] | None = None,
          progress: Progress | None = None, options: Sequence[str] = (),
          **more: Any) -> list[dict[str, Any]]:
    """Compares the costs of variants of a spec. Returns a dict for each, with
    the values that vary and the columns of `attnc sweep --format=json`.

    path: a spec, or several
    vary: values by field or option, such as {"h": [4, 8], "p": "16..128..x2"}
    progress: as for bench()
    more: options of `attnc sweep`, such as predict=True, sort="latency"
    """
    paths: list[_Path | None] = (
        [path] if path is None or isinstance(path, (str, os.PathLike))
        else list(path))
    axes = {key: ",".join(map(str, one))
            if isinstance(one, (list, tuple, range)) else one
            for key, one in (vary or {}).items()}
    if not paths:
        raise TypeError("give the path of a spec")
    found = _described("sweep", paths[0], spec,
                       [*(os.fspath(one) for one in paths[1:] if one),
                        *words({}, options)],
                       {"vary": axes, **more}, progress)
    return [{"spec": row.pop("spec"),
             **{key: _number(one) for key, one
                in row.pop("values", {}).items()},
             **row} for row in found["rows"]]
