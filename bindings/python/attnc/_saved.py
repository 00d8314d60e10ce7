"""Copies of the files from which a model was opened."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence

from attnc import _arrays
from attnc._options import words
from attnc._spec_paths import replaced

# Options that are saved, and read again: those that change results. Others,
# such as a compiler, belong to the machine, and a model from elsewhere must not
# choose the programs that run here.
_KEPT = ("--set", "--fix", "--seed", "--allow-nan", "--skip", "--weights")
_MACHINE = ("--threads", "--march", "--width", "--tile", "--backend", "--cc",
            "-O", "--records", "--no-records", "--verbose", "-v", "--perf",
            "--require-fusion")
_FLAGS = ("--allow-nan", "--no-records", "--verbose", "-v", "--perf",
          "--require-fusion")
_SIZES = ("max_input", "max_output")  # arguments of load(), which are no words
_SHARD = re.compile(r"-\d{5}-of-\d{5}\.gguf$")


def _pairs(given: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the name and the value of each option of a command."""
    left = iter(given)
    for word in left:
        name, equals, value = word.partition("=")
        if word.startswith("-O"):
            name, value = "-O", word[2:] or next(left, "")
        elif not equals and name not in _FLAGS:
            value = next(left, "")
        yield name, value


def _options(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the options of attnc.load() that are words, as pairs."""
    named = {key: value for key, value in options.items()
             if key not in (*_SIZES, "spec", "options")}
    if not isinstance(named.get("weights"), (str, os.PathLike)):
        named.pop("weights", None)
    return [*_pairs(words(named, options.get("options", ())))]


def _with_paths(name: str, value: str, new: Callable[[str], str]) -> str:
    """Returns a word of an option that is saved, with other paths."""
    if name == "--weights":
        return f"{name}={new(value)}"
    if name == "--set":
        key, _, value = value.partition("=")
        value = replaced(f"{key}: {value}", lambda _, path: new(path))
        return f"{name}={key}={value[len(key) + 2:]}"
    return f"{name}={value}" if value else name


def kept(options: Mapping[str, Any],
         new: Callable[[str], str]) -> dict[str, Any]:
    """Returns the options of attnc.load() that are saved.

    new: returns another path for each one in them
    """
    found = {key: options[key] for key in _SIZES if key in options}
    more = [_with_paths(name, value, new) for name, value in _options(options)
            if name in _KEPT]
    return found | ({"options": more} if more else {})


def _check(options: Mapping[str, Any]) -> None:
    for name, _ in _options(options):
        if name not in (*_KEPT, *_MACHINE):
            raise ValueError(f"a model that was opened with the option {name} "
                             f"cannot be saved: leave the option out")


def _copy(path: Path, to: Path) -> None:
    """Copies a file or a folder, unless `to` is the same one."""
    if to.exists() and to.samefile(path):
        return
    if path.is_dir():
        shutil.copytree(path, to, dirs_exist_ok=True)
    else:
        shutil.copyfile(path, to)


class Copy:
    """Copies files to a folder, all beside each other.

    A spec and the index of shards name other files, which are copied, too. The
    copies have the names of the copies.
    """

    def __init__(self, to: Path) -> None:
        self.to = to
        self._names: dict[Path, str] = {}

    def file(self, path: Path, is_spec: bool = False,
             text: str | None = None) -> str:
        """Copies a file and those that it names. Returns the copy's name.

        text: of a spec; None: that of the file
        """
        self.to.mkdir(parents=True, exist_ok=True)
        of = path.resolve()
        if of in self._names:
            return self._names[of]
        name = self._names[of] = self._new_name(path.name)
        if is_spec:
            self._spec(path.read_text("utf-8") if text is None else text,
                       path.parent, name)
        elif path.name.endswith(".index.json"):
            self._index(path, name)
        else:
            _copy(path, self.to / name)
        return name

    def _spec(self, text: str, folder: Path, name: str) -> None:
        """Writes a spec whose paths begin in `folder`, and copies its files."""
        def new(key: str, written: str) -> str | None:
            path = folder / written
            if not written or not path.exists():  # an option replaces it
                return None
            return self.file(path, key == "extends")

        (self.to / name).write_text(replaced(text, new), "utf-8")

    def _index(self, path: Path, name: str) -> None:
        index = json.loads(path.read_text("utf-8"))
        shards = index["weight_map"]
        for tensor, shard in shards.items():
            shards[tensor] = self.file(path.parent / shard)
        (self.to / name).write_text(json.dumps(index, indent=2), "utf-8")

    def _new_name(self, name: str) -> str:
        used, found, i = {*self._names.values()}, name, 1
        while found in used:
            found, i = f"{i}-{name}", i + 1
        return found


def _is_gguf(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"GGUF"


def _shards(path: Path) -> list[Path]:
    stem, found = _SHARD.subn("", path.name)
    return sorted(path.parent.glob(
        stem + "-?????-of-?????.gguf")) if found else [path]


def _copy_folder(path: Path, inside: Path, to: Path) -> None:
    """Copies a checkpoint's folder, all but the copy `to` itself."""
    ours = to.resolve()
    if path.resolve() != inside.resolve():
        shutil.copytree(
            path, inside, dirs_exist_ok=True, ignore=lambda d, names: [
                name for name in names if Path(d, name).resolve() == ours])


def saved(path: str | os.PathLike[str] | None, options: Mapping[str, Any],
          to: Path) -> tuple[str, dict[str, Any]]:
    """Copies what load(path, **options) opened to the folder `to`. Returns the
    path below it, and the options, whose paths are below it, too.
    """
    _check(options)
    spec, weights = options.get("spec"), options.get("weights")
    of, inside = Path(path or "spec.yaml"), to / "model"
    name = of.name
    if spec is None and of.is_dir():
        _copy_folder(of, inside, to)
        name = ""
    elif spec is None and _is_gguf(of):
        inside.mkdir(parents=True, exist_ok=True)
        for shard in _shards(of):
            _copy(shard, inside / shard.name)
    else:
        name = Copy(inside).file(of, True, spec)
    more = Copy(to / "files")
    found = kept(options, lambda x: f"files/{more.file(Path(x))}")
    if isinstance(weights, Mapping):
        weights = _arrays.safetensors(weights)
    elif weights is not None and hasattr(weights, "read"):
        weights.seek(0)
        weights = weights.read()
    if isinstance(weights, (bytes, bytearray, memoryview)):
        (to / "weights.safetensors").write_bytes(weights)
        found["options"] = ["--weights=weights.safetensors",
                            *found.get("options", ())]
    return str(Path("model", name)), found
