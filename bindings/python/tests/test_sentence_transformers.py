"""attnc.sentence_transformers gives what sentence-transformers gives."""

import json
import os
import pickle
import tempfile
import unittest
from pathlib import Path

import numpy as np

from support import ENCODER, ROOT, Case, needs, words

os.environ["HF_HUB_OFFLINE"] = "1"
st = needs("sentence_transformers")
import transformers
from sentence_transformers.sentence_transformer import modules
from sentence_transformers.sparse_encoder.modules import SpladePooling

import attnc
import attnc.sentence_transformers as ours
from attnc._saved import saved
from checkpoints import bert, torch

transformers.utils.logging.disable_progress_bar()
TEXTS = ["the cat", "a", "abc def the the", "Zebra cat the a b c d e f g",
         "what is it"]
PAIRS = [("the cat", "a b c"), ("what", "the cat is a cat"), ("x", "y")]
ONE = {"threads": 1}


class Models(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def pooled(self, *more):
        """Returns a model with a pooling module, and its folder."""
        base = bert(self.folder / "base", transformers.BertModel)
        parts = [modules.Transformer(base),
                 modules.Pooling(32, "mean"), *more]
        model = st.SentenceTransformer(
            modules=parts, device="cpu",
            prompts={"query": "cat: ", "document": ""})
        model.save(str(self.folder / "pooled"))
        return model, self.folder / "pooled"

    def test_pooled(self):
        for more in ((), (modules.Normalize(),)):
            theirs, folder = self.pooled(*more)
            model = ours.SentenceTransformer(folder, model_kwargs=ONE)
            for given in ({}, {"normalize_embeddings": True},
                          {"batch_size": 2, "truncate_dim": 8},
                          {"convert_to_tensor": True},
                          {"prompt_name": "query"}, {"prompt": "the "},
                          {"precision": "binary"}):
                x, y = (m.encode(TEXTS, **given) for m in (model, theirs))
                self.assertEqual(type(x), type(y))
                np.testing.assert_allclose(x, y, atol=2e-5)
            np.testing.assert_allclose(model.encode_query("cat"),
                                       theirs.encode_query("cat"), atol=2e-5)
            np.testing.assert_allclose(
                model.similarity(model.encode(TEXTS), model.encode("a")),
                theirs.similarity(theirs.encode(TEXTS), theirs.encode("a")),
                atol=2e-5)
            self.assertEqual(model.get_embedding_dimension(), 32)
            self.assertEqual(model.max_seq_length, 64)
            self.assertEqual(model.prompts, theirs.prompts)

    @unittest.skipUnless(hasattr(st, "MultiVectorEncoder"),
                         "of sentence-transformers 6")
    def test_late_interaction(self):
        for name in ("multi_vector", "pylate"):
            folder = ROOT / "tests/families/texts" / name
            theirs = st.MultiVectorEncoder(str(folder), device="cpu",
                                           model_kwargs={"dtype": "float32"})
            model = ours.MultiVectorEncoder(folder, model_kwargs=ONE)
            texts = ["what writes a file?", "one file, two. files!", "a"]
            for call in ("encode_query", "encode_document", "encode"):
                found, wanted = (getattr(m, call)(texts, convert_to_numpy=True)
                                 for m in (model, theirs))
                self.assertEqual(len(found), 3)
                for x, y in zip(found, wanted):
                    np.testing.assert_allclose(x, y, atol=2e-5)

    def test_long(self):
        theirs, folder = self.pooled()
        model = ours.SentenceTransformer(folder, model_kwargs=ONE)
        texts = ["the cat " * 50, "a"]
        np.testing.assert_allclose(model.encode(texts), theirs.encode(texts),
                                   atol=2e-5)
        (folder / "sentence_bert_config.json").write_text(
            '{"max_seq_length": 9, "do_lower_case": false}')
        model = ours.SentenceTransformer(folder, model_kwargs=ONE)
        theirs = st.SentenceTransformer(str(folder), device="cpu")
        self.assertEqual((model.max_seq_length, theirs.max_seq_length), (9, 9))
        np.testing.assert_allclose(model.encode(texts), theirs.encode(texts),
                                   atol=2e-5)
        model.max_seq_length = theirs.max_seq_length = 8
        np.testing.assert_allclose(model.encode(texts), theirs.encode(texts),
                                   atol=2e-5)
        theirs.max_seq_length = 64
        for most in 1000, None:
            model.max_seq_length = most
            np.testing.assert_allclose(model.encode(texts),
                                       theirs.encode(texts), atol=2e-5)

    def test_spec(self):
        """A spec's prompts are the model's."""
        spec = self.folder / "a.yaml"
        for default, name in (("", None), ("prompt: query\n", "query"),
                              ("prompt: other\n", "other")):
            spec.write_text(ENCODER + "prompts: {query: ab, document: '', "
                            "other: c}\n" + default)
            model = ours.SentenceTransformer(
                spec, model_kwargs={**ONE, "seed": 3})
            self.assertEqual(model.default_prompt_name, name)
            texts = {None: "z", "query": "abz", "other": "cz"}
            for found, text in ((model.encode("z"), texts[name]),
                                (model.encode_query("z"), "abz"),
                                (model.encode_document("z"), "z")):
                np.testing.assert_array_equal(found, words().encode(text))

    def test_tokens(self):
        """A folder that does not pool gets sentence-transformers' pooling."""
        base = bert(self.folder / "base", transformers.BertModel)
        theirs = st.SentenceTransformer(base, device="cpu")
        model = ours.SentenceTransformer(base, model_kwargs=ONE)
        self.assertEqual(len(model), 2)
        np.testing.assert_allclose(model.encode(TEXTS), theirs.encode(TEXTS),
                                   atol=2e-5)
        for x, y in zip(*(m.encode(TEXTS, output_value="token_embeddings")
                          for m in (model, theirs))):
            np.testing.assert_allclose(x, y, atol=1e-4)

    def test_modules(self):
        _, folder = self.pooled()
        model = st.SentenceTransformer(modules=[
            ours.Transformer(folder, dtype="int8", threads=1)], device="cpu")
        self.assertEqual(model.encode([]).shape, (0,))
        self.assertEqual(model.encode("a").shape, (32,))
        self.assertIn("int8", str(model))
        with self.raises(ValueError, "attnc computes on the CPU"):
            ours.SentenceTransformer(folder, model_kwargs=ONE, device="cuda")
        with self.raises(attnc.FileError, "none"):
            ours.SentenceTransformer("none")
        part = pickle.loads(pickle.dumps(model[0]))
        found = part(part.tokenize(["a"]))["sentence_embedding"]
        np.testing.assert_array_equal(found[0], model.encode("a"))

    def saved(self, model, name="saved"):
        """Returns a model that was saved and loaded again elsewhere."""
        to = self.folder / name
        model.save_pretrained(str(to))
        return type(model)(str(to.rename(self.folder / f"{name} moved")),
                           device="cpu", trust_remote_code=True)

    def test_save(self):
        _, folder = self.pooled()
        for i, model in enumerate((
                ours.SentenceTransformer(folder, model_kwargs={
                    "dtype": "int8", "max_seq_length": 9, **ONE}),
                st.SentenceTransformer(device="cpu", modules=[
                    ours.Transformer(folder, options=[
                        "--set", "dtype=int8", "--backend=jit"])]))):
            again = self.saved(model, f"again{i}")
            texts = ["the cat " * 50, "a"]
            np.testing.assert_array_equal(again.encode(texts),
                                          model.encode(texts))
            self.assertEqual((again.prompts, again.max_seq_length),
                             (model.prompts, model.max_seq_length))
            self.assertIn("int8", str(again))
        twice = self.saved(again, "twice")
        np.testing.assert_array_equal(twice.encode(texts), again.encode(texts))
        model.save(str(folder / "inside"))  # of what it copies
        inside = st.SentenceTransformer(str(folder / "inside"), device="cpu",
                                        trust_remote_code=True)
        np.testing.assert_array_equal(inside.encode(texts),
                                      model.encode(texts))

    def test_save_spec(self):
        """The files that a spec names are copied, also those elsewhere."""
        here = self.folder / "a b"
        here.mkdir()
        (self.folder / "letters.txt").write_text(
            (ROOT / "models/g2p-en/letters.txt").read_text())
        (here / "letters.txt").write_text("not the vocabulary")
        spec = here / "words.yaml"
        text = ENCODER.replace(f"{ROOT}/models/g2p-en/letters.txt",
                               '"../letters.txt"')
        spec.write_text("# letters.txt\n" + text)
        for i, options in enumerate(({"seed": 3}, {"seed": 3, "spec": text})):
            model = st.SentenceTransformer(device="cpu", modules=[
                ours.Transformer(spec, **options)])
            again = self.saved(model, f"spec{i}")
            np.testing.assert_array_equal(again.encode("hello"),
                                          words().encode("hello"))

    def test_save_again(self):
        """A copy can be saved to its own folder."""
        _, folder = self.pooled()
        spec = self.folder / "words.yaml"
        spec.write_text(ENCODER)
        for i, (path, options) in enumerate((
                (folder, {"dtype": "int8"}), (spec, {"seed": 3}))):
            to = str(self.folder / f"c{i}")
            model = ours.Transformer(path, **ONE, **options)
            model.save(to)
            again = ours.Transformer.load(to)
            again.save(to)
            np.testing.assert_array_equal(
                ours.Transformer.load(to).model.encode("hello"),
                model.model.encode("hello"))

    def test_save_weights(self):
        base = Path(bert(self.folder / "base", transformers.BertModel))
        other = Path(bert(self.folder / "other", transformers.BertModel,
                          initializer_range=.03))
        file = other / "model.safetensors"
        for i, options in enumerate((
                {"weights": file}, {"weights": file.read_bytes()},
                {"options": [f"--weights={file}"]},
                {"options": ["--weights", str(file)]})):
            model = st.SentenceTransformer(device="cpu", modules=[
                ours.Transformer(base, **options)])
            again = self.saved(model, f"weights{i}")
            np.testing.assert_array_equal(
                again[0].model.encode("a"), model[0].model.encode("a"))

    def test_save_files(self):
        """Shards are copied with the file that stands for all of them."""
        here = self.folder / "here"
        here.mkdir()
        shards = [f"m-0000{i}-of-00002.gguf" for i in (1, 2)]
        for name in shards:
            (here / name).write_bytes(b"GGUF" + name.encode())
        (here / "other.gguf").write_bytes(b"GGUF")
        to = self.folder / "gguf"
        self.assertEqual(saved(here / shards[0], {"threads": 2}, to),
                         (f"model/{shards[0]}", {}))
        self.assertEqual(sorted(os.listdir(to / "model")), shards)
        (here / "a.index.json").write_text(
            '{"weight_map": {"x": "1.safetensors"}}')
        (here / "1.safetensors").write_text("weights")
        (here / "sub").mkdir()
        (here / "sub/1.safetensors").write_text("others")
        spec = "weights: a.index.json\nvocab: {file: sub/1.safetensors}\n"
        to = self.folder / "spec"
        self.assertEqual(saved(here / "s.yaml", {"spec": spec}, to),
                         ("model/s.yaml", {}))
        self.assertEqual((to / "model/s.yaml").read_text(), spec.replace(
            "sub/", "1-"))
        self.assertEqual((to / "model/1.safetensors").read_text(), "weights")
        self.assertEqual((to / "model/1-1.safetensors").read_text(), "others")

    def test_load_chooses_no_program(self):
        _, folder = self.pooled()
        model = st.SentenceTransformer(device="cpu", modules=[
            ours.Transformer(folder, **ONE)])
        model.save(str(self.folder / "saved"))
        file = self.folder / "saved/0_Transformer/attnc.json"
        config = json.loads(file.read_text())
        config["options"] = {"backend": "/none", "cc": "/none",
                             "options": ["--cc", "/none", "--backend=/none"]}
        file.write_text(json.dumps(config))
        again = st.SentenceTransformer(str(self.folder / "saved"), device="cpu",
                                       trust_remote_code=True)
        self.assertEqual(again.encode("a").shape, (32,))

    def test_save_cross_encoder(self):
        folder = bert(self.folder / "ce",
                      transformers.BertForSequenceClassification, num_labels=1)
        model = ours.CrossEncoder(folder, model_kwargs=ONE)
        again = self.saved(model)
        np.testing.assert_array_equal(again.predict(PAIRS),
                                      model.predict(PAIRS))

    def test_cross_encoder(self):
        for labels in (1, 3):
            folder = bert(self.folder / f"ce{labels}",
                          transformers.BertForSequenceClassification,
                          num_labels=labels)
            theirs = st.CrossEncoder(folder, device="cpu")
            model = ours.CrossEncoder(folder, model_kwargs=ONE)
            for given in ({}, {"batch_size": 1}, {"apply_softmax": True},
                          {"activation_fn": torch.nn.Tanh()},
                          {"convert_to_tensor": True}):
                x, y = (m.predict(PAIRS, **given) for m in (model, theirs))
                self.assertEqual((type(x), x.shape), (type(y), y.shape))
                np.testing.assert_allclose(x, y, atol=2e-5)
            np.testing.assert_allclose(
                model.predict(PAIRS[0]), theirs.predict(PAIRS[0]), atol=2e-5)

    def test_rank(self):
        folder = Path(bert(self.folder / "ce",
                           transformers.BertForSequenceClassification,
                           num_labels=1))
        file = folder / "config.json"
        config = json.loads(file.read_text())
        for name in (None, "torch.nn.modules.linear.Identity"):
            if name:
                config["sentence_transformers"] = {"activation_fn": name}
                file.write_text(json.dumps(config))
            theirs = st.CrossEncoder(str(folder), device="cpu")
            model = ours.CrossEncoder(folder, model_kwargs=ONE)
            for given in ({}, {"top_k": 2, "return_documents": True}):
                x, y = (m.rank("the cat", TEXTS, **given)
                        for m in (model, theirs))
                self.assertEqual([{**a, "score": 0} for a in x],
                                 [{**a, "score": 0} for a in y])
                np.testing.assert_allclose([a["score"] for a in x],
                                           [a["score"] for a in y], atol=2e-5)
        config["sentence_transformers"] = {"activation_fn": "os.system"}
        file.write_text(json.dumps(config))
        with self.raises(ValueError, "os.system of config.json is not one of"):
            ours.CrossEncoder(folder, model_kwargs=ONE)

    def test_sparse(self):
        folder = bert(self.folder / "mlm", transformers.BertForMaskedLM)
        theirs = st.SparseEncoder(folder, device="cpu")
        self.assertIsInstance(theirs[-1], SpladePooling)
        model = ours.SparseEncoder(folder, model_kwargs=ONE)
        x, y = (m.encode(TEXTS) for m in (model, theirs))
        self.assertTrue(x.is_sparse)
        np.testing.assert_allclose(x.to_dense(), y.to_dense(), atol=2e-5)
        self.assertEqual(model.decode(x[0], top_k=3)[0][0],
                         theirs.decode(y[0], top_k=3)[0][0])


if __name__ == "__main__":
    unittest.main()
