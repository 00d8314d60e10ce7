"""An open model of the C library and its handles."""

from __future__ import annotations

import os
import threading
from ctypes import byref, c_void_p, memmove
from dataclasses import dataclass
from typing import Any, BinaryIO, Sequence

from attnc import _process
from attnc._library import LIB, CLimits, Read
from attnc._options import compiler, encoded
from attnc.errors import TOO_LONG, Error, Message, error_of

# max_input, max_output, max_text, beam, cut, task of struct attnc_limits
Limits = tuple[int, int, int, int, int, int]

_MOST_FREE = 8  # free handles of a model: each has its memory
_TAKEN = 0  # in the place of a handle that is being made

_KINDS = ("encoder-decoder", "encoder", "decoder", "attention")


@dataclass(frozen=True)
class Facts:
    """What is known of a model.

    name: of its spec
    kind: "encoder-decoder", "encoder", "decoder" or "attention"
    d_model: width of a layer's rows
    source_vocab, target_vocab: tokens of the vocabularies
    max_source, max_target: most rows of a sequence
    input_width: numbers of an input row; 0: the model reads ids
    class_token: rows that the model puts before a sequence
    types: token types; 0: the model reads none
    columns: numbers of a result's row
    pooled: a result is one row per sequence
    generates: the model writes answers
    reads_text, writes_text: the model has the vocabulary for that
    weights_bytes: bytes of the packed weights
    dtype: format of most matrices, such as "f32"
    threads: threads that a call uses
    """

    name: str
    kind: str
    d_model: int
    source_vocab: int
    target_vocab: int
    max_source: int
    max_target: int
    input_width: int
    class_token: int
    types: int
    columns: int
    pooled: bool
    generates: bool
    reads_text: bool
    writes_text: bool
    weights_bytes: int
    dtype: str
    threads: int


def _facts(model: int) -> Facts:
    f = LIB.attnc_facts(model).contents
    values = {name: getattr(f, name) for name, _ in f._fields_}
    for name in ("pooled", "generates", "reads_text", "writes_text"):
        values[name] = bool(values[name])
    values |= {"name": f.name.decode(), "kind": _KINDS[f.kind],
               "dtype": f.dtype.decode()}
    return Facts(**values)


class _Reader:
    """Reads the weights of a binary file for the C library."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.failed: BaseException | None = None
        self.call = Read(self._read)

    def _read(self, _: Any, at: int, to: int, size: int) -> int:
        try:
            self._file.seek(at)
            data = bytes(memoryview(self._file.read(size)))
            if len(data) <= size:
                memmove(to, data, len(data))
            return len(data)
        except BaseException as error:
            self.failed = error
            return -1


class Native:
    """A model of the C library, with a handle for each call under way.

    Some handles that no call uses are kept for the next one. The last call
    frees a model that was closed meanwhile.
    """

    def __init__(self, path: str | os.PathLike[str] | None, spec: str | None,
                 options: Sequence[str],
                 weights: bytes | BinaryIO | None = None) -> None:
        self._from = (path, spec, options)
        # C reads them until the model is closed
        self._weights = (weights if weights is None
                         or isinstance(weights, bytes) else _Reader(weights))
        # A finalizer or a signal's handler may close the model while its
        # thread has the lock.
        self._lock = threading.RLock()
        self._free: list[tuple[Limits, int]] = []  # the oldest one first
        self._used: set[int] = set()
        self._closed = self._ended = False
        self._open()
        self.facts = _facts(self._model)
        _process.natives.add(self)

    def _open(self) -> None:
        model = c_void_p()
        data = self._weights

        def call(path: bytes, spec: bytes | None, *a: Any) -> int:
            if isinstance(data, _Reader):
                data.failed = None
            code: int = (
                LIB.attnc_open_reader(byref(model), path, spec, data.call,
                                      None, *a)
                if isinstance(data, _Reader) else
                LIB.attnc_open_weights(byref(model), path, spec, data,
                                       len(data or b""), *a))
            if code and isinstance(data, _Reader) and data.failed:
                raise data.failed
            return code

        compiler(call, *self._from, undo=lambda: LIB.attnc_close(model))
        assert model.value
        self._model: int = model.value
        self._owner = self._forks = _process.forks

    @property
    def address(self) -> int:
        """The model of the C library. A handle in use keeps it open."""
        return self._model

    def _text(self, function: Any, argument: Any) -> str | None:
        """Returns the text that function(model, argument) gives."""
        with self._lock:
            if self._closed:
                raise ValueError("the model is closed")
            found: bytes | None = function(self._model, argument)
        return None if found is None else found.decode()

    def prompt(self, name: str | None) -> str | None:
        """Returns the prompt of this name; None: the default prompt."""
        return self._text(LIB.attnc_prompt, None if name is None else
                          encoded("a prompt's name", name))

    def prompts(self) -> dict[str, str]:
        """Returns all prompts by name."""
        found: dict[str, str] = {}
        while (name := self._text(LIB.attnc_prompt_name,
                                  len(found))) is not None:
            found[name] = self.prompt(name) or ""
        return found

    def after_fork(self) -> None:
        """In the child: leaves what other threads of the parent may use."""
        self._lock = threading.RLock()
        self._free = []
        self._used = set()

    def reopen(self) -> None:
        """Opens the model again in the child of a fork, which has the weights
        but no threads. This compiles: a call that compiles does it before.
        """
        if self._forks == _process.forks:
            return
        with self._lock:
            if self._forks != _process.forks and not self._closed:
                if self.facts.threads > 1:
                    self._open()
                self._forks = _process.forks

    def take(self, limits: Limits) -> int:
        """Returns a handle, which the caller gives back."""
        self.reopen()
        with self._lock:
            if self._closed:
                raise ValueError("the model is closed")
            self._used.add(_TAKEN)  # close() leaves the model open
            try:
                h = self._kept(limits) or self._new_handle(limits)
                self._used.add(h)
            finally:
                self._used.discard(_TAKEN)
                self._end()
        return h

    def _kept(self, limits: Limits) -> int | None:
        """Returns the newest free handle with these limits."""
        for i in reversed(range(len(self._free))):
            if self._free[i][0] == limits:
                return self._free.pop(i)[1]
        return None

    def _new_handle(self, limits: Limits) -> int:
        h = c_void_p()
        code = LIB.attnc_handle_open(byref(h), self._model,
                                     byref(CLimits(*limits)))
        if code == 0 and h.value:
            return h.value
        try:
            raise self.error(h.value, code)
        finally:
            LIB.attnc_handle_close(h)

    def give(self, limits: Limits, h: int) -> None:
        with self._lock:
            if h not in self._used:  # taken before a fork
                return
            self._free.append((limits, h))
            while len(self._free) > _MOST_FREE:
                LIB.attnc_handle_close(self._free.pop(0)[1])
            self._used.discard(h)
        self._end()

    def close(self) -> None:
        self._closed = True
        self._end()

    def _end(self) -> None:
        """Frees a model that is closed, once no call uses it."""
        with self._lock:
            if not self._closed or self._used or self._ended:
                return
            self._ended = True
        for _, h in self._free:
            LIB.attnc_handle_close(h)
        self._free = []
        if self._owner == _process.forks:  # else the parent closes it
            LIB.attnc_close(self._model)

    def error(self, h: int | None, code: int, note: str = "") -> Error:
        """Returns the exception for what was wrong with a handle's call."""
        text = LIB.attnc_error(h).decode("utf-8", "replace")
        messages = [Message("error", text)]
        if note and code == TOO_LONG:
            messages.append(Message("note", note))
        return error_of(code, messages)
