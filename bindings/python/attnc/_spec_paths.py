"""The paths of files in the text of a spec.

The C library reads specs, but reports no paths. This reader knows the subset
of YAML that a spec may have, and the fields that are paths.
"""

from __future__ import annotations

import json
import re
from typing import Callable, Iterator

_FILES = ("vocab", "masking", "layers")  # fields that have paths named `file`
_SPACE = re.compile(r"\s+")
_COMMENT = re.compile(r"(?<!\S)#[^\n]*")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|' r"'(?:[^']|'')*'", re.S)
_BLOCK = re.compile(r"[|>][-+\d]*[ \t]*(?:#[^\n]*)?(?:\n|$)")
_MARK = re.compile(r"[{}\[\],]|[-?:](?=\s|$)")
_LINE = r"(?:[^\n:#]|:(?=\S)|(?<=\S)#)+"
_PLAIN = re.compile(
    _LINE + rf"(?:\n[ \t]+(?![-#\s])(?![^\n]*:(?:\s|$)){_LINE})*")
_FLOW_PLAIN = re.compile(r"(?:[^:#,\[\]{}]|:(?=[^\s,\[\]{}])|(?<=\S)#)+")
_COLON = re.compile(r"[ \t]*:(?=\s|$)")
_FLOW_COLON = re.compile(r"\s*:(?=[\s,\[\]{}]|$)")
_QUOTED_COLON = re.compile(r"[ \t]*:")
_SIMPLE = re.compile(r"(?=.*[A-Za-z])(?=.*\.)[\w./][\w./-]*")


def _is_path(top: str, key: str) -> bool:
    """Returns whether a key is a path. top: the key of the spec above it, or
    itself
    """
    first = top.split(".")[0]
    return (key == top and key in ("extends", "weights")
            or first in _FILES and key.split(".")[-1] == "file")


def _value(written: str) -> str:
    """Returns the text of a scalar."""
    if written[0] == "'":
        return written[1:-1].replace("''", "'")
    if written[0] == '"':
        try:
            return str(json.loads(written, strict=False))
        except ValueError:  # an escape that only YAML has
            return written[1:-1]
    return re.sub(r"\s*\n\s*", " ", written)


def _after_block(text: str, start: int, at: int) -> int:
    """Returns the end of a block of text whose first line begins at `at`.

    start: of the `|` or `>` before it
    """
    line = text[text.rfind("\n", 0, start) + 1:start + 1]
    before = re.match(r" *(?:- +(?![|>]))*", line)
    within = re.compile(r" {%d,}\S[^\n]*(?:\n|$)|[ \t]*(?:\n|$)"
                        % (len(before[0] if before else "") + 1))
    while at < len(text) and (found := within.match(text, at)):
        at = found.end()
    return at


def _paths(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yields the start, the end, the key and the value of paths."""
    at, flow, top, key, waits = 0, 0, "", "", False
    all_flow = text.lstrip().startswith("{")
    while at < len(text):
        if found := _SPACE.match(text, at) or _COMMENT.match(text, at):
            at = found.end()
            continue
        if found := _BLOCK.match(text, at):
            at, waits = _after_block(text, at, found.end()), False
            continue
        quoted = _QUOTED.match(text, at)
        if not quoted and (found := _MARK.match(text, at)):
            flow += (found[0] in "{[") - (found[0] in "}]")
            at, waits = found.end(), False
            continue
        found = quoted or (_FLOW_PLAIN if flow else _PLAIN).match(text, at)
        if not found:  # no YAML
            at += 1
            continue
        written, start = found[0].rstrip(), at
        at += len(written)
        colon = (_QUOTED_COLON if quoted and flow else
                 _FLOW_COLON if flow else _COLON).match(text, at)
        if colon:
            key, at, waits = _value(written), colon.end(), True
            if flow == all_flow and (flow or start == 0
                                     or text[start - 1] == "\n"):
                top = key
        elif waits:
            waits = False
            if _is_path(top, key):
                yield start, at, key, _value(written)


def replaced(text: str, new: Callable[[str, str], str | None]) -> str:
    """Returns the text of a spec with other paths.

    new: returns the path in place of one, for its key and the path; None: the
        same path
    """
    parts, at = [], 0
    for start, end, key, path in _paths(text):
        to = new(key, path)
        if to is not None:
            plain = text[start] not in "\"'" and _SIMPLE.fullmatch(to)
            parts += [text[at:start],
                      to if plain else json.dumps(to, ensure_ascii=False)]
            at = end
    return "".join(parts) + text[at:]
