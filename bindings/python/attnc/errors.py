"""Exceptions and warnings of attnc."""

from __future__ import annotations

import builtins
import re
from typing import NamedTuple


class Message(NamedTuple):
    """A message of attnc: one line of text and its place in a file."""

    severity: str  # "error", "warning" or "note"
    text: str
    file: str | None = None
    line: int = 0  # from 1; 0: no place
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return place + ("note: " if self.severity == "note" else "") + self.text


class Error(Exception):
    """An error that attnc reports. str() gives all of its messages.

    code: the number that the function of the C library returned
    messages: what attnc reported, in order
    file, line, column: place of the first error; None, 0, 0: no place
    """

    def __init__(self, code: int, messages: tuple[Message, ...]) -> None:
        super().__init__("\n".join(map(str, messages)))
        self.code = code
        self.messages = messages
        first = messages[0] if messages else Message("error", "")
        self.file, self.line, self.column = first.file, first.line, first.column

    def __reduce__(self) -> tuple[type[Error], tuple[object, ...]]:
        return type(self), (self.code, self.messages)


class UsageError(Error, ValueError):
    """An option is invalid, or this kind of model does not do that."""


class InputError(Error, ValueError):
    """A spec, weights, a text or ids are invalid."""


class FileError(Error, OSError):
    """A file cannot be read or written."""


class MemoryError(Error, builtins.MemoryError):
    """Memory or another resource has run out."""


class BackendError(Error, RuntimeError):
    """There is no compiler, it failed, or the processor is another one."""


class InternalError(Error, RuntimeError):
    """A bug of attnc: please report it."""


class Warning(UserWarning):
    """A warning of attnc, such as a default that a spec should write."""


# Codes of attnc.h. Those below 0 come from functions of a handle.
BY_CODE: dict[int, type[Error]] = {
    2: UsageError,
    3: InputError,
    4: FileError,
    5: MemoryError,
    6: BackendError,
    70: InternalError,
    -1: InternalError,  # too little space: this package counts it
    -4: InternalError,  # NULL: this package passes none
    -7: InternalError,  # starts of sequences: this package makes them
    -9: UsageError,
    -10: UsageError,
    -100: MemoryError,
}
TOO_LONG = -6


def error_of(code: int, messages: list[Message]) -> Error:
    """Returns the exception for a code of the library and its messages."""
    text = "out of memory" if code in (5, -100) else f"error {code}"
    kind = BY_CODE.get(code, InputError if code < 0 else Error)
    return kind(code, tuple(messages) or (Message("error", text),))


def counted_from(error: Error, first: int) -> Error:
    """Counts sequences in a message of a batch from the call's first one."""
    def more(found: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda m: str(int(m[0]) + first), found[0])

    message = error.messages[0]
    text = re.sub(r"^(text|sequence|question|pair) \d+|"
                  r"^sequences \d+ to \d+", more, message.text)
    return type(error)(error.code,
                       (message._replace(text=text), *error.messages[1:]))
