"""attnc.llama_index. Needs llama-index-core."""

import asyncio
import unittest

import numpy as np

from support import Case, needs, some_words, words

needs("llama_index")
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import TextNode

from attnc.llama_index import Embedding


class LlamaIndex(Case):
    def test_embedding(self):
        texts = some_words(5)
        e = Embedding(words(), batch_size=2, query_prompt="q")
        rows = words().encode(texts, normalize=True)
        np.testing.assert_array_equal(e.get_text_embedding_batch(texts), rows)
        np.testing.assert_array_equal(e.get_text_embedding(texts[1]), rows[1])
        query = words().encode("qabc", normalize=True)
        np.testing.assert_array_equal(e.get_query_embedding("abc"), query)
        np.testing.assert_allclose(
            e.get_agg_embedding_from_queries(["abc", "abc"]), query)
        np.testing.assert_array_equal(
            asyncio.run(e.aget_text_embedding_batch(texts)), rows)
        np.testing.assert_array_equal(
            asyncio.run(e.aget_query_embedding("abc")), query)
        self.assertEqual(e.to_dict()["class_name"], "attnc")
        self.assertEqual(e.model_name, "words")

    def test_index(self):
        index = VectorStoreIndex(
            [TextNode(text=text) for text in ("cats", "zzz", "dogs")],
            embed_model=Embedding(words()))
        found = index.as_retriever(similarity_top_k=1).retrieve("zzz")
        self.assertEqual(found[0].text, "zzz")
        self.assertAlmostEqual(found[0].score, 1.0, 5)


if __name__ == "__main__":
    unittest.main()
