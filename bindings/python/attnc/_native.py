"""An open model of the C library and its handles."""

from __future__ import annotations

import os
import threading
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Sequence

from attnc import _process
from attnc._library import LIB, CLimits
from attnc._options import compiler
from attnc.errors import TOO_LONG, Error, Message, error_of

# max_input, max_output, max_text, beam, cut of struct attnc_limits
Limits = tuple[int, int, int, int, int]

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


class Native:
    """A model of the C library, with a handle for each call under way.

    Handles that no call uses are kept for the next one. The last call frees a
    model that was closed meanwhile.
    """

    def __init__(self, path: str | os.PathLike[str] | None, spec: str | None,
                 options: Sequence[str]) -> None:
        self._from = (path, spec, options)
        self._lock = threading.Lock()
        self._free: dict[Limits, list[int]] = {}
        self._used: set[int] = set()
        self._closed = False
        self._open()
        self.facts = _facts(self._model)
        _process.natives.add(self)

    def _open(self) -> None:
        model = c_void_p()
        compiler(lambda *a: LIB.attnc_open(byref(model), *a), *self._from,
                 undo=lambda: LIB.attnc_close(model))
        assert model.value
        self._model: int = model.value
        self._owner = self._forks = _process.forks

    def after_fork(self) -> None:
        """In the child: leaves what other threads of the parent may use."""
        self._lock = threading.Lock()
        self._free = {}
        self._used = set()

    def take(self, limits: Limits) -> int:
        """Returns a handle, which the caller gives back."""
        with self._lock:
            if self._closed:
                raise ValueError("the model is closed")
            # The child of a fork has the weights but no threads.
            if self._forks != _process.forks:
                if self.facts.threads > 1:
                    self._open()
                self._forks = _process.forks
            free = self._free.get(limits)
            h = free.pop() if free else self._new_handle(limits)
            self._used.add(h)
        return h

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
            self._used.discard(h)
            self._free.setdefault(limits, []).append(h)
            ended = self._closed and not self._used
        if ended:
            self._end()

    def close(self) -> None:
        with self._lock:
            ended = not self._closed and not self._used
            self._closed = True
        if ended:
            self._end()

    def _end(self) -> None:
        for handles in self._free.values():
            for h in handles:
                LIB.attnc_handle_close(h)
        self._free = {}
        if self._owner == _process.forks:  # else the parent closes it
            LIB.attnc_close(self._model)

    def error(self, h: int | None, code: int, note: str = "") -> Error:
        """Returns the exception for what was wrong with a handle's call."""
        text = LIB.attnc_error(h).decode("utf-8", "replace")
        messages = [Message("error", text)]
        if note and code == TOO_LONG:
            messages.append(Message("note", note))
        return error_of(code, messages)
