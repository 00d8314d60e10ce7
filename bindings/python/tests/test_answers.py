"""generate(), translate(), score(), tokens(), text(), and descriptions."""

import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import attnc
from support import ENCODER, LETTERS, ROOT, Case, letters, words


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
        with self.raises(UnicodeEncodeError, "surrogates not allowed"):
            m.generate("\udc80")
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
        self.assertRegex(attnc.version, r"^\d+\.\d+\.\d+$")

    def test_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "a.c")
            attnc.compile(LETTERS, out, embed=True, march="generic")
            self.assertEqual(sorted(p.name for p in Path(folder).iterdir()),
                             ["a.c", "a.h"])
            with self.raises(attnc.FileError, "o/a.c"):
                attnc.compile(LETTERS, f"{folder}/no/a.c")
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
