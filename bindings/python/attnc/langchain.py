"""Embeddings for LangChain.

    from attnc.langchain import Embeddings

    store = InMemoryVectorStore(Embeddings("all-MiniLM-L6-v2", dtype="int8"))

The class is one of langchain_core.embeddings.Embeddings if that is installed.
It does not need it: its methods are the same without.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from attnc._embedder import Embedder
from attnc.model import Model

_Base: Any = object
try:
    from langchain_core import embeddings
    _Base = embeddings.Embeddings
except ImportError:
    pass


class Embeddings(_Base):
    """Embeds texts as lists of floats.

    model: a model that pools, or what attnc.load() opens
    more: query_prompt, document_prompt (of the model), normalize (True),
        truncate (True), batch_size (32), and options of attnc.load()
    """

    def __init__(self, model: Model | str | os.PathLike[str],
                 **more: Any) -> None:
        self._embedder = Embedder(model, **more)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._embedder.queries([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        return await asyncio.to_thread(self.embed_query, text)
