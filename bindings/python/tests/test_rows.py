"""encode(), predict() and the arrays that they take and give."""

import contextlib
import io
import json
import os
import pickle
import unittest

import numpy as np

import attnc
from support import (
    ENCODER, FAMILIES, LETTERS, ROOT, ROWS, Case, some_words, words)


class Lent:
    """An array of another library, which has DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Pooled(Case):
    def test_shapes(self):
        rows = words().encode(["abc", "defgh"])
        self.assertEqual((rows.shape, rows.dtype), ((2, 16), np.float32))
        one = words().encode("defgh")
        self.assertEqual(one.shape, (16,))
        np.testing.assert_array_equal(one, rows[1])
        self.assertEqual(words().encode([]).shape, (0, 16))
        self.assertEqual(words().encode(x for x in ["a", "b"]).shape, (2, 16))

    def test_batches(self):
        texts = some_words(100)
        alone = np.stack([words().encode(text) for text in texts])
        for batch_size in (1, 3, 32, 33, 1000):
            for threads in (1, 2):
                np.testing.assert_array_equal(
                    words(threads).encode(texts, batch_size), alone)

    def test_same_bits(self):
        """No byte of a row depends on its batch, its place or the threads."""
        count = int(os.environ.get("ATTNC_TEST_TEXTS", "200"))
        order, texts = np.random.default_rng(1), some_words(count)
        alone = np.stack([words().encode(text) for text in texts])
        differing = 0
        for batch_size in range(1, 65):
            places = order.permutation(count)
            given = [texts[i] for i in places]
            for m in (words(1), words(2)):
                rows = m.encode(given, batch_size)
                differing += np.count_nonzero(
                    rows.view(np.uint8) != alone[places].view(np.uint8))
        ids = words().encode_ids([words().tokens(text) for text in texts])
        differing += np.count_nonzero(ids.view(np.uint8)
                                      != alone.view(np.uint8))
        self.assertEqual(differing, 0)

    def test_truncate_dim(self):
        rows = words().encode(["abc", "defgh"])
        cut = words().encode(["abc", "defgh"], truncate_dim=5)
        np.testing.assert_array_equal(cut, rows[:, :5])
        unit = words().encode("abc", truncate_dim=5, normalize=True)
        np.testing.assert_allclose(
            unit, rows[0, :5] / np.linalg.norm(rows[0, :5]), rtol=1e-6)
        for bad in (0, 17, -1):
            with self.raises(ValueError, "truncate_dim must be 1 to 16, not"):
                words().encode("abc", truncate_dim=bad)

    def test_normalize(self):
        rows = words().encode(["abc", "defgh", "x"])
        unit = words().encode(["abc", "defgh", "x"], normalize=True)
        np.testing.assert_allclose(
            unit, rows / np.linalg.norm(rows, axis=1)[:, None], rtol=1e-6)
        self.assertEqual(unit.dtype, np.float32)
        np.testing.assert_allclose(words().similarity(rows, rows),
                                   unit @ unit.T, rtol=1e-5)
        self.assertEqual(attnc.similarity(rows[0], rows).shape, (1, 3))
        self.assertFalse(attnc.similarity([[0.0, 0.0]], [[1, 2]]).any())
        for scale in 1e-30, 1e30:
            np.testing.assert_allclose(words().similarity(
                rows * np.float32(scale), rows), unit @ unit.T, rtol=1e-5)
        for bad in (rows[0, :3], None, np.zeros((1, 2, 16))):
            with self.raises(ValueError, "the same number of columns, not"):
                attnc.similarity(rows, bad)

    def test_progress(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            words().encode(["a"] * 5, batch_size=2, show_progress_bar=True)
        self.assertEqual(said.getvalue(),
                         "\rencode 2/5\rencode 4/5\rencode 5/5\n")

    def test_ids(self):
        m, texts = words(), ["abc", "defgh"]
        ids = [m.tokens(text) for text in texts]
        rows = m.encode(texts)
        for given in (ids, [list(x) for x in ids], [x.tolist() for x in ids],
                      [x.astype(np.uint16) for x in ids],
                      [np.repeat(x, 2)[::2] for x in ids],
                      [Lent(x) for x in ids]):
            np.testing.assert_array_equal(m.encode_ids(given), rows)
        for given in (ids[0], ids[0].tolist(), Lent(ids[0])):
            np.testing.assert_array_equal(m.encode_ids(given), rows[0])
        square = np.array([ids[0], ids[0]])
        self.assertEqual(m.encode_ids(square, batch_size=1).shape, (2, 16))
        self.assertEqual(m.encode_ids([]).shape, (0, 16))

    def test_prompts(self):
        spec = ENCODER + "prompts: {query: ab, document: c}\nprompt: query\n"
        with attnc.load(spec=spec, seed=3, threads=1) as model:
            self.assertEqual(model.prompts, {"query": "ab", "document": "c"})
            plain = words().encode(["abz", "cz", "z"])
            for i, given in enumerate(({}, {"prompt_name": "document"},
                                       {"prompt": ""})):
                self.assertTrue((model.encode("z", **given) == plain[i]).all())
            self.assertTrue((model.encode(["z"], prompt="ab")
                             == plain[:1]).all())
            with self.raises(ValueError, "the model has no prompt 'x': it has "
                             "'query', 'document'"):
                model.encode("z", prompt_name="x")
        with self.raises(ValueError, "closed"):
            model.encode("z")
        self.assertEqual(words().prompts, {})
        with self.raises(ValueError, "no prompt 'x': it has none"):
            words().encode("z", prompt_name="x")

    def test_late_interaction(self):
        with attnc.load(ROOT / "tests/cli/tasks.yaml", threads=1) as model:
            texts = ["ab", "adbfg" * 5, "e"]
            for is_query, count in ((True, [6, 6, 6]), (False, [4, 5, 2])):
                rows = model.encode(texts, is_query=is_query)
                alone = [model.encode(text, is_query=is_query)
                         for text in texts]
                for a, b, n in zip(rows, alone, count):
                    np.testing.assert_array_equal(a, b)
                    self.assertEqual(len(a), n)
            # all rows but those of tokens that fill it, as without a task
            plain = model.encode("a", prompt="b")
            self.assertEqual((len(plain), len(model.encode("a"))), (3, 3))
        with self.raises(ValueError, "task is 0 to 2, for models that encode"):
            attnc.load(LETTERS, threads=1).encode("a", is_query=True)

    def test_pairs_in_a_template(self):
        folder = FAMILIES / "texts/qwen_reranker"
        cases = json.loads((folder / "texts.json").read_text())["cases"]
        pairs = [(c["text"], c["pair"]) for c in cases]
        with attnc.load(folder, threads=1) as model:
            scores = model.predict(pairs)
            np.testing.assert_allclose(
                scores, [c["row"][0] for c in cases], atol=1e-5)
            # a pair that is cut keeps the end of the template
            short = model.predict(pairs, truncate=True, max_tokens=200)
            self.assertEqual((short != scores).tolist(), [False] * 4 + [True])
        text = {"pair.prompt": "Find what is true"}
        with attnc.load(folder, threads=1, set=text) as model:
            self.assertTrue((model.predict(pairs) != scores).all())

    def test_maxsim(self):
        q, d = np.eye(2, 3), np.array([[.5, 0, 1], [.25, -1, 0]])
        self.assertEqual(attnc.maxsim(q, d), .5)
        self.assertEqual(attnc.maxsim(q, d[:0]), 0)

    def test_wrong_texts(self):
        m = words()
        for bad in (None, 3, b"abc"):
            with self.raises(TypeError, "give a str or a list of str, not"):
                m.encode(bad)
        with self.raises(TypeError, "text 1 must be str, not NoneType"):
            m.encode(["a", None])
        with self.raises(UnicodeEncodeError, "not allowed in text 1"):
            m.encode(["a", "a\ud800"])
        with self.raises(TypeError, "prompt must be str, not int"):
            m.encode("a", prompt=5)
        with self.raises(TypeError, "a prompt's name must be str, not int"):
            m.encode("a", prompt_name=5)
        with self.raises(ValueError, "must not contain NUL"):
            m.prompt("query\0x")
        for bad in -1, 2**64 + 3:
            with self.raises(ValueError, "max_tokens must be 0 to"):
                m.encode("a", max_tokens=bad)
        with self.raises(ValueError, "batch_size must be at least 1"):
            m.encode(["a"], batch_size=0)
        for batch_size in (1, 2, 32):
            with self.raises(attnc.InputError, "text 2: byte 2: a character"):
                m.encode(["a", "b", "a b"], batch_size)
        with self.raises(attnc.InputError, "text 0: byte 2: a character"):
            m.encode("a\0b")

        def broken():
            yield "a"
            raise KeyError("here")

        with self.raises(KeyError, "here"):
            m.encode(broken())
        self.assertEqual(m.encode("").shape, (16,))

    def test_truncate(self):
        m = words()
        with self.raises(attnc.InputError,
                         "sequence 0: 9 rows, at most 5 are taken\n"
                         "note: truncate=True cuts longer texts"):
            m.encode("abcdefgh", max_tokens=5)
        cut = m.encode("abcdefgh", max_tokens=5, truncate=True)
        np.testing.assert_array_equal(cut, m.encode("abcd"))
        self.assertEqual(m.encode("a" * 100, truncate=True).shape, (16,))

    def test_wrong_ids(self):
        m = words()
        with self.raises(TypeError, "ids must be integers, not float64"):
            m.encode_ids([[1.5]])
        with self.raises(TypeError, "ids must be integers, not bool"):
            m.encode_ids(np.array([True]))
        with self.raises(TypeError, "ids must have 1 dimension, not 2"):
            m.encode_ids([[[1]]])
        with self.raises(OverflowError, "ids must fit 32 bits"):
            m.encode_ids([2**40])
        for bad in (None, "abc", b"abc", 3, np.int32(3)):
            with self.raises(TypeError, "give a sequence or a list of "):
                m.encode_ids(bad)
        for bad in ([None], [[None]], ["a"], [2**70]):
            with self.raises(TypeError, "ids must be integers, not"):
                m.encode_ids(bad)
        with self.raises(attnc.InputError, "sequence 1: it is empty"):
            m.encode_ids([[1], []])
        with self.raises(attnc.InputError, "sequences 0 to 1: an id"):
            m.encode_ids([[1], [99]])
        with self.raises(attnc.InputError, "sequences 1 to 1: an id"):
            m.encode_ids([[1], [99]], batch_size=1)
        with self.raises(ValueError, "types must have the shape of ids"):
            m.encode_ids([[1]], types=[[0, 0]])
        with self.raises(attnc.UsageError, "does not do that"):
            m.encode_rows(np.zeros((0, 1, 0)))

    def test_pickle(self):
        again = pickle.loads(pickle.dumps(words()))
        np.testing.assert_array_equal(again.encode("abc"),
                                      words().encode("abc"))


class Others(Case):
    def test_not_pooled(self):
        with attnc.load(spec=ROWS, seed=1, threads=1) as m:
            found = m.encode(["abc", "defgh", "i"], batch_size=2)
            self.assertEqual([x.shape for x in found],
                             [(4, 16), (6, 16), (2, 16)])
            np.testing.assert_array_equal(m.encode("i"), found[2])
            self.assertEqual(m.encode([]), [])
            unit = m.encode(["abc"], normalize=True)[0]
            np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0,
                                       rtol=1e-6)

    def test_transformers(self):
        """Rows and scores are those of transformers."""
        for name in ("sentences-mean", "bert-reranker"):
            with attnc.load(FAMILIES / name, threads=1) as m:
                cases = json.loads(
                    (FAMILIES / name / "expected.json").read_text())["cases"]
                self.assertTrue(m.facts.pooled)
                for case in cases:
                    np.testing.assert_allclose(
                        m.encode_ids(case["ids"], case.get("types")),
                        case["rows"][0], atol=1e-5)
                ids = [case["ids"] for case in cases]
                types = [case.get("types", [0] * len(case["ids"]))
                         for case in cases]
                np.testing.assert_allclose(
                    m.encode_ids(ids, types, batch_size=2),
                    [case["rows"][0] for case in cases], atol=1e-5)
                with self.raises(attnc.InputError, "has no vocabulary"):
                    m.encode("abc")

    def test_pairs(self):
        def spec(head):
            return attnc.load(ROOT / "tests/tokenizers/pairs.yaml", threads=1,
                              seed=1, set={"head": head})

        pairs = [("abc", "de"), ("fg", "hij"), ("k", "l")]
        with spec("{type: classify, classes: 1}") as m:
            scores = m.predict(pairs, batch_size=2)
            self.assertEqual(scores.shape, (3,))
            self.assertEqual(m.predict(pairs[1]), scores[1])
            self.assertEqual(m.predict([]).shape, (0,))
            with self.raises(TypeError, "give pairs of texts"):
                m.predict("abc")
            long = ("word " * 60, "abc")
            with self.raises(attnc.InputError,
                             "note: truncate=True cuts longer pairs"):
                m.predict(long)
            self.assertEqual(m.predict(long, truncate=True),
                             m.predict(("word " * 80, "abc"), truncate=True))
            self.assertNotEqual(m.predict(long, truncate=True),
                                m.predict(long, truncate=True, max_tokens=9))
            with self.raises(TypeError, "pair 1 must be two texts"):
                m.predict([("a", "b"), ("a", "b", "c")])
            with self.raises(TypeError, "pair 0 must be two texts"):
                m.predict([None])
            with self.raises(TypeError, "text 0 must be str, not int"):
                m.predict([(1, 2)])
            np.testing.assert_array_equal(m.predict(np.array(pairs)), scores)
            self.rank(m, ["de", "hij", "l", "de"])
        with spec("{type: classify, classes: 3}") as m:
            self.assertEqual(m.predict(pairs).shape, (3, 3))
            with self.raises(ValueError, "one score per pair, and m has 3"):
                m.rank("a", ["b"])
        with self.raises(attnc.InputError, "text 0: the vocabulary has no "
                                           "template for pairs"):
            words().predict([("a", "b")])

    def rank(self, m, documents):
        scores = m.predict([("abc", text) for text in documents])
        found = m.rank("abc", documents)
        self.assertEqual([x["score"] for x in found],
                         sorted(scores.tolist(), reverse=True))
        places = [x["corpus_id"] for x in found]
        np.testing.assert_array_equal(scores[places],
                                      [x["score"] for x in found])
        self.assertLess(places.index(0), places.index(3))  # equal scores
        best = m.rank("abc", iter(documents), top_k=1, return_documents=True)
        self.assertEqual(best, [{**found[0], "text": documents[places[0]]}])
        self.assertEqual(m.rank("abc", []), [])
        with self.raises(ValueError, "top_k must be 0 to"):
            m.rank("abc", documents, top_k=-1)

    def test_attention(self):
        m = attnc.load(ROOT / "models/attention.yaml", seed=1, threads=1)
        d = m.facts.d_model
        x = np.arange(3 * d, dtype=np.float64).reshape(3, d) % 7 - 3
        out = m.attend(x[:1], x[1:], x[1:])
        self.assertEqual((out.shape, out.dtype), ((1, d), np.float32))
        np.testing.assert_array_equal(
            out, m.attend(Lent(x[:1].astype(np.float32)), x[1:], x[1:]))
        with self.raises(TypeError, f"query must have the shape (n, {d})"):
            m.attend(x[0], x, x)
        with self.raises(TypeError, "key must be floats, not complex128"):
            m.attend(x, x * 1j, x)
        with self.raises(ValueError, "the same number of rows"):
            m.attend(x, x, x[1:])

    def test_rows(self):
        text = ENCODER[:ENCODER.index("vocab")] + (
            "input: {type: real, width: 4}\nhead: {type: pool, pool: mean}\n")
        m = attnc.load(spec=text, seed=1, threads=1)
        self.assertEqual(m.facts.input_width, 4)
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        rows = m.encode_rows(x)
        self.assertEqual(rows.shape, (2, 16))
        np.testing.assert_array_equal(m.encode_rows(x[1]), rows[1])
        np.testing.assert_array_equal(
            m.encode_rows([x[0].astype(int), x[1].tolist()]), rows)
        fixed = x.copy()
        fixed.flags.writeable = False
        for same in (fixed, x.astype(">f4"), x.astype(np.float64),
                     np.asfortranarray(x), np.repeat(x, 2, 1)[:, ::2],
                     np.repeat(x, 3, 2)[..., ::3], x.tolist(), Lent(x)):
            np.testing.assert_array_equal(m.encode_rows(same), rows)
        self.assertEqual(m.encode_rows([]).shape, (0, 16))
        for bad in (x[:1, :0], x[0, :0]):
            with self.raises(attnc.InputError, "sequence 0: it is empty"):
                m.encode_rows(bad)
        for bad in (x > 0, x + 0j, x.astype(str)):
            with self.raises(TypeError, "rows must be floats, not"):
                m.encode_rows(bad)
        with self.raises(TypeError, "not NoneType"):
            m.encode_rows(None)
        with self.raises(TypeError, "rows must have the shape (n, 4)"):
            m.encode_rows(x[:, :, :3])
        with self.raises(attnc.UsageError, "does not do that"):
            m.encode_ids([1])


if __name__ == "__main__":
    unittest.main()
