"""Models: rows and scores of texts, tokens. _answers.py has answers."""

from __future__ import annotations

import os
import sys
import weakref
from ctypes import addressof, c_int64, create_string_buffer, string_at
from typing import (
    TYPE_CHECKING, Any, BinaryIO, Callable, Iterable, Mapping, Sequence)

import numpy as np

from attnc import _arrays
from attnc._answers import Answers
from attnc._arrays import Texts
from attnc._library import LIB
from attnc._native import Facts, Limits, Native
from attnc._options import count, utf8, words
from attnc.errors import counted_from

if TYPE_CHECKING:
    from attnc._arrays import Ids, Rows

# call(handle, first, n, out, cap, rows) for sequences first to first + n - 1
_Call = Callable[[int, int, int, "int | None", int, Any], int]


def load(path: str | os.PathLike[str] | None = None, *,
         spec: str | None = None,
         dtype: str | Mapping[str, str] | None = None,
         threads: int | None = None, max_input: int = 0, max_output: int = 0,
         weights: str | os.PathLike[str] | bytes | BinaryIO
         | Mapping[str, Any] | None = None,
         options: Sequence[str] = (), **more: Any) -> Model:
    """Opens a model: reads its spec, compiles it, and loads its weights.

    path: a spec, a checkpoint's folder, or a .gguf file
    spec: the text of a spec; `path` is then its name in messages, and files
        that the spec names are looked for beside it
    dtype: format of the weights, such as "int8", or a dict of formats by part
    threads: threads of a call; None: one per physical core
    max_input, max_output: most tokens of a text and of an answer; 0: those of
        the model. A smaller number needs less memory.
    weights: a .safetensors file instead of the spec's; its bytes; a binary
        file with them, anything with seek() and read(), which stays open as
        long as the model; or arrays by name, of float32
    more: options of `attnc run`, such as seed=1, set={"h": 4}, or the backend:
        "jit" (the default) opens at once; "clang" waits for the C compiler,
        whose code is faster; "auto" opens at once and takes that code when it
        is ready, with the same results
    options: more words of the command line
    """
    data: Any = None
    if isinstance(weights, Mapping):
        data = _arrays.safetensors(weights)
    elif isinstance(weights, (bytes, bytearray, memoryview)):
        data = bytes(weights)
    elif hasattr(weights, "read"):
        data = weights
    found = words({"dtype": dtype, "threads": threads,
                   "weights": weights if data is None else None, **more},
                  options)
    return Model(path, spec, found, max_input, max_output, data)


class Model(Answers):
    """An open model, for any number of threads at once. load() makes it."""

    def __init__(self, path: str | os.PathLike[str] | None, spec: str | None,
                 options: Sequence[str], max_input: int, max_output: int,
                 weights: bytes | BinaryIO | None = None) -> None:
        self._from = (path, spec, options, count("max_input", max_input),
                      count("max_output", max_output), weights)
        self._native = Native(path, spec, options, weights)
        self.facts: Facts = self._native.facts
        self._finalizer = weakref.finalize(self, self._native.close)

    # ---- life ----

    def close(self) -> None:
        """Frees the model, or lets the calls under way do it when they end.

        Later calls raise ValueError.
        """
        self._native.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Model], tuple[Any, ...]]:
        return Model, self._from  # another process opens it again

    def __repr__(self) -> str:
        f = self.facts
        return (f"<attnc.Model {f.name}: {f.kind}, {f.dtype}, "
                f"{f.threads} thread{'s' * (f.threads > 1)}>")

    # ---- rows ----

    def encode(self, texts: str | Iterable[str], batch_size: int = 32, *,
               normalize: bool = False, show_progress_bar: bool = False,
               truncate: bool = False, max_tokens: int = 0,
               truncate_dim: int | None = None,
               convert_to_tensor: bool = False,
               prompt_name: str | None = None,
               prompt: str | None = None,
               is_query: bool | None = None) -> Any:
        """Returns the rows of texts: an array of floats [n, columns].

        A str gives one row, [columns]. If the model does not pool, a text
        gives [tokens, columns], and a list of texts a list of arrays.

        batch_size: texts that are encoded at once; the rows are the same for
            each. Ctrl-C ends the call after a batch.
        normalize: divides each row by its length
        truncate: cuts texts longer than max_tokens; False: they are an error
        max_tokens: most tokens of a text; 0: those of the model
        truncate_dim: keeps so many columns of each row, the first ones, for a
            Matryoshka model; None: all
        convert_to_tensor: returns tensors of PyTorch
        prompt_name: the prompt of the spec that precedes each text, such as
            "query"; None: the default one, if the spec has one
        prompt: a text that precedes each text instead; "": none
        is_query: True: the texts are queries, which late interaction fills
            with tokens; False: documents, without rows of punctuation, as the
            spec says. The prompt "query" or "document" is then the default
            one. None: neither
        """
        most = self.facts.columns
        if truncate_dim is not None and not 1 <= truncate_dim <= most:
            raise ValueError(f"truncate_dim must be 1 to {most}, not "
                             f"{truncate_dim}")
        data, single = _arrays.texts_of(texts)
        task = 0 if is_query is None else 1 if is_query else 2
        if task and prompt_name is None and prompt is None:
            prompt = self.prompt(("", "query", "document")[task]) or ""
        before = utf8("prompt", self._prompt(prompt_name, prompt))
        data = [before + text for text in data] if before else data
        rows = self._rows(
            _call_of_texts(LIB.attnc_embed, [data]), len(data), single,
            batch_size, normalize, show_progress_bar,
            self._limits(max_tokens, cut=truncate, task=task),
            "" if truncate else "truncate=True cuts longer texts",
            truncate_dim)
        return _arrays.tensors(rows) if convert_to_tensor else rows

    def predict(self, pairs: Iterable[tuple[str, str]] | tuple[str, str],
                batch_size: int = 32, *,
                show_progress_bar: bool = False, truncate: bool = False,
                max_tokens: int = 0) -> Any:
        """Returns the scores of pairs of texts, as a reranker gives them.

        A model with one column gives [n], others [n, columns]; for one pair,
        a number or [columns]. The scores are the model's: no function is
        applied to them.

        truncate: cuts pairs longer than max_tokens, the longer text first, as
            transformers does; False: they are an error
        max_tokens: most tokens of a pair; 0: those of the model
        """
        pairs, single = _pairs_of(pairs)
        sides = [_arrays.texts_of([p[i] for p in pairs])[0] for i in (0, 1)]
        rows = self._rows(_call_of_texts(LIB.attnc_embed_pairs, sides),
                          len(pairs), single, batch_size, False,
                          show_progress_bar,
                          self._limits(max_tokens, cut=truncate),
                          "" if truncate else "truncate=True cuts longer pairs")
        if self.facts.columns == 1 and self.facts.pooled:
            return float(rows[0]) if single else rows[:, 0]
        return rows

    def rank(self, query: str, documents: Iterable[str],
             top_k: int | None = None, return_documents: bool = False,
             batch_size: int = 32, *,
             truncate: bool = False) -> list[dict[str, Any]]:
        """Returns documents in the order of their scores, the best one first:
        dicts with corpus_id, the number of the document from 0, and score.

        top_k: most documents that are returned
        return_documents: the dicts also have the document, as text
        truncate: as for predict()
        """
        f, texts = self.facts, list(documents)
        top_k = None if top_k is None else count("top_k", top_k)
        if f.columns != 1 or not f.pooled:
            raise ValueError(f"rank() takes one score per pair, and {f.name} "
                             f"has {f.columns} columns")
        scores = self.predict([(query, text) for text in texts], batch_size,
                              truncate=truncate)
        return [{"corpus_id": int(i), "score": float(scores[i])}
                | ({"text": texts[i]} if return_documents else {})
                for i in np.argsort(-scores, kind="stable")[:top_k]]

    def encode_ids(self, ids: Any, types: Any = None, batch_size: int = 32, *,
                   normalize: bool = False,
                   show_progress_bar: bool = False) -> Any:
        """Returns the rows of sequences of token ids, as encode() does.

        ids: one sequence of integers, a list of sequences of any lengths, or
            an array [n, tokens]
        types: types of the tokens, in the same form; None: all 0
        """
        found, single = _arrays.sequences_of(ids, 1)
        parts = [_arrays.ids_of(part) for part in found]
        flat, start = _arrays.joined(parts, np.empty(0, np.int32))
        typed = None
        if types is not None:
            typed = _arrays.joined(
                [_arrays.ids_of(part, "types") for part
                 in _arrays.sequences_of(types, 1)[0]], flat[:0])
            if not np.array_equal(typed[1], start):
                raise ValueError("types must have the shape of ids")
        at, starts = flat.ctypes.data, start.ctypes.data
        of_types = typed and typed[0].ctypes.data

        def call(h: int, first: int, n: int, *to: Any) -> int:
            return int(LIB.attnc_encode(h, at, of_types, starts + 8 * first, n,
                                        *to))

        return self._rows(call, len(parts), single, batch_size, normalize,
                          show_progress_bar, self._limits(), "")

    def encode_rows(self, rows: Any, batch_size: int = 32, *,
                    normalize: bool = False,
                    show_progress_bar: bool = False) -> Any:
        """Returns the rows of a model that reads numbers, as encode() does.

        rows: floats [tokens, input_width], a list of such arrays, or
            [n, tokens, input_width]
        """
        width = self.facts.input_width
        found, single = _arrays.sequences_of(rows, 2)
        parts = [_arrays.rows_of(part, width) for part in found]
        flat, start = _arrays.joined(parts, np.empty((0, width), np.float32))
        at, starts = flat.ctypes.data, start.ctypes.data

        def call(h: int, first: int, n: int, *to: Any) -> int:
            return int(LIB.attnc_encode_rows(h, at, starts + 8 * first, n, *to))

        return self._rows(call, len(parts), single, batch_size, normalize,
                          show_progress_bar, self._limits(), "")

    def attend(self, query: Any, key: Any, value: Any) -> Rows:
        """Returns the attention of query [queries, d_model] to key and value
        [keys, d_model]: [queries, columns]. For a model of `kind: attention`.
        """
        f = self.facts
        q, k, v = (_arrays.rows_of(x, f.d_model, name) for x, name in
                   ((query, "query"), (key, "key"), (value, "value")))
        if len(k) != len(v):
            raise ValueError("key and value must have the same number of rows")
        out = np.empty((len(q), f.columns), np.float32)
        self._with(self._limits(), lambda h: LIB.attnc_attend(
            h, q.ctypes.data, len(q), k.ctypes.data, v.ctypes.data, len(k),
            out.ctypes.data, out.size))
        return out

    @staticmethod
    def similarity(a: Any, b: Any) -> Rows:
        """Returns the cosines [n, m] of rows a [n, columns] and b."""
        return _arrays.similarity(a, b)

    # ---- tokens ----

    def tokens(self, text: str, *, target: bool = False) -> Ids:
        """Returns the ids of a text, as the model reads them.

        target: in the vocabulary of answers, without a template
        """
        data = utf8("text", text)
        room = len(data) + 16
        while True:
            ids = np.empty(room, np.int32)
            n = self._with(self._limits(), lambda h: LIB.attnc_tokens(
                h, target, data, len(data), ids.ctypes.data, room))
            if n <= room:
                return ids[:n].copy()
            room = n

    def text(self, ids: Any) -> str:
        """Returns the text of ids. Incomplete characters become U+FFFD."""
        a = _arrays.ids_of(ids)
        room = 16 * len(a) + 16
        while True:
            out = create_string_buffer(room)
            n = self._with(self._limits(), lambda h: LIB.attnc_text(
                h, a.ctypes.data, len(a), addressof(out), room))
            if n < room:
                return string_at(out, n).decode("utf-8", "replace")
            room = n + 1

    # ---- calls ----

    def prompt(self, name: str | None = None) -> str | None:
        """Returns the model's prompt of this name, which precedes a text; None:
        its default prompt. The result is None if there is none.
        """
        return self._native.prompt(name)

    @property
    def prompts(self) -> dict[str, str]:
        """The model's prompts: texts by name, in the order of the spec."""
        return self._native.prompts()

    def _prompt(self, name: str | None, text: str | None) -> str:
        if text is not None:
            return text
        found = self.prompt(name)
        if found is None and name is not None:
            names = ", ".join(map(repr, self.prompts)) or "none"
            raise ValueError(f"the model has no prompt {name!r}: it has "
                             f"{names}")
        return found or ""

    def _limits(self, max_tokens: int = 0, *, cut: bool = False,
                task: int = 0) -> Limits:
        return (count("max_tokens", max_tokens) or self._from[3],
                self._from[4], 0, 0, bool(cut), task)

    def _with(self, limits: Limits, call: Callable[[int], int],
              note: str = "") -> int:
        """Returns call(handle), or raises its error."""
        h = self._native.take(limits)
        try:
            found = call(h)
            if found < 0:
                raise self._native.error(h, found, note)
        finally:
            self._native.give(limits, h)
        return found

    def _rows(self, call: _Call, n: int, single: bool, batch_size: int,
              normalize: bool, show: bool, limits: Limits, note: str,
              cut: int | None = None) -> Any:
        if batch_size < 1:
            raise ValueError("batch_size must be at least 1")
        columns = self.facts.columns
        pooled = np.empty((n if self.facts.pooled else 0, columns), np.float32)
        at = pooled.ctypes.data
        found: list[Rows] = []

        def batch(h: int, first: int, m: int) -> int:
            if self.facts.pooled:
                return call(h, first, m, at + 4 * columns * first,
                            m * columns, None)
            rows = (c_int64 * m)()
            total = call(h, first, m, None, 0, rows)
            if total < 0:
                return total
            out = np.empty((total, columns), np.float32)
            found.extend(np.split(out, np.cumsum(rows[:-1])))
            return call(h, first, m, out.ctypes.data, out.size, None)

        h = self._native.take(limits)
        try:
            for first in range(0, n, batch_size):
                code = batch(h, first, min(batch_size, n - first))
                if code < 0:
                    error = self._native.error(h, code, note)
                    raise counted_from(error, first)
                if show:
                    _show(min(first + batch_size, n), n)
            if n == 0:  # also for models that have no rows
                self._check(call, h)
        finally:
            self._native.give(limits, h)
        rows = [pooled] if self.facts.pooled else found
        if cut is not None:
            rows = [np.ascontiguousarray(x[:, :cut]) for x in rows]
        if normalize:
            rows = [_arrays.normalized(x) for x in rows]
        results: Any = rows[0] if self.facts.pooled else rows
        return results[0] if single else results

    def _check(self, call: _Call, h: int) -> None:
        code = call(h, 0, 0, None, 0, None)
        if code < 0:
            raise self._native.error(h, code)


def _pairs_of(pairs: Any) -> tuple[list[tuple[str, str]], bool]:
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise TypeError("give pairs of texts, as [(query, document), ..]")
    found = list(pairs)
    single = len(found) == 2 and all(isinstance(x, str) for x in found)
    found = [tuple(found)] if single else found
    for i, pair in enumerate(found):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or (
                len(pair) != 2):
            raise TypeError(f"pair {i} must be two texts")
    return found, single


def _call_of_texts(function: Any, sides: list[list[bytes]]) -> _Call:
    texts = [Texts(side) for side in sides]
    at = [addressof(a) for t in texts for a in (t.at, t.bytes)]

    # The addresses are those of `texts`, which live as long as `call`.
    def call(h: int, first: int, n: int, *to: Any, keep: Any = texts) -> int:
        return int(function(h, *[a + 8 * first for a in at], n, *to))

    return call


def _show(done: int, n: int) -> None:
    end = "\n" if done == n else ""
    print(f"\rencode {done}/{n}", end=end, file=sys.stderr, flush=True)
