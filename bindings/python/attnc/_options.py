"""Options of Python as words of a command line, and calls that compile."""

from __future__ import annotations

import os
import sys
import warnings
from ctypes import c_char_p
from operator import index
from typing import Any, Callable, Mapping, Sequence

from attnc import _process
from attnc._library import LIB, Tell
from attnc.errors import Message, Warning, error_of

_SEVERITIES = ("error", "error", "warning", "note", "progress", "text")

Progress = Callable[[float, str], None]


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if hasattr(value, "__index__") or hasattr(value, "__float__"):
        return str(value)
    raise TypeError(f"{name} must be a text, a number, a bool, or a list or "
                    f"dict of them, not {type(value).__name__}")


def _words_of(name: str, value: Any) -> list[str]:
    """`value`: False and None: nothing; True: a flag; a dict: --set=K=V."""
    option = name if len(name) == 1 else name.replace("_", "-")
    if value is None or value is False:
        return []
    if name == "O":
        return [f"-O{_value(name, value)}"]
    if name == "dtype":
        types = value if isinstance(value, Mapping) else {"": value}
        return [f"--set=dtype{'.' if key else ''}{key}={_value(name, one)}"
                for key, one in types.items()]
    dashes = "-" if len(option) == 1 else "--"
    if value is True:
        if dashes == "-":
            raise TypeError(f"{name} must be a number or a text, not bool")
        return [dashes + option]
    if isinstance(value, Mapping):
        value = [f"{key}={_value(name, one)}" for key, one in value.items()]
    values = value if isinstance(value, (list, tuple)) else [value]
    words = []
    for one in values:
        text = _value(name, one)
        words += ["-" + name, text] if dashes == "-" else [
            f"--{option}={text}"]
    return words


def count(name: str, value: Any) -> int:
    """Returns a number that C takes as int64_t, at least 0."""
    n = index(value)
    if not 0 <= n < 2**63:
        raise ValueError(f"{name} must be 0 to 2**63 - 1, not {n}")
    return n


def words(options: Mapping[str, Any], more: Sequence[str] = ()) -> list[str]:
    """Returns the words of a command for options: top_k=4 is --top-k=4."""
    if isinstance(more, (str, bytes)):
        raise TypeError("options must be a list of words, not one text")
    found: list[str] = []
    for name, value in options.items():
        found += _words_of(name, value)
    return found + list(more)


def utf8(name: str, text: str, errors: str = "strict") -> bytes:
    """Returns the bytes of a text, which `name` names in messages."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be str, not {type(text).__name__}")
    try:
        return text.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        error.reason += f" in {name}"
        raise


def encoded(name: str, text: str, errors: str = "strict") -> bytes:
    """Returns a text that C takes without its size."""
    data = utf8(name, text, errors)
    if b"\0" in data:
        raise ValueError(f"{name} must not contain NUL")
    return data


def _file_name(name: str, path: str | os.PathLike[str]) -> bytes:
    """As encoded(); a path that Python got from the system may not be UTF-8."""
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"{name} must be str or os.PathLike[str], not "
                        f"{type(path).__name__}")
    return encoded(name, text, "surrogateescape")


def c_words(options: Sequence[str]) -> Any:
    """Returns the words as an array of C that ends with NULL."""
    found = [_file_name("an option", word) for word in options]
    return (c_char_p * (len(found) + 1))(*found, None)


def warn(message: str) -> None:
    """Warns at the line that called this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals["__name__"].startswith("attnc."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, Warning, stacklevel=level)


def _heard(message: Any) -> Message:
    m = message.contents
    return Message(_SEVERITIES[m.severity], m.text.decode("utf-8", "replace"),
                   m.file and m.file.decode("utf-8", "replace"), m.line,
                   m.column)


def _report(messages: list[Message]) -> list[Message]:
    """Passes warnings and notes on. Returns errors and their notes."""
    groups: list[list[Message]] = []
    for m in messages:
        if m.severity == "note" and groups:
            groups[-1].append(m)
        else:
            groups.append([m])
    for group in groups:
        text = "\n".join(map(str, group))
        if group[0].severity == "warning":
            warn(text)
        elif group[0].severity == "note":
            import logging  # here, because it takes long to import
            logging.getLogger("attnc").info(
                "%s", "\n".join(m.text for m in group))
    return [m for g in groups if g[0].severity == "error" for m in g]


class _Listener:
    """Hears what a call that compiles tells, on the call's thread."""

    def __init__(self, progress: Progress | None) -> None:
        self.heard: list[Message] = []
        self.failed: BaseException | None = None
        self._progress = progress

    def tell(self, _: Any, message: Any) -> None:
        m = _heard(message)
        if m.severity == "text":  # such as the messages of a C compiler
            self.heard += [Message("note", line)
                           for line in m.text.splitlines()]
        elif m.severity != "progress":
            self.heard.append(m)
        elif self._progress and not self.failed:
            try:
                self._progress(message.contents.done, m.text)
            except BaseException as error:
                self.failed = error
                LIB.attnc_interrupt()


def compiler(call: Callable[..., int], path: str | os.PathLike[str] | None,
             spec: str | None, options: Sequence[str],
             undo: Callable[[], None] = lambda: None,
             progress: Progress | None = None) -> None:
    """Calls call(path, text, words, tell, user), which compiles.

    One call at a time does. Raises what it reports as an error. An interrupted
    call ends soon in its thread, which then calls undo().
    progress: is called with the part that is done, from 0 to 1, and its name
    """
    if path is None and spec is None:
        raise TypeError("give the path of a model, or the text of a spec by "
                        "spec=")
    arguments = (_file_name("a path", "spec.yaml" if path is None else path),
                 None if spec is None else encoded("a spec", spec),
                 c_words(options))
    listener = _Listener(progress)
    running = False

    def work(worker: _process.Worker | None) -> int:
        nonlocal running
        tell = Tell(listener.tell)
        with _process.compiling:
            running = not (worker and worker.stopped)
            code = call(*arguments, tell, None) if running else 0
            running = False
        if worker and worker.stopped:
            undo()
        return code

    try:
        code = _process.interruptible(work)
    except KeyboardInterrupt:
        if running:
            LIB.attnc_interrupt()
        raise
    if listener.failed:
        undo()
        raise listener.failed
    if code:
        raise error_of(code, _report(listener.heard))
    try:
        _report(listener.heard)
    except BaseException:  # a warning that is an error
        undo()
        raise
