"""Answers of a model: texts that it generates, their scores and logits."""

from __future__ import annotations

from contextlib import nullcontext
from ctypes import addressof, byref, c_char_p, c_double, string_at
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Literal
from typing import Mapping, Sequence, overload

import numpy as np

from attnc import _arrays, _process
from attnc._arrays import Texts
from attnc._library import LIB, TakeAnswer, TakeId, TakeText
from attnc._native import Facts, Limits, Native
from attnc._options import c_words, count, encoded, utf8, words
from attnc.errors import Error, counted_from

if TYPE_CHECKING:
    from attnc._arrays import Rows
    from attnc.attention import Attention

# one(worker, put) answers, and passes what comes to put()
_One = Callable[..., int]


class State(bytes):
    """A state of a model that generates: what it has read and written.

    It has the bytes of a file of `attnc run --save-state`.

    text: the answer before the state, or ""
    """

    text: str = ""


class Answers:
    """The part of a Model that generates text."""

    facts: Facts
    _native: Native
    _hidden_opened = False  # a call of hidden() has compiled the model

    def _limits(self, max_tokens: int = 0, *, cut: bool = False,
                task: int = 0) -> Limits:
        raise NotImplementedError

    def _with(self, limits: Limits, call: Callable[[int], int],
              note: str = "") -> int:
        raise NotImplementedError

    # ---- text ----

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
                 stop: str | Sequence[str] | None = None,
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
        stop: a text, or several, before which the answer ends
        options: others of `attnc run` for search and sampling, such as
            repetition_penalty=1.2, suppress=["a"], min_length=3
        """
        if beam is None and (stream or self.facts.kind == "decoder"):
            beam = 1
        asked = words({"n": n, "beam": beam, "temperature": temperature,
                       "top_k": top_k, "top_p": top_p, "seed": seed,
                       "stop": _list(stop), **options})
        one = self._answer(prompt, asked, self._limits())
        return _answered(one, stream, isinstance(prompt, str))

    def chat(self, messages: Iterable[Mapping[str, str]], *,
             stream: bool = False, n: int | None = None,
             temperature: float | None = None, top_k: int | None = None,
             top_p: float | None = None, seed: int | None = None,
             stop: str | Sequence[str] | None = None, **options: Any) -> Any:
        """Returns the answer to the last message of a conversation.

        messages: [{"role": "user", "content": "Hello"}, ..]; the roles "user"
            and "assistant" alternate, and "system" may be the first. The
            texts around them are those of the model's chat template.
        stream, n, temperature, top_k, top_p, seed, stop, options: as for
            generate(), but no beam

        Only new messages are read if a call repeats the messages of an
        earlier one and its answer.
        """
        found = list(messages)
        parts = []
        for key in "role", "content":
            for i, message in enumerate(found):
                if not isinstance(message, Mapping) or not isinstance(
                        message.get(key), str):
                    raise TypeError(f"message {i} must have the str {key!r}")
            parts.append((c_char_p * len(found))(*[
                encoded(f"message {i}", message[key])
                for i, message in enumerate(found)]))
        asked = c_words(words({
            "n": n, "temperature": temperature, "top_k": top_k, "top_p": top_p,
            "seed": seed, "stop": _list(stop), **options}))
        one = self._passing(self._limits(), lambda h, take: int(LIB.attnc_chat(
            h, *parts, len(found), asked, TakeText(take(_piece)), None)))
        return _answered(one, stream, True)

    def translate(self, texts: str | Iterable[str], *,
                  beam: int | None = None, nbest: int | None = None,
                  batch_size: int = 32, **options: Any) -> Any:
        """Returns the answer to a text, or a list of answers to a list.

        beam: None: that of the spec
        nbest: how many answers are returned to each text: a list of (text,
            score), the best first. A search may find fewer. The score is the
            natural logarithm of the probability after the length penalty.
        batch_size: texts that are answered at once; Ctrl-C ends the call after
            a batch
        options: those of generate(), but not stop
        """
        if batch_size < 1:
            raise ValueError("batch_size must be at least 1")
        asked = c_words(words({"beam": beam, "nbest": nbest, **options}))
        data, single = _arrays.texts_of(texts)
        found: list[list[tuple[str, float]]] = [[] for _ in data]

        def batch(first: int, worker: _process.Worker | None) -> None:
            part = Texts(data[first:first + batch_size])

            def put(answer: tuple[int, str, float]) -> None:
                found[first + answer[0]].append(answer[1:])

            one = self._passing(self._limits(), lambda h, take: int(
                LIB.attnc_answers(h, addressof(part.at), addressof(part.bytes),
                                  len(part.bytes), asked,
                                  TakeAnswer(take(_best)), None)))
            try:
                one(worker, put)
            except Error as error:
                raise counted_from(error, first) from None

        def work(worker: _process.Worker | None) -> None:
            for first in range(0, max(len(data), 1), batch_size):
                if not (worker and worker.stopped):
                    batch(first, worker)

        _process.interruptible(work)
        results: list[Any] = found if nbest is not None else [
            answers[0][0] if answers else "" for answers in found]
        return results[0] if single else results

    # ---- probabilities ----

    def score(self, source: Any, target: Any, batch_size: int = 32) -> Any:
        """Returns the natural logarithm of the probability that the answer to
        `source` is `target` and then ends. Both are texts, or both ids. Two
        lists of texts give an array.

        batch_size: pairs of lists that are scored at once; the result is the
            same for each. Ctrl-C ends the call after a batch.
        """
        if isinstance(source, (list, tuple)) and isinstance(
                target, (list, tuple)) and all(
                    isinstance(x, str) for x in (*source, *target)):
            return self._scores(source, target, batch_size)
        p = c_double()
        texts, arguments, _keep = _sides(source, target)
        call = LIB.attnc_score if texts else LIB.attnc_score_ids
        self._with(self._limits(), lambda h: call(h, *arguments, byref(p)))
        return p.value

    def _scores(self, sources: Sequence[str], targets: Sequence[str],
                batch_size: int) -> Any:
        if len(sources) != len(targets):
            raise ValueError("source and target must have the same length")
        if batch_size < 1:
            raise ValueError("batch_size must be at least 1")
        sides = [Texts(_arrays.texts_of(side)[0])
                 for side in (sources, targets)]
        at = [addressof(a) for side in sides for a in (side.at, side.bytes)]
        out = np.empty(len(sources))
        for first in range(0, max(len(out), 1), batch_size):
            n = min(batch_size, len(out) - first)
            try:
                self._with(self._limits(), lambda h: LIB.attnc_scores(
                    h, *[a + 8 * first for a in at], n,
                    out.ctypes.data + 8 * first))
            except Error as error:
                raise counted_from(error, first) from None
        return out

    def logits(self, source: Any, target: Any = None, *,
               last: int = 0) -> Rows:
        """Returns logits [rows, target_vocab]: for each token that the
        decoder reads, those of the token after it.

        The decoder reads its start token, if it has one, a decoder's `source`
        and the target.

        source: a text, or ids
        target: what the decoder reads after it, in the same form; None:
            nothing
        last: only so many of the last rows; 0: all
        """
        if target is None:
            target = "" if isinstance(source, str) else []
        last = count("last", last)
        texts, arguments, _keep = _sides(source, target)
        call = LIB.attnc_logits if texts else LIB.attnc_logits_ids
        out = np.empty((0, self.facts.target_vocab), np.float32)

        def work(h: int) -> int:
            nonlocal out
            n = int(call(h, *arguments, last, None, 0))
            if n < 0:
                return n
            out = np.empty((n, self.facts.target_vocab), np.float32)
            return int(call(h, *arguments, last, out.ctypes.data, out.size))

        self._with(self._limits(), work)
        return out

    def hidden(self, source: Any, target: Any = None) -> Rows:
        """Returns the rows that the model's head reads, after the last norm:
        [rows, d_model]. Those of a model that generates are the rows from
        which logits() computes logits, those of an encoder the rows of its
        tokens, before a head pools, projects or classifies them.

        source: a text, or ids
        target: as for logits(); None: nothing, as for an encoder

        The first call compiles the model again and loads its weights a second
        time.
        """
        none = "" if isinstance(source, str) else []
        texts, arguments, _keep = _sides(source,
                                         none if target is None else target)
        if target is None:
            arguments[2:] = None, 0
        call = LIB.attnc_hidden if texts else LIB.attnc_hidden_ids
        out = np.empty((0, self.facts.d_model), np.float32)

        def work(h: int) -> int:
            nonlocal out
            with nullcontext() if self._hidden_opened else _process.compiling:
                n = int(call(h, *arguments, None, 0))
            self._hidden_opened |= n >= 0
            if n < 0:
                return n
            out = np.empty((n, self.facts.d_model), np.float32)
            return int(call(h, *arguments, out.ctypes.data, out.size))

        self._with(self._limits(), work)
        return out

    # ---- states ----

    def state(self, prompt: str, *, n: int = 0, **options: Any) -> State:
        """Returns the state of the model after a prompt and n tokens of its
        answer, from which resume() continues as if it had never stopped.

        options: those of generate(), but no beam
        """
        if not isinstance(prompt, str):
            raise TypeError(f"prompt must be str, not {type(prompt).__name__}")
        asked = words({"n": n, "beam": 1, **options})
        one = self._answer(prompt, asked, self._limits(), True)
        pieces: list[Any] = []
        _process.interruptible(lambda worker: one(worker, pieces.append))
        state = State(pieces.pop())
        state.text = "".join(pieces)
        return state

    def resume(self, state: bytes, prompt: str = "", *, stream: bool = False,
               n: int | None = None, **options: Any) -> Any:
        """Returns the answer that continues a state.

        prompt: a text that a decoder reads first
        stream, n, options: as for generate(), but no beam; a state contains no
            options
        """
        asked = _of_one_answer(words({"n": n, "beam": 1, **options}))
        if not isinstance(state, (bytes, bytearray, memoryview)):
            raise TypeError(f"state must be bytes, not {type(state).__name__}")
        data, text = bytes(state), utf8("prompt", prompt)
        one = self._passing(
            self._limits(), lambda h, take: int(LIB.attnc_continue(
                h, data, len(data), text, len(text), asked,
                TakeText(take(_piece)), None)))
        return _answered(one, stream, True)

    # ---- attention ----

    def attention(self, text: str, **options: Any) -> Attention:
        """Returns the attention weights of all heads for a text and the
        model's answer to it. A notebook shows them as a picture.

        options: of `attnc run`: n=0 for no answer, prefix="..." for the
            beginning of the answer, layer=0 for one layer, head=1 and query=2
            for the picture, and those of generate()
        """
        from attnc.attention import attention_of
        return attention_of(self, text, words(options), self._limits())

    # ---- calls ----

    def _passing(self, limits: Limits,
                 call: Callable[[int, Callable[[Callable[..., Any]],
                                               Callable[..., int]]], int],
                 after: Callable[[int, Callable[[Any], None]],
                                 int] | None = None) -> _One:
        """Returns one(worker, put). It calls call(handle, take), where
        take(get) is a function for C that puts get(*arguments); and then
        after(handle, put).
        """
        def one(worker: _process.Worker | None,
                put: Callable[[Any], None]) -> int:
            failed: list[BaseException] = []

            def guarded(get: Callable[..., Any]) -> Callable[..., int]:
                def take(_: None, *piece: Any) -> int:
                    try:
                        if worker and worker.stopped:
                            return 1
                        put(get(*piece))
                    except BaseException as error:
                        failed.append(error)
                        return 1
                    return 0
                return take

            def both(h: int) -> int:
                n = call(h, guarded)
                return after(h, put) if after and n >= 0 and not failed else n

            n = self._with(limits, both)
            if failed:
                raise failed[0]
            return n

        return one

    def _answer(self, prompt: Any, asked: Sequence[str], limits: Limits,
                keeps_state: bool = False) -> _One:
        """Returns one(worker, put), which answers a prompt, and then puts the
        state if it is to be kept.
        """
        options = _of_one_answer(asked)
        if isinstance(prompt, str):
            text = utf8("prompt", prompt)
            return self._passing(
                limits, lambda h, take: int(LIB.attnc_generate(
                    h, text, len(text), options, TakeText(take(_piece)),
                    None)), _put_state if keeps_state else None)
        ids = _arrays.ids_of(prompt, "a prompt of ids")
        return self._passing(limits, lambda h, take: int(
            LIB.attnc_generate_ids(h, ids.ctypes.data, len(ids), options,
                                   TakeId(take(int)), None)))


def _of_one_answer(asked: Sequence[str]) -> Any:
    """Returns the words for C, which leaves nbest out without a message."""
    if any(word.startswith("--nbest") for word in asked):
        raise TypeError("nbest is an option of translate()")
    return c_words(asked)


def _put_state(h: int, put: Callable[[Any], None]) -> int:
    n = int(LIB.attnc_state(h, None, 0))
    if n < 0:
        return n
    out = np.empty(n // 8 + 1, np.int64)  # at a multiple of 8 bytes
    n = int(LIB.attnc_state(h, out.ctypes.data, n))
    put(out.tobytes()[:n])
    return n


def _answered(one: _One, stream: bool, text: bool) -> Any:
    """Returns an answer as a text or an array of ids, or its pieces."""
    if stream:
        return _process.stream(lambda worker: one(worker, worker.put))
    pieces: list[Any] = []
    _process.interruptible(lambda worker: one(worker, pieces.append))
    return "".join(pieces) if text else np.array(pieces, np.int32)


def _piece(at: int, size: int) -> str:
    return string_at(at, size).decode("utf-8", "replace")


def _best(at: Any) -> tuple[int, str, float]:
    a = at.contents
    text = _piece(a.text, a.bytes) if a.text else ""
    return a.question, text, a.score


def _list(stop: str | Sequence[str] | None) -> list[str] | None:
    if stop is None:
        return None
    found = [stop] if isinstance(stop, str) else list(stop)
    for text in found:
        encoded("stop", text)
    return found


def _sides(source: Any, target: Any) -> tuple[bool, list[Any], Any]:
    """Returns whether both are texts, and the arguments of C: the address and
    the size of each, with what owns the memory.
    """
    if isinstance(source, str) and isinstance(target, str):
        texts = utf8("source", source), utf8("target", target)
        return True, [x for text in texts for x in (text, len(text))], texts
    if isinstance(source, str) or isinstance(target, str):
        raise TypeError("source and target must both be texts, or both ids")
    ids = _arrays.ids_of(source), _arrays.ids_of(target)
    return False, [x for a in ids for x in (a.ctypes.data, len(a))], ids
