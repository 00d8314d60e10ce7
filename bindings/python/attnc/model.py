"""Models: rows and scores of texts, answers, tokens."""

from __future__ import annotations

import os
import re
import sys
import weakref
from ctypes import addressof, byref, c_double, c_int64, create_string_buffer
from ctypes import string_at
from typing import Any, Callable, Iterable, Iterator, Literal, Mapping
from typing import Sequence, overload

import numpy as np

from attnc import _arrays, _process
from attnc._arrays import Ids, Rows, Texts
from attnc._library import LIB, TakeId, TakeText
from attnc._native import Facts, Limits, Native
from attnc._options import c_words, words

# call(handle, first, n, out, cap, rows) for sequences first to first + n - 1
_Call = Callable[[int, int, int, "int | None", int, Any], int]


def load(path: str | os.PathLike[str] | None = None, *,
         spec: str | None = None,
         dtype: str | Mapping[str, str] | None = None,
         threads: int | None = None, max_input: int = 0, max_output: int = 0,
         options: Sequence[str] = (), **more: Any) -> Model:
    """Opens a model: reads its spec, compiles it, and loads its weights.

    path: a spec, a checkpoint's folder, or a .gguf file
    spec: the text of a spec; `path` is then its name in messages, and files
        that the spec names are looked for beside it
    dtype: format of the weights, such as "int8", or a dict of formats by part
    threads: threads of a call; None: one per physical core
    max_input, max_output: most tokens of a text and of an answer; 0: those of
        the model. A smaller number needs less memory.
    more: options of `attnc run`, such as seed=1, backend="jit",
        set={"h": 4}, weights="x.safetensors"
    options: more words of the command line
    """
    found = words({"dtype": dtype, "threads": threads, **more}, options)
    return Model(path, spec, found, max_input, max_output)


class Model:
    """An open model, for any number of threads at once. load() makes it."""

    def __init__(self, path: str | os.PathLike[str] | None, spec: str | None,
                 options: Sequence[str], max_input: int,
                 max_output: int) -> None:
        self._from = (path, spec, options, max_input, max_output)
        self._native = Native(path, spec, options)
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
               truncate: bool = False, max_tokens: int = 0) -> Any:
        """Returns the rows of texts: an array of floats [n, columns].

        A str gives one row, [columns]. If the model does not pool, a text
        gives [tokens, columns], and a list of texts a list of arrays.

        batch_size: texts that are encoded at once; the rows are the same for
            each. Ctrl-C ends the call after a batch.
        normalize: divides each row by its length
        truncate: cuts texts longer than max_tokens; False: they are an error
        max_tokens: most tokens of a text; 0: those of the model
        """
        data, single = _arrays.texts_of(texts)
        return self._rows(
            _call_of_texts(LIB.attnc_embed, [data]), len(data), single,
            batch_size, normalize, show_progress_bar,
            self._limits(max_tokens, cut=truncate),
            "" if truncate else "truncate=True cuts longer texts")

    def predict(self, pairs: Iterable[tuple[str, str]] | tuple[str, str],
                batch_size: int = 32, *,
                show_progress_bar: bool = False) -> Any:
        """Returns the scores of pairs of texts, as a reranker gives them.

        A model with one column gives [n], others [n, columns]; for one pair,
        a number or [columns]. The scores are the model's: no function is
        applied to them.
        """
        pairs, single = _pairs_of(pairs)
        sides = [_arrays.texts_of([p[i] for p in pairs])[0] for i in (0, 1)]
        rows = self._rows(_call_of_texts(LIB.attnc_embed_pairs, sides),
                          len(pairs), single, batch_size, False,
                          show_progress_bar, self._limits(), "")
        if self.facts.columns == 1 and self.facts.pooled:
            return float(rows[0]) if single else rows[:, 0]
        return rows

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

    # ---- answers ----

    @overload
    def generate(self, prompt: str, *, stream: Literal[False] = ...,
                 **options: Any) -> str: ...
    @overload
    def generate(self, prompt: str, *, stream: Literal[True],
                 **options: Any) -> Iterator[str]: ...
    @overload
    def generate(self, prompt: Any, *, stream: bool = ...,
                 **options: Any) -> Any: ...

    def generate(self, prompt: Any, *, stream: bool = False,
                 n: int | None = None, beam: int | None = None,
                 temperature: float | None = None, top_k: int | None = None,
                 top_p: float | None = None, seed: int | None = None,
                 **options: Any) -> Any:
        """Returns the answer to a prompt: what follows it, or, from an
        encoder-decoder, its translation.

        prompt: a text, or ids; ids give an array of ids
        stream: returns an iterator of the answer's pieces, which come as they
            are made; to leave it ends the answer
        n: most tokens of the answer
        beam: hypotheses of a search; 1: always the best token. None: 1 for a
            decoder and for a stream, else that of the spec. A beam above 1
            gives its answer at the end, and Ctrl-C does not shorten it.
        temperature, top_k, top_p: how tokens are drawn, from `seed`
        options: others of `attnc run` for search and sampling, such as
            repetition_penalty=1.2, suppress=["a"], min_length=3
        """
        if beam is None and (stream or self.facts.kind == "decoder"):
            beam = 1
        asked = words({"n": n, "beam": beam, "temperature": temperature,
                       "top_k": top_k, "top_p": top_p, "seed": seed,
                       **options})
        one = self._answer(prompt, asked, self._limits(beam=beam or 0))
        if stream:
            return _process.stream(lambda worker: one(worker, worker.put))
        pieces: list[Any] = []
        _process.interruptible(lambda worker: one(worker, pieces.append))
        if isinstance(prompt, str):
            return "".join(pieces)
        return np.array(pieces, np.int32)

    def translate(self, texts: str | Iterable[str], *,
                  beam: int | None = None, **options: Any) -> Any:
        """Returns the answer to a text, or a list of answers to a list.

        beam: None: that of the spec
        options: those of generate()
        """
        asked = words({"beam": beam, **options})
        single = isinstance(texts, str)
        ones = [self._answer(text, asked, self._limits(beam=beam or 0)) for
                text in ([texts] if isinstance(texts, str)
                         else _strings(texts))]

        def work(worker: _process.Worker | None) -> list[str]:
            answers = []
            for one in ones:
                pieces: list[str] = []
                one(worker, pieces.append)
                answers.append("".join(pieces))
                if worker and worker.stopped:
                    break
            return answers

        answers = _process.interruptible(work)
        return answers[0] if single else answers

    def score(self, source: Any, target: Any) -> float:
        """Returns the natural logarithm of the probability that the answer to
        `source` is `target` and then ends. Both are texts, or both ids.
        """
        p = c_double()
        if isinstance(source, str) and isinstance(target, str):
            texts = source.encode(), target.encode()
            call = LIB.attnc_score
            words = [x for text in texts for x in (text, len(text))]
        elif isinstance(source, str) or isinstance(target, str):
            raise TypeError("source and target must both be texts, or both ids")
        else:
            ids = _arrays.ids_of(source), _arrays.ids_of(target)
            call = LIB.attnc_score_ids
            words = [x for a in ids for x in (a.ctypes.data, len(a))]
        self._with(self._limits(), lambda h: call(h, *words, byref(p)))
        return p.value

    # ---- tokens ----

    def tokens(self, text: str, *, target: bool = False) -> Ids:
        """Returns the ids of a text, as the model reads them.

        target: in the vocabulary of answers, without a template
        """
        if not isinstance(text, str):
            raise TypeError(f"text must be str, not {type(text).__name__}")
        data = text.encode()
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

    def _limits(self, max_tokens: int = 0, *, beam: int = 0,
                cut: bool = False) -> Limits:
        return (int(max_tokens) or self._from[3], self._from[4], 0, int(beam),
                bool(cut))

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
              normalize: bool, show: bool, limits: Limits, note: str) -> Any:
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
                    raise _counted_from(error, first)
                if show:
                    _show(min(first + batch_size, n), n)
            if n == 0:  # also for models that have no rows
                self._check(call, h)
        finally:
            self._native.give(limits, h)
        results: Any = pooled if self.facts.pooled else found
        if normalize:
            results = (_arrays.normalized(pooled) if self.facts.pooled
                       else [_arrays.normalized(x) for x in found])
        return results[0] if single else results

    def _check(self, call: _Call, h: int) -> None:
        code = call(h, 0, 0, None, 0, None)
        if code < 0:
            raise self._native.error(h, code)

    def _answer(self, prompt: Any, asked: Sequence[str],
                limits: Limits) -> Callable[..., int]:
        """Returns one(worker, put), which answers a prompt."""
        options = c_words(asked)
        if isinstance(prompt, str):
            text = prompt.encode()
        else:
            ids = _arrays.ids_of(prompt, "a prompt of ids")

        def one(worker: _process.Worker | None,
                put: Callable[[Any], None]) -> int:
            failed: list[BaseException] = []

            def guarded(get: Callable[..., Any]) -> Callable[..., int]:
                def take(_: None, *piece: int) -> int:
                    try:
                        if worker and worker.stopped:
                            return 1
                        put(get(*piece))
                    except BaseException as error:
                        failed.append(error)
                        return 1
                    return 0
                return take

            def call(h: int) -> int:
                if isinstance(prompt, str):
                    return int(LIB.attnc_generate(
                        h, text, len(text), options,
                        TakeText(guarded(_piece)), None))
                return int(LIB.attnc_generate_ids(
                    h, ids.ctypes.data, len(ids), options,
                    TakeId(guarded(int)), None))

            n = self._with(limits, call)
            if failed:
                raise failed[0]
            return n

        return one


def _piece(at: int, size: int) -> str:
    return string_at(at, size).decode("utf-8", "replace")


def _strings(texts: Iterable[str]) -> list[str]:
    _arrays.texts_of(texts := list(texts))
    return texts


def _pairs_of(pairs: Any) -> tuple[list[tuple[str, str]], bool]:
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise TypeError("give pairs of texts, as [(query, document), ..]")
    found = list(pairs)
    single = len(found) == 2 and all(isinstance(x, str) for x in found)
    found = [tuple(found)] if single else found
    for i, pair in enumerate(found):
        if isinstance(pair, str) or len(pair) != 2:
            raise TypeError(f"pair {i} must be two texts")
    return found, single


def _call_of_texts(function: Any, sides: list[list[bytes]]) -> _Call:
    texts = [Texts(side) for side in sides]
    at = [addressof(a) for t in texts for a in (t.at, t.bytes)]

    # The addresses are those of `texts`, which live as long as `call`.
    def call(h: int, first: int, n: int, *to: Any, keep: Any = texts) -> int:
        return int(function(h, *[a + 8 * first for a in at], n, *to))

    return call


def _counted_from(error: Any, first: int) -> Any:
    """Counts sequences in a message of a batch from the call's first one."""
    def more(found: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda m: str(int(m[0]) + first), found[0])

    message = error.messages[0]
    text = re.sub(r"^(text|sequence) \d+|^sequences \d+ to \d+", more,
                  message.text)
    return type(error)(error.code,
                       (message._replace(text=text), *error.messages[1:]))


def _show(done: int, n: int) -> None:
    end = "\n" if done == n else ""
    print(f"\rencode {done}/{n}", end=end, file=sys.stderr, flush=True)
