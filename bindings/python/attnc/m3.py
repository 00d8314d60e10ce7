"""The three outputs of bge-m3 by one encoding.

    from attnc.m3 import M3

    model = M3("bge-m3", dtype="int8")
    found = model.encode(["A text.", "Another one."])
    found.dense @ found.dense.T
    M3.lexical_score(found.sparse[0], found.sparse[1])
    attnc.maxsim(found.colbert[0], found.colbert[1])
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, NamedTuple, Sequence

import numpy as np

from attnc import _arrays
from attnc._options import count
from attnc.errors import TOO_LONG, InputError, Message
from attnc.model import Model, load
from attnc.state_dict import state_dict

if TYPE_CHECKING:
    from attnc._arrays import Ids, Rows


class Encoded(NamedTuple):
    """The three outputs for n texts.

    dense: rows of length 1 [n, columns], to compare by their product
    sparse: for each text a dict from ids of tokens to weights above 0
    colbert: for each text rows of length 1 [tokens - 1, width], to compare by
        attnc.maxsim()
    """

    dense: Rows
    sparse: list[dict[int, float]]
    colbert: list[Rows]


class M3:
    """A model of bge-m3: an encoder, and sparse_linear and colbert_linear
    beside it, as .safetensors or .pt.

    path: the checkpoint's folder
    options: those of attnc.load()
    """

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        given = options.pop("set", {})
        self.model: Model = load(path, set={
            "head.type": "rows", "head.pool": "none", "head.normalize": False,
            **given}, **options)
        folder = Path(path)
        self._sparse, self._colbert = (
            _linear(folder, name, self.model.facts.columns)
            for name in ("sparse", "colbert"))
        if len(self._sparse[0]) != 1:
            raise ValueError(f"{folder}: sparse_linear must have 1 row, not "
                             f"{len(self._sparse[0])}")
        config = json.loads((folder / "config.json").read_text("utf-8"))
        self._special = {config.get(f"{name}_token_id")
                         for name in ("bos", "eos", "pad")} | {_unknown(folder)}

    def encode(self, texts: str | Iterable[str], batch_size: int = 32, *,
               truncate: bool = False, max_tokens: int = 0) -> Encoded:
        """Returns the three outputs of texts.

        batch_size: texts that are encoded at once
        truncate: cuts texts longer than max_tokens; False: they are an error
        max_tokens: most tokens of a text; 0: those of the model
        """
        data, _ = _arrays.texts_of(texts)
        ids = [self.model.tokens(text.decode()) for text in data]
        longest = self.model.facts.max_source
        most = min(count("max_tokens", max_tokens) or longest, longest)
        for i, x in enumerate(ids):
            if len(x) > most and not truncate:
                raise InputError(TOO_LONG, (
                    Message("error", f"sequence {i}: {len(x)} rows, at most "
                                     f"{most} are taken"),
                    Message("note", "truncate=True cuts longer texts")))
            if len(x) > most:
                ids[i] = np.append(x[:most - 1], x[-1:])
        return self.encode_ids(ids, batch_size)

    def encode_ids(self, ids: Sequence[Ids], batch_size: int = 32) -> Encoded:
        """Returns the three outputs of sequences of ids."""
        rows = self.model.encode_ids(ids, batch_size=batch_size)
        first = np.array([x[0] for x in rows], np.float32).reshape(
            len(rows), self.model.facts.columns)
        return Encoded(
            _arrays.normalized(first),
            [self._weights(x, one) for x, one in zip(rows, ids)],
            [_arrays.normalized(_product(x[1:], self._colbert)) for x in rows])

    def _weights(self, rows: Rows, ids: Ids) -> dict[int, float]:
        found: dict[int, float] = {}
        for i, x in zip(ids, _product(rows, self._sparse)[:, 0]):
            if x > found.get(int(i), 0) and int(i) not in self._special:
                found[int(i)] = float(x)
        return found

    @staticmethod
    def lexical_score(a: dict[int, float], b: dict[int, float]) -> float:
        """Returns the sum of the products of the weights of common tokens."""
        return sum(x * b[i] for i, x in a.items() if i in b)


def _product(rows: Rows, by: tuple[Rows, Rows]) -> Rows:
    y: Rows = rows @ by[0].T + by[1]
    return y


def _linear(folder: Path, name: str, columns: int) -> tuple[Rows, Rows]:
    """Returns weight [rows, columns] and bias [rows] of a product that is
    stored next to the model.
    """
    files = [folder / f"{name}_linear.{end}" for end in ("safetensors", "pt")]
    file = next((x for x in files if x.is_file()), None)
    if file is None:
        raise FileNotFoundError(f"{folder} has no {files[0].name} and no "
                                f"{files[1].name}: it is no folder of bge-m3")
    found = state_dict(file)
    if set(found) != {"weight", "bias"}:
        raise ValueError(f"{file} must have a weight and a bias, not "
                         f"{', '.join(sorted(found))}")
    weight, bias = found["weight"], found["bias"]
    if weight.ndim != 2 or weight.shape[1] != columns or (
            bias.shape != weight.shape[:1]):
        raise ValueError(f"{file} must have a weight [n, {columns}] and a bias "
                         f"[n], not {list(weight.shape)} and "
                         f"{list(bias.shape)}")
    return weight, bias


def _unknown(folder: Path) -> int | None:
    """Returns the id of unknown tokens."""
    file = folder / "tokenizer.json"
    if not file.is_file():
        return None
    found = json.loads(file.read_text("utf-8"))["model"].get("unk_id")
    return None if found is None else int(found)
