"""The outputs of bge-m3, and files of PyTorch that are read without it."""

import json
import pickle
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np

import attnc
from attnc._arrays import safetensors
from attnc.m3 import M3
from attnc.state_dict import state_dict
from support import FAMILIES, Case

LINEAR = {name: FAMILIES / f"m3-{name}" / f"{name}_linear.pt"
          for name in ("sparse", "colbert")}


class Evil:
    def __reduce__(self):
        return print, ("called",)


def tokenizer(special=("<s>", "<pad>", "</s>", "<unk>")):
    """Returns a tokenizer.json like that of bge-m3. Its words are letters."""
    words = ["\u2581", *"abcdefghijklmnopqrstuvwxyz", "\u2581cat"]
    space = {"type": "Metaspace", "replacement": "\u2581",
             "prepend_scheme": "always", "split": True}

    def template(*parts):
        return [{"Sequence" if x in "AB" else "SpecialToken":
                 {"id": x, "type_id": 0}} for x in parts]

    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [
            {"id": i, "content": x, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True}
            for i, x in enumerate(special)],
        "normalizer": None, "pre_tokenizer": space, "decoder": space,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": template("<s>", "A", "</s>"),
            "pair": template("<s>", "A", "</s>", "</s>", "B", "</s>"),
            "special_tokens": {
                x: {"id": x, "ids": [special.index(x)], "tokens": [x]}
                for x in ("<s>", "</s>")}},
        "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": False,
                  "vocab": [[x, 0.] for x in special]
                  + [[x, -2. - len(x)] for x in words]}})


class Outputs(Case):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.root = Path(made.name)

    def folder(self, name):
        to = self.root / name
        shutil.copytree(FAMILIES / name, to)
        for file in LINEAR.values():
            shutil.copy(file, to)
        for file in to.glob("*_linear.safetensors"):
            file.unlink()
        return to

    def cases(self, name):
        """Sequences of ids and the rows that transformers gave."""
        found = json.loads((FAMILIES / name / "expected.json").read_text())
        return [(np.array(c["ids"], np.int32), np.array(c["rows"]))
                for c in found["cases"]]

    def test_sparse(self):
        model = M3(self.folder("m3-sparse"), threads=1)
        cases = self.cases("m3-sparse")
        found = model.encode_ids([ids for ids, _ in cases])
        for (ids, rows), weights in zip(cases, found.sparse):
            want = {}
            for i, (x,) in zip(ids.tolist(), rows.tolist()):
                if x > 0 and i not in (0, 1, 2):  # the config's tokens
                    want[i] = max(x, want.get(i, 0))
            self.assertEqual(set(weights), set(want))
            for i, x in want.items():
                self.assertAlmostEqual(weights[i], x, 5)
        self.assertAlmostEqual(M3.lexical_score({1: .5, 2: 2}, {2: .25, 3: 1}),
                               .5)

    def test_colbert(self):
        folder = self.folder("m3-colbert")
        model = M3(folder, threads=1)
        cases = self.cases("m3-colbert")
        found = model.encode_ids([ids for ids, _ in cases])
        for (_, rows), ours in zip(cases, found.colbert):
            np.testing.assert_allclose(ours, rows[1:], atol=1e-6)
        np.testing.assert_allclose((found.dense ** 2).sum(1), 1, atol=1e-6)
        (folder / "colbert_linear.pt").unlink()
        with self.raises(FileNotFoundError, "has no colbert_linear.safetensors "
                                            "and no colbert_linear.pt"):
            M3(folder)

    def test_texts(self):
        folder = self.folder("m3-sparse")
        (folder / "tokenizer.json").write_text(tokenizer())
        model = M3(folder, threads=1)
        texts = ["cat a", "\u2603 a \u2603 cat", "the cat is"]
        ids = [np.array(x, np.int32) for x in (  # from Hugging Face's library
            [0, 31, 4, 5, 2], [0, 4, 3, 4, 5, 4, 3, 31, 2],
            [0, 4, 24, 12, 9, 31, 4, 13, 23, 2])]
        for size in 1, 32:
            self.same(model.encode(texts, size), model.encode_ids(ids))
        self.same(model.encode("cat a"), model.encode_ids(ids[:1]))
        self.assertEqual(model.encode([]).dense.shape, (0, 15))
        cut = [ids[0], *(np.append(x[:5], 2) for x in ids[1:])]
        self.same(model.encode(texts, truncate=True, max_tokens=6),
                  model.encode_ids(cut))
        long = "a" * 30
        with self.raises(attnc.InputError, "sequence 1: 9 rows, at most 6 are "
                                           "taken\nnote: truncate=True cuts"):
            model.encode(texts, max_tokens=6)
        for most in 0, 100:
            with self.raises(attnc.InputError,
                             "sequence 0: 33 rows, at most 16 are taken"):
                model.encode(long, max_tokens=most)
            self.assertEqual(len(model.encode(
                long, truncate=True, max_tokens=most).colbert[0]), 15)
        with self.raises(ValueError, "max_tokens must be 0 to"):
            model.encode(texts, max_tokens=-1)

    def test_unknown(self):
        """Unknown tokens have no weight, nor have those of the config."""
        folder = self.folder("m3-sparse")
        text = "\u2603 a \u2603 cat"
        (folder / "sparse_linear.safetensors").write_bytes(safetensors({
            "weight": np.zeros((1, 15)), "bias": np.ones(1)}))
        (folder / "tokenizer.json").write_text(tokenizer())
        self.assertEqual(M3(folder, threads=1).encode(text).sparse,
                         [{4: 1, 5: 1, 31: 1}])
        self.assertEqual(M3(folder, threads=1).encode_ids(
            [[0, 3, 7, 1, 2]]).sparse, [{7: 1}])
        (folder / "tokenizer.json").unlink()
        self.assertEqual(M3(folder, threads=1).encode_ids([[3, 7]]).sparse,
                         [{3: 1, 7: 1}])

    def test_widths(self):
        for name, weight, bias, why in (
                ("sparse", (1, 14), (1,), r"a weight [n, 15] and a bias [n], "
                                          r"not [1, 14] and [1]"),
                ("sparse", (15,), (15,), "not [15] and [15]"),
                ("colbert", (6, 15), (5,), "not [6, 15] and [5]"),
                ("sparse", (2, 15), (2,), "must have 1 row, not 2")):
            folder = self.folder("m3-sparse")
            file = folder / f"{name}_linear.safetensors"
            file.write_bytes(safetensors({"weight": np.zeros(weight),
                                          "bias": np.zeros(bias)}))
            with self.raises(ValueError, why) as context:
                M3(folder, threads=1)
            self.assertIn(f"{name}_linear", str(context.exception))
            shutil.rmtree(folder)

    def same(self, found, want):
        np.testing.assert_array_equal(found.dense, want.dense)
        self.assertEqual(found.sparse, want.sparse)
        self.assertEqual(len(found.colbert), len(want.colbert))
        for x, y in zip(found.colbert, want.colbert):
            np.testing.assert_array_equal(x, y)

    def test_converts(self):
        for name, file in LINEAR.items():
            to = self.root / f"{name}.safetensors"
            subprocess.run([sys.executable, "-m", "attnc.state_dict", file, to],
                           check=True)
            want = state_dict(file.with_suffix(".safetensors"))
            for found in state_dict(to), state_dict(file):
                self.assertEqual(set(found), {"weight", "bias"})
                for key, x in want.items():
                    np.testing.assert_array_equal(found[key], x)

    def refused(self, value, why, **files):
        path = self.root / "x.pt"
        with zipfile.ZipFile(path, "w") as z:
            z.writestr("x/data.pkl", value if isinstance(value, bytes)
                       else pickle.dumps(value, 2))
            for name, data in files.items():
                z.writestr(f"x/data/{name}", data)
        with self.raises(ValueError, why):
            state_dict(path)

    def test_refused(self):
        self.refused(Evil(), "it names __builtin__ print; only a dict")
        self.refused(OrderedDict(a=Evil()), "it names __builtin__ print")
        self.refused([1], "the instruction EMPTY_LIST")
        self.refused({"a": 1}, "a is no tensor of floats")
        self.refused(b"", "pickle exhausted before seeing STOP")
        self.refused(b"\x80\x02.", "is not read: list index out of range")
        good = LINEAR["sparse"].read_bytes()
        path = self.root / "y.pt"
        path.write_bytes(good[:-30])
        with self.raises(ValueError, "File is not a zip file"):
            state_dict(path)
        rows = (b"\x80\x02}X\x01\x00\x00\x00actorch._utils\n"
                b"_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n"
                b"FloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
                b"K\x00%b%b\x89}tRs.")
        for shape, strides in ((b"K\x05\x85", b"K\x01\x85"),
                               (b"K\x05\x85", b"K\x00\x85"),
                               (b"K\x02\x85", b"K\x04\x85"),
                               (b"K\x02\x85", b"J\xff\xff\xff\xff\x85"),
                               (b"K\x02\x85", b")")):
            self.refused(rows % (shape, strides), "a is beyond its numbers",
                         **{"0": bytes(16)})
