"""generate(), translate(), score(), tokens(), text(), and descriptions."""

import json
import os
import pickle
import shutil
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import attnc
from support import ENCODER, LETTERS, ROOT, ROWS, Case, letters, words


class Answers(Case):
    def test_generate(self):
        m = letters()
        self.assertEqual(m.generate("hello"), "HH EH L OW")
        self.assertEqual(m.generate("hello", beam=1, n=2), "HH EH")
        self.assertEqual(m.generate("hello", beam=8), "HH EH L OW")
        self.assertEqual(m.generate("hello", beam=1, prefix="W ER"),
                         "W ER L OW")
        self.assertEqual(m.generate("hello", suppress=["HH EH"]), "HH UW L OW")
        drawn = [m.generate("hello", beam=1, temperature=2.0, top_k=5, seed=4)
                 for _ in range(2)]
        self.assertEqual(*drawn)

    def test_stream(self):
        m = letters()
        pieces = list(m.generate("hello", stream=True))
        self.assertEqual("".join(pieces), "HH EH L OW")
        self.assertGreater(len(pieces), 1)
        whole = list(m.generate("hello", stream=True, beam=4))
        self.assertEqual("".join(whole), "HH EH L OW")
        for piece in m.generate("hello", stream=True):
            break  # ends the answer
        self.assertEqual(piece, "HH")
        with self.raises(ZeroDivisionError, ""):
            for piece in m.generate("hello", stream=True):
                1 / 0
        with self.raises(attnc.InputError, "byte 2"):
            list(m.generate("a1", stream=True))
        self.assertEqual(m.generate("hello"), "HH EH L OW")

    def test_translate(self):
        m = letters()
        self.assertEqual(m.translate("hello"), "HH EH L OW")
        self.assertEqual(m.translate(["hello", "read"], beam=1),
                         ["HH EH L OW", m.generate("read", beam=1)])
        self.assertEqual(m.translate([]), [])
        with self.raises(TypeError, "text 1 must be str, not int"):
            m.translate(["a", 1])
        with self.raises(TypeError, "give a str or a list of str, not None"):
            m.translate(None)

    def test_ids(self):
        m = letters()
        ids = m.tokens("hello")
        self.assertEqual((ids.dtype, len(ids)), (np.int32, 6))
        target = m.tokens("HH EH L OW", target=True)
        self.assertEqual(m.text(target), "HH EH L OW")
        self.assertEqual(m.text(np.tile(target, 30)).count("HH"), 30)
        self.assertEqual(m.text([]), "")
        answer = m.generate(ids)
        self.assertEqual(answer.dtype, np.int32)
        np.testing.assert_array_equal(answer, target)
        self.assertEqual(list(m.generate(ids.tolist(), stream=True)),
                         target.tolist())
        p = m.score("hello", "HH EH L OW")
        self.assertTrue(-1.0 < p < 0.0)
        self.assertEqual(p, m.score(ids, target))
        with self.raises(TypeError, "must both be texts, or both ids"):
            m.score("hello", target)

    def test_scores(self):
        m = letters()
        texts, answers = ["hello", "a", "zebra"] * 15, ["HH", "AH", "Z EH"] * 15
        each = [m.score(a, b) for a, b in zip(texts, answers)]
        for size in 1, 7, 32:
            found = m.score(texts, answers, size)
            self.assertEqual(found.dtype, np.float64)
            self.assertEqual(found.tolist(), each)
        self.assertEqual(m.score([], []).shape, (0,))
        with self.raises(ValueError, "must have the same length"):
            m.score(["hello"], [])
        with self.raises(attnc.InputError, "pair 9: byte 2: a character"):
            m.score(["a"] * 9 + ["a-"], ["AH"] * 10, 4)
        with self.raises(ValueError, "batch_size must be at least 1"):
            m.score(["a"], ["AH"], 0)

    def test_hidden(self):
        m = letters()
        rows = m.hidden("hello", "HH EH")
        self.assertEqual((rows.shape, rows.dtype), ((3, 128), np.float32))
        np.testing.assert_array_equal(rows[0], m.hidden("hello")[0])
        ids = m.tokens("hello"), m.tokens("HH EH", target=True)
        np.testing.assert_array_equal(rows, m.hidden(*ids))
        with open(LETTERS.parent / "g2p-en.safetensors", "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8),
                                                         "little")))
            table = header["target.weight"]  # also that of the logits
            file.seek(table["data_offsets"][0], os.SEEK_CUR)
            weight = np.frombuffer(file.read(4 * 42 * 128), np.float32)
        weight = weight.reshape(table["shape"])
        np.testing.assert_allclose(rows @ weight.T, m.logits("hello", "HH EH"),
                                   rtol=1e-4, atol=1e-4)
        again = attnc.load(LETTERS, threads=1)
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(lambda _: again.hidden("hello", "HH EH"),
                                  range(8)):
                np.testing.assert_array_equal(found, rows)

    def test_hidden_without_weights(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in LETTERS.parent.iterdir():
                shutil.copy(file, folder)
            m = attnc.load(Path(folder) / LETTERS.name)
            (Path(folder) / "g2p-en.safetensors").unlink()
            with self.raises(attnc.InputError, "cannot open: No such file"):
                m.hidden("hello")
            self.assertEqual(m.generate("hello"), "HH EH L OW")

    def test_hidden_of_encoder(self):
        pooled, plain = words(), attnc.load(spec=ROWS, seed=3)
        rows = pooled.hidden("hello")
        np.testing.assert_array_equal(rows, plain.encode("hello"))
        np.testing.assert_array_equal(rows, plain.hidden("hello"))
        np.testing.assert_array_equal(rows, pooled.hidden(
            pooled.tokens("hello")))
        np.testing.assert_allclose(rows.mean(axis=0), pooled.encode("hello"),
                                   rtol=1e-5, atol=1e-6)
        with self.raises(attnc.UsageError, "this kind of model does not"):
            pooled.hidden("hello", "a")
        with self.raises(attnc.InputError, "byte 2: a character"):
            pooled.hidden("a-")
        with self.raises(attnc.InputError, "31 rows, at most 24 are"):
            pooled.hidden("a" * 30)

    def test_refused(self):
        m = letters()
        for options, says in (
                ({"beam": 0}, "--beam 0 is out of range: 1 to 1024"),
                ({"beam": 2, "temperature": 1.0}, "tokens that are drawn"),
                ({"threads": 2}, "--threads is not an option of"),
                ({"bea": 2}, "unknown option '--bea': did you mean --beam?")):
            with self.raises(attnc.UsageError, says):
                m.generate("hello", **options)
        with self.raises(attnc.InputError, "byte 2: a character or word"):
            m.generate("a\0b")
        with self.raises(TypeError, "a prompt of ids must have 1 dimension"):
            m.generate(None)
        with self.raises(UnicodeEncodeError, "not allowed in prompt"):
            m.generate("\udc80")
        for options, says in (({"n": True}, "n must be a number"),
                              ({"stop": 5}, "int"),
                              ({"nbest": 3}, "an option of translate()")):
            with self.raises(TypeError, says):
                m.generate("hello", **options)
        with self.raises(attnc.UsageError, "does not do that"):
            words().generate("abc")
        with self.raises(attnc.UsageError, "does not do that"):
            m.encode([])

    def test_unraisable(self):
        """An exception in the function that C calls is not lost."""
        m, hook = letters(), sys.unraisablehook
        lost = []
        sys.unraisablehook = lost.append
        try:
            one = m._answer("hello", ["--beam=1"], m._limits())

            def put(_):
                raise KeyError("here")

            with self.raises(KeyError, "here"):
                one(None, put)
        finally:
            sys.unraisablehook = hook
        self.assertEqual(lost, [])


class Descriptions(Case):
    def test_facts(self):
        f = letters().facts
        self.assertEqual((f.name, f.kind, f.threads, f.dtype),
                         ("g2p-en", "encoder-decoder", 1, "f32"))
        self.assertTrue(f.generates and f.reads_text and f.writes_text)
        self.assertEqual(words().facts.columns, 16)
        self.assertEqual(repr(words(2)),
                         "<attnc.Model words: encoder, f32, 2 threads>")
        with attnc.load(LETTERS, dtype="int8", threads=1) as m:
            self.assertEqual(m.facts.dtype, "int8")
            self.assertLess(m.facts.weights_bytes, f.weights_bytes)
        with attnc.load(LETTERS, threads=1, set={"dtype.default": "bf16"},
                        max_output=3) as m:
            self.assertEqual(m.facts.dtype, "bf16")
            self.assertEqual(m.generate("hello"), "HH EH L")

    def test_graph_and_plan(self):
        self.assertGreater(len(attnc.graph(LETTERS)["nodes"]), 10)
        built = attnc.graph(LETTERS, stage="built")["nodes"]
        self.assertGreater(len(built), len(attnc.graph(LETTERS)["nodes"]))
        self.assertEqual(attnc.plan(spec=ENCODER)["name"], "words")
        for options in ({"format": "svg"}, {"options": ["--format=svg"]}):
            with self.raises(TypeError, "format is json"):
                attnc.graph(LETTERS, **options)
        for call in attnc.load, attnc.plan, attnc.sweep:
            with self.raises(TypeError, "options must be a list of words"):
                call(LETTERS, options="--seed=1")
        self.assertRegex(attnc.version, r"^\d+\.\d+\.\d+$")

    def test_graph(self):
        g = attnc.graph(LETTERS, stage="built")
        self.assertEqual(repr(g), f"<attnc.Graph g2p-en: {len(g.nodes)} nodes, "
                                  f"{len(g.edges)} edges>")
        self.assertIs(g.nodes, g["nodes"])
        self.assertEqual([b for _, b in g.edges], [
            n["id"] for n in g.nodes for _ in n["inputs"]])
        self.assertEqual(json.loads(json.dumps(g)), g)
        self.assertEqual(pickle.loads(pickle.dumps(g)), g)
        drawn = g._repr_svg_()
        self.assertTrue(drawn.lstrip().startswith("<svg"), drawn[:80])
        self.assertNotEqual(drawn, attnc.graph(LETTERS).svg())

    def test_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "a.c")
            attnc.compile(LETTERS, out, embed=True, march="generic")
            self.assertEqual(sorted(p.name for p in Path(folder).iterdir()),
                             ["a.c", "a.h"])
            made = attnc.compile(LETTERS, "b/a.c", embed=True, files=True,
                                 march="generic")
            self.assertEqual(made, {p.name: p.read_bytes()
                                    for p in Path(folder).iterdir()})
            with self.raises(TypeError, "leave out files"):
                attnc.compile(LETTERS, folder, wheel=True, files=True)
            with self.raises(attnc.FileError, "o/a.c"):
                attnc.compile(LETTERS, f"{folder}/no/a.c")
            with self.raises(TypeError, "NoneType"):
                attnc.compile(LETTERS, None)
            with self.raises(attnc.UsageError, "-o -: name a file"):
                attnc.compile(LETTERS, "-")

    def test_page(self):
        """The example of docs/python.md that needs no other model runs."""
        page = (ROOT / "docs/python.md").read_text()
        example = next(part for part in page.split("```")
                       if part.startswith("python") and "g2p-en" in part)
        said = self.run_python(example.removeprefix("python")).split("\n")
        self.assertEqual(said[0], "AH T EH N SH AH N")
        self.assertEqual(said[1], "['HH EH L OW', 'W ER L D']")
        self.assertTrue(-1.0 < float(said[2]) < 0.0)

    def test_command(self):
        said = self.run_python(
            "import os, runpy, sys\n"
            "os.environ['PATH'] = sys.argv.pop(1)\n"
            "sys.argv = ['attnc', '--version']\n"
            "runpy.run_module('attnc', run_name='__main__')",
            str(ROOT / "build"))
        self.assertTrue(said.startswith("attnc " + attnc.version), said)


if __name__ == "__main__":
    unittest.main()
