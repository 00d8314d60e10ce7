"""What the classes for LangChain and LlamaIndex share."""

from __future__ import annotations

import os
from typing import Any, Iterable

from attnc.model import Model, load


class Embedder:
    """A model with the way in which it embeds queries and documents.

    model: a model that pools, or what attnc.load() opens, with its options
    query_prompt, document_prompt: precede each query and each document, such
        as "query: "; None: the model's prompts "query" and "document", if it
        has them, or else its default prompt
    normalize: divides each row by its length
    truncate: cuts texts that are too long; False: they are an error
    """

    def __init__(self, model: Model | str | os.PathLike[str], *,
                 query_prompt: str | None = None,
                 document_prompt: str | None = None,
                 normalize: bool = True, truncate: bool = True,
                 batch_size: int = 32, **options: Any) -> None:
        if isinstance(model, Model) and options:
            raise TypeError(f"the model is open: give {next(iter(options))} to "
                            f"attnc.load()")
        opened = model if isinstance(model, Model) else load(model, **options)
        if not opened.facts.pooled:
            raise ValueError(f"{opened.facts.name} gives rows of tokens, not "
                             f"of texts: set={{'head': 'pool'}} takes "
                             f"their mean")
        self.model, self.batch_size = opened, batch_size
        self.query_prompt = _prompt(opened, "query", query_prompt)
        self.document_prompt = _prompt(opened, "document", document_prompt)
        self._normalize, self._truncate = normalize, truncate

    def queries(self, texts: Iterable[str]) -> list[list[float]]:
        return self._rows(self.query_prompt, texts)

    def documents(self, texts: Iterable[str]) -> list[list[float]]:
        return self._rows(self.document_prompt, texts)

    def _rows(self, prompt: str, texts: Iterable[str]) -> list[list[float]]:
        rows: list[list[float]] = self.model.encode(
            texts, self.batch_size, prompt=prompt, normalize=self._normalize,
            truncate=self._truncate).tolist()
        return rows


def _prompt(model: Model, name: str, given: str | None) -> str:
    for prompt in given, model.prompt(name), model.prompt():
        if prompt is not None:
            return prompt
    return ""
