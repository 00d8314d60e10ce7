"""Attention weights of a text."""

from __future__ import annotations

from ctypes import POINTER, byref, c_char_p, string_at
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from attnc._library import LIB, CMaps
from attnc._native import Limits
from attnc._options import compiler, encoded

if TYPE_CHECKING:
    from attnc._answers import Answers


@dataclass(frozen=True)
class Map:
    """The weights of all heads of one layer.

    name: in the graph, such as "decoder.0.cross_attn.weights"
    layer: in its stack, from 0
    queries, keys: "source" or "target"
    weights: [heads, queries, keys]; a row is one query's. 0 where the mask
        hides the key.
    hidden: true where the mask hides the key, [queries, keys]
    """

    name: str
    layer: int
    queries: str
    keys: str
    weights: NDArray[np.float32]
    hidden: NDArray[np.bool_]

    def __repr__(self) -> str:
        heads, queries, keys = self.weights.shape
        return (f"<attnc.Map {self.name}: {heads} heads, {queries} queries, "
                f"{keys} keys>")


class Attention:
    """The attention weights of a text and of the model's answer.

    maps: a Map for each attention of the model
    source, target: the tokens, as texts
    answer: the model's answer, or None
    """

    def __init__(self, model: Answers, text: str, options: Sequence[str],
                 limits: Limits) -> None:
        self._from = (model, text, options, limits)
        self.maps: list[Map] = []
        self.source: list[str] = []
        self.target: list[str] = []
        self.answer: str | None = None
        self._picture: str | None = None

    def __getitem__(self, name: str) -> Map:
        """Returns the map of this name."""
        for found in self.maps:
            if found.name == name:
                return found
        raise KeyError(name)

    def stacked(self, queries: str = "source",
                keys: str = "source") -> NDArray[np.float32]:
        """Returns the weights of all layers with these queries and keys:
        [layers, heads, queries, keys].
        """
        found = [m.weights for m in self.maps
                 if (m.queries, m.keys) == (queries, keys)]
        if not found:
            raise KeyError(f"no attention of {queries} to {keys}")
        return np.stack(found)

    @property
    def svg(self) -> str:
        """The picture of `attnc run --attention`, as the text of an SVG."""
        if self._picture is None:
            self._picture = _Call(*self._from).picture()
        return self._picture

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return (f"<attnc.Attention: {len(self.maps)} maps, {len(self.source)} "
                f"and {len(self.target)} tokens>")


_SIDES = ("source", "target")


class _Call:
    """Calls attnc_attention() and reads what it gives."""

    def __init__(self, model: Answers, text: str, options: Sequence[str],
                 limits: Limits) -> None:
        # The model, too: it closes `_native` at its end.
        self._model, self._native = model, model._native
        self._limits, self._options = limits, options
        self._text = encoded("a text", text)

    def _run(self, read: Callable[[Any, Any], int]) -> None:
        """Calls read(maps, tell), which returns a code. The thread that makes
        the maps also frees them: after Ctrl-C it goes on alone.
        """
        def call(path: bytes, spec: None, words: Any, tell: Any,
                 user: None) -> int:
            maps = POINTER(CMaps)()
            h = self._native.take(self._limits)  # keeps the model open
            try:
                return LIB.attnc_attention(
                    byref(maps), self._native.address, self._text, words,
                    tell, user) or read(maps, tell)
            finally:
                LIB.attnc_maps_free(maps)
                self._native.give(self._limits, h)

        self._native.reopen()
        compiler(call, "", None, self._options)

    def picture(self) -> str:
        """Returns the SVG."""
        svg: list[str] = []

        def read(maps: Any, tell: Any) -> int:
            text = c_char_p()
            code = int(LIB.attnc_maps_svg(maps, byref(text), tell, None))
            svg.append((text.value or b"").decode())
            return code

        self._run(read)
        return svg[0]

    def fill(self, to: Attention) -> Attention:
        """Copies the maps and tokens."""
        def read(maps: Any, _: Any) -> int:
            x = maps.contents
            to.maps = [_map(x.map[i]) for i in range(x.maps)]
            to.source, to.target = (
                [x.token[side][i].decode() for i in range(x.tokens[side])]
                for side in (0, 1))
            to.answer = x.answer and x.answer.decode("utf-8", "replace")
            return 0

        self._run(read)
        return to


def _map(m: Any) -> Map:
    shape = (m.heads, m.queries, m.keys)
    size = 4 * m.heads * m.queries * m.keys
    weights = np.frombuffer(string_at(m.weights, size), np.float32)
    weights = weights.reshape(shape).copy()
    hidden = weights[0] < 0
    weights[weights < 0] = 0
    return Map(m.name.decode(), m.layer, _SIDES[m.query_side],
               _SIDES[m.key_side], weights, hidden)


def attention_of(model: Answers, text: str, options: Sequence[str],
                 limits: Limits) -> Attention:
    """Returns the attention weights of a text."""
    of = (model, text, tuple(options), limits)
    return _Call(*of).fill(Attention(*of))
