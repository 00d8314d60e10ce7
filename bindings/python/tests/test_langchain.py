"""attnc.langchain, without LangChain and, if it is installed, with it."""

import asyncio
import unittest

import numpy as np

from attnc.langchain import Embeddings
from support import ENCODER, ROWS, Case, some_words, words

try:
    from langchain_core import embeddings, vectorstores
except ImportError:
    vectorstores = None


class LangChain(Case):
    def test_embeddings(self):
        texts = some_words(5)
        e = Embeddings(words(), batch_size=2)
        rows = words().encode(texts, normalize=True)
        np.testing.assert_array_equal(e.embed_documents(texts), rows)
        np.testing.assert_array_equal(e.embed_query(texts[1]), rows[1])
        self.assertIs(type(e.embed_query("a")[0]), float)
        self.assertEqual(e.embed_documents([]), [])
        both = asyncio.run(self.both(e, texts))
        np.testing.assert_array_equal(both[0], rows)
        np.testing.assert_array_equal(both[1], rows[0])

    async def both(self, e, texts):
        return await asyncio.gather(e.aembed_documents(texts),
                                    e.aembed_query(texts[0]))

    def test_options(self):
        e = Embeddings(None, spec=ENCODER, seed=3, threads=1, query_prompt="q",
                       document_prompt="d", normalize=False)
        np.testing.assert_array_equal(e.embed_query("abc"),
                                      words().encode("qabc"))
        np.testing.assert_array_equal(e.embed_documents(["abc"])[0],
                                      words().encode("dabc"))
        self.assertEqual(len(e.embed_query("a" * 100)), 16)
        with self.raises(ValueError, "at most 24 are taken"):
            Embeddings(words(), truncate=False).embed_query("a" * 100)
        with self.raises(TypeError, "the model is open: give dtype to"):
            Embeddings(words(), dtype="int8")
        with self.raises(ValueError, "words gives rows of tokens"):
            Embeddings(None, spec=ROWS, seed=3, threads=1)

    def test_empty_prompt(self):
        """An empty prompt is one: the default prompt does not replace it."""
        e = Embeddings(None, spec=ENCODER + "prompts: {query: ab, document: "
                       "''}\nprompt: query\n", seed=3, threads=1)
        rows = words().encode(["abz", "z"], normalize=True)
        np.testing.assert_array_equal(e.embed_query("z"), rows[0])
        np.testing.assert_array_equal(e.embed_documents(["z"])[0], rows[1])

    @unittest.skipIf(vectorstores is None, "no langchain_core")
    def test_store(self):
        e = Embeddings(words())
        self.assertIsInstance(e, embeddings.Embeddings)
        store = vectorstores.InMemoryVectorStore(e)
        store.add_texts(["cats", "zzz", "dogs"])
        found = store.similarity_search_with_score("zzz", k=1)
        self.assertEqual(found[0][0].page_content, "zzz")
        self.assertAlmostEqual(found[0][1], 1.0, 5)
        self.assertEqual(asyncio.run(store.asimilarity_search("cats", k=1))[
            0].page_content, "cats")


if __name__ == "__main__":
    unittest.main()
