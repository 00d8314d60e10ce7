"""Embeddings for LlamaIndex, which takes no class but its own. This module
therefore needs llama-index-core; the package attnc does not.

    from attnc.llama_index import Embedding

    index = VectorStoreIndex.from_documents(
        documents, embed_model=Embedding("all-MiniLM-L6-v2", dtype="int8"))
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from attnc._embedder import Embedder
from attnc.model import Model


class Embedding(BaseEmbedding):
    """Embeds texts as lists of floats.

    model: a model that pools, or what attnc.load() opens
    batch_size: texts that are encoded at once
    more: query_prompt, document_prompt (of the model), normalize (True),
        truncate (True), and options of attnc.load()
    """

    _embedder: Embedder = PrivateAttr()

    def __init__(self, model: Model | str | os.PathLike[str], *,
                 batch_size: int = 32, **more: Any) -> None:
        embedder = Embedder(model, batch_size=batch_size, **more)
        super().__init__(model_name=embedder.model.facts.name,
                         embed_batch_size=batch_size)
        self._embedder = embedder

    @classmethod
    def class_name(cls) -> str:
        return "attnc"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embedder.queries([query])[0]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._embedder.documents([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.documents(texts)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[
            list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)
