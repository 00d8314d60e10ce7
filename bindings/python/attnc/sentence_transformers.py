"""Models of sentence-transformers that attnc computes.

    from attnc.sentence_transformers import CrossEncoder, SentenceTransformer

    model = SentenceTransformer("all-MiniLM-L6-v2",
                                model_kwargs={"dtype": "int8", "threads": 2})
    rows = model.encode(["A text."], normalize_embeddings=True)

The functions return objects of sentence-transformers, whose first module is
the Transformer of this file. This module needs sentence-transformers; the
package attnc does not.
"""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any, Callable, Sequence, TypeVar

import numpy as np
import sentence_transformers as st
import torch
from torch import Tensor, nn

from attnc import _saved
from attnc.model import Model, load

_Path = str | os.PathLike[str]
T = TypeVar("T")
_CONFIG = "attnc.json"  # of Transformer.save()


class Transformer(nn.Module):
    """The module of a model that attnc opens. It pools if the checkpoint does.

    path: a spec, a checkpoint's folder or a .gguf file
    max_seq_length: most tokens of a text or a pair, the rest of which is cut
        off; None: those that the folder's files say
    options: those of attnc.load(), such as dtype="int8", threads=2

    forward() adds one of these to its features, in float32 on the CPU:
    sentence_embedding [n, columns] if the model pools, else token_embeddings
    [n, tokens, columns] with an attention_mask [n, tokens]; for pairs, scores
    [n, columns].
    """

    modalities = ["text", ("text", "text")]

    def __init__(self, path: _Path, max_seq_length: int | None = None,
                 **options: Any) -> None:
        super().__init__()
        self.model = load(path, **options)
        self._path, self._options = path, options
        self._task: str | None = None  # of texts that have none
        most = (max_seq_length
                or _read(path, "sentence_bert_config.json").get(
                    "max_seq_length")
                or _read(path, "tokenizer_config.json").get(
                    "model_max_length")
                or self.model.facts.max_source)
        self.max_seq_length: int | None = min(int(most),
                                              self.model.facts.max_source)

    def _most(self) -> int:
        most = self.model.facts.max_source
        return min(self.max_seq_length or most, most)

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers, for methods such as decode() of a
        SparseEncoder. forward() does without it."""
        from transformers import AutoTokenizer
        return AutoTokenizer.from_pretrained(self._path)

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None,
                   task: str | None = None, **_: Any) -> dict[str, Any]:
        """Returns features with the texts, or pairs of them, as they are:
        forward() tokenizes.

        prompt: precedes each text, or the first one of a pair
        task: "query" or "document", in late interaction
        """
        begin = prompt or ""
        return {"texts": [begin + x if isinstance(x, str)
                          else (begin + x[0], *x[1:]) for x in inputs],
                "task": task or self._task}

    def tokenize(self, texts: Sequence[Any], **more: Any) -> dict[str, Any]:
        return self.preprocess(texts, **more)

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        found = dict(features)
        texts, task = found.pop("texts"), found.pop("task", None)
        if texts and not isinstance(texts[0], str):
            scores = torch.from_numpy(self.model.predict(
                texts, len(texts), truncate=True,
                max_tokens=self._most()))
            return found | {"scores": scores.reshape(
                len(texts), self.model.facts.columns)}
        rows = self.model.encode(texts, max(1, len(texts)), truncate=True,
                                 max_tokens=self._most(),
                                 is_query={"query": True, "document": False
                                           }.get(task),
                                 prompt="")  # preprocess() adds it
        if self.model.facts.pooled:
            pooled = torch.from_numpy(rows)
            return found | {"sentence_embedding": pooled, "scores": pooled}
        return found | _padded(rows)

    def get_embedding_dimension(self) -> int:
        return self.model.facts.columns

    # Older names.
    get_word_embedding_dimension = get_embedding_dimension
    get_sentence_embedding_dimension = get_embedding_dimension

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Copies the spec or the checkpoint to a folder, for load(). Options
        that belong to this machine, such as threads or a backend, are not
        saved. Raises ValueError for an option that cannot be.
        """
        to = Path(output_path)
        to.mkdir(parents=True, exist_ok=True)
        path, options = _saved.saved(self._path, self._options, to)
        (to / _CONFIG).write_text(json.dumps(
            {"path": path, "max_seq_length": self.max_seq_length,
             "options": options}, indent=2), "utf-8")

    @classmethod
    def load(cls, input_path: str) -> Transformer:
        """Opens what save() has copied."""
        config = _read(input_path, _CONFIG)
        found = _saved.kept(config["options"],
                            lambda path: str(Path(input_path, path)))
        return cls(Path(input_path, config["path"]), config["max_seq_length"],
                   **found)

    def extra_repr(self) -> str:
        return repr(self.model)


def _padded(rows: list[Any]) -> dict[str, Tensor]:
    columns = rows[0].shape[1] if rows else 0
    shape = len(rows), max(map(len, rows), default=0)
    tokens = np.zeros((*shape, columns), np.float32)
    mask = np.zeros(shape, np.int64)
    for i, one in enumerate(rows):
        tokens[i, :len(one)] = one
        mask[i, :len(one)] = 1
    return {"token_embeddings": torch.from_numpy(tokens),
            "attention_mask": torch.from_numpy(mask)}


# ---- models ----

def _read(path: _Path, name: str) -> dict[str, Any]:
    """Returns a JSON file of a checkpoint's folder; {}: there is none."""
    file = Path(path, name)
    found = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return found if isinstance(found, dict) else {}


def _prompts(model: Model) -> dict[str, Any]:
    """Returns the prompts of a model as arguments."""
    found, default = model.prompts, model.prompt()
    if default is None:
        return {"prompts": found}
    return {"prompts": found, "default_prompt_name": next(
        name for name, text in found.items() if text == default)}


def _configured(path: _Path, model: Model,
                given: dict[str, Any]) -> dict[str, Any]:
    """Returns arguments given, and those of the folder's file, or else of the
    model, for others.
    """
    config = _read(path, "config_sentence_transformers.json")
    names = ("prompts", "default_prompt_name", "similarity_fn_name")
    found = {name: config[name] for name in names if config.get(name)}
    if "prompts" not in {**found, **given}:
        found |= _prompts(model)
    return found | given


def _made(kind: Callable[..., T], modules: list[nn.Module],
          more: dict[str, Any]) -> T:
    """Returns an object of sentence-transformers."""
    device = more.pop("device", None)
    if device is not None and torch.device(device).type != "cpu":
        raise ValueError(f"attnc computes on the CPU: device must be \"cpu\", "
                         f"not {device}")
    return kind(modules=modules, device="cpu", **more)


def SentenceTransformer(path: _Path, *,
                        model_kwargs: dict[str, Any] | None = None,
                        **more: Any) -> st.SentenceTransformer:
    """Returns a sentence_transformers.SentenceTransformer.

    model_kwargs: options of attnc.load(), and max_seq_length
    more: other arguments of the class, such as prompts, truncate_dim
    """
    first = Transformer(path, **(model_kwargs or {}))
    rest: list[nn.Module] = []
    if not first.model.facts.pooled:
        from sentence_transformers.models import Pooling
        rest.append(Pooling(first.get_embedding_dimension()))
    return _made(st.SentenceTransformer, [first, *rest],
                 _configured(path, first.model, more))


def CrossEncoder(path: _Path, *, model_kwargs: dict[str, Any] | None = None,
                 activation_fn: Any = None, **more: Any) -> st.CrossEncoder:
    """Returns a sentence_transformers.CrossEncoder, a reranker.

    model_kwargs: options of attnc.load()
    activation_fn: of scores; None: that of config.json, or else a sigmoid if
        the model has one column
    more: other arguments of the class
    """
    module = Transformer(path, **(model_kwargs or {}))
    if activation_fn is None:
        config = _read(path, "config.json")
        name = config.get("sentence_transformers", {}).get(
            "activation_fn", config.get("sbert_ce_default_activation_function"))
        activation_fn = _activation(name, module.get_embedding_dimension())
    return _made(st.CrossEncoder, [module],
                 {"activation_fn": activation_fn, **more})


def _activation(name: str | None, columns: int) -> Any:
    if name is None:
        return nn.Sigmoid() if columns == 1 else nn.Identity()
    kind = getattr(nn, name.rpartition(".")[2], None)
    if not (name.startswith("torch.nn.") and isinstance(kind, type)):
        raise ValueError(f"activation_fn {name} of config.json is not one of "
                         f"torch.nn: give activation_fn")
    return kind()


def SparseEncoder(path: _Path, *, model_kwargs: dict[str, Any] | None = None,
                  **more: Any) -> st.SparseEncoder:
    """Returns a sentence_transformers.SparseEncoder, such as SPLADE.

    path: a model with logits, whose maximum over the tokens is taken
    model_kwargs: options of attnc.load(), and max_seq_length
    more: other arguments of the class
    """
    first = Transformer(path, **(model_kwargs or {}))
    rest: list[nn.Module] = []
    if not first.model.facts.pooled:
        from sentence_transformers.sparse_encoder.modules import SpladePooling
        rest.append(SpladePooling())
    return _made(st.SparseEncoder, [first, *rest],
                 _configured(path, first.model, more))


def MultiVectorEncoder(path: _Path, *,
                       model_kwargs: dict[str, Any] | None = None,
                       **more: Any) -> Any:
    """Returns a sentence_transformers.MultiVectorEncoder, late interaction,
    which sentence-transformers 6 has.

    model_kwargs: options of attnc.load(), and max_seq_length
    more: other arguments of the class
    """
    first = Transformer(path, **(model_kwargs or {}))
    first._task = "document"
    found = _configured(path, first.model, more)
    if "similarity_fn_name" in found:  # PyLate writes "MaxSim"
        found["similarity_fn_name"] = found["similarity_fn_name"].lower()
    return _made(st.MultiVectorEncoder, [first], found)
