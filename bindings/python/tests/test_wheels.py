"""Wheels of one model: they answer as attnc does, without attnc."""

import tempfile
import unittest
import zipfile
from pathlib import Path

import attnc
from support import ENCODER, LETTERS, Case, letters, words


class Wheels(Case):
    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.folder = temp.name + "/new/dist"

    def wheel(self, *path, **options) -> str:
        """Returns the folder with the contents of a wheel."""
        try:
            found = attnc.compile(*path, self.folder, wheel=True, **options)
        except attnc.BackendError as error:
            self.skipTest(str(error))
        to = Path(self.folder) / "site"
        with zipfile.ZipFile(found) as z:
            z.extractall(to)
        return str(to)

    def test_embed(self):
        rows = words().encode(["hello", "world"])
        for parts in None, "model,text,handle":
            at = self.wheel(None, spec=ENCODER, seed=3, parts=parts)
            said = self.run_python(
                "import sys\n"
                "sys.path.insert(0, sys.argv[1])\n"
                "import words\n"
                "print(words.embed(['hello', 'world']).tobytes().hex())\n"
                "print(words.encode([3, 4, 2]).shape, 'attnc' in sys.modules)\n"
                "try: words.embed('#')\n"
                "except words.Error as error: print(error)", at)
            self.assertEqual(said.splitlines(), [
                rows.tobytes().hex(), "(1, 16) False",
                "byte 1: a character or word that the vocabulary does not "
                "have"])

    def test_prompts(self):
        spec = ENCODER + "prompts: {query: ab, \"it's\": c}\nprompt: query\n"
        at = self.wheel(None, spec=spec, seed=3)
        said = self.run_python(
            "import sys\n"
            "sys.path.insert(0, sys.argv[1])\n"
            "import words\n"
            "print(words.PROMPTS, words.PROMPT)\n"
            "for more in {}, {'prompt': 'c'}, {'prompt': ''}:\n"
            "    print(words.embed(['hello'], **more).tobytes().hex())", at)
        self.assertEqual(said.splitlines(), [
            """{'query': 'ab', "it's": 'c'} ab""",
            *(words().encode([text]).tobytes().hex()
              for text in ("abhello", "chello", "hello"))])

    def test_numbers(self):
        at = self.wheel(None, spec=ENCODER, seed=3)
        said = self.run_python(
            "import sys\n"
            "sys.path.insert(0, sys.argv[1])\n"
            "import words\n"
            "print(words.embed([]).shape)\n"
            "for ids in [1.7], [2**32 + 1], [[1, 2]]:\n"
            "    try: words.encode(ids)\n"
            "    except (TypeError, OverflowError) as e: print(e)\n"
            "try: words.embed_pair('a', 'b')\n"
            "except words.Error as error: print(error)", at)
        self.assertEqual(said.splitlines(), [
            "(0, 16)", "ids must be integers, not float64",
            "ids must fit 32 bits", "ids must have 1 dimension, not 2",
            "the vocabulary has no template for pairs of texts"])

    def test_generate(self):
        at = self.wheel(LETTERS)
        hello, world = (letters().translate(s) for s in ("hello", "world"))
        said = self.run_python(
            "import sys, threading\n"
            "sys.path.insert(0, sys.argv[1])\n"
            "import g2p_en\n"
            "print(g2p_en.generate('hello'))\n"
            "heard = []\n"
            "g2p_en.generate('hello', lambda s: heard.append(s) or True)\n"
            "print(len(heard))\n"
            "def fails(piece): raise KeyError(piece)\n"
            "try: g2p_en.generate('hello', fails)\n"
            "except KeyError as error: print('raised')\n"
            "def inner(piece):\n"
            "    heard.append(g2p_en.generate('world'))\n"
            "print(g2p_en.generate('hello', inner), heard[-1], sep='|')\n"
            "try: g2p_en.generate('he\\0llo')\n"
            "except ValueError as error: print(error)\n"
            "for _ in range(3):\n"
            "    t = threading.Thread(target=lambda: print(\n"
            "        g2p_en.generate('world')))\n"
            "    t.start(); t.join()\n"
            "print(len(g2p_en._free))", at)
        self.assertEqual(said.splitlines(), [
            hello, "1", "raised", f"{hello}|{world}",
            "a prompt must not contain NUL", *[world] * 3, "2"])

    def test_wrong(self):
        """What is refused is refused before the C compiler is called."""
        head = "attnc: 1\nname: a\nd_model: 16\nh: 2\nmax_len: 8\n"
        layers = "d_ff: 32\nN: 1\n"
        real = "input: {type: real, width: 4}\nhead: {type: rows}\n"
        for spec, says in (
                (head + "kind: attention\n", "encoders of ids or text"),
                (head + layers + real + "kind: encoder\n", "a is neither"),
                (head + layers + "kind: decoder\nvocab: {size: 40}\n",
                 "a has no vocabulary"),
                (ENCODER.replace("words", "json"), "the name 'json'"),
                (ENCODER.replace("words", "lambda"), "the name 'lambda'"),
                (ENCODER.replace("words", "numpy"), "the name 'numpy'")):
            with self.raises(ValueError, says):
                self.wheel(None, spec=spec, seed=1, cc="no-such-compiler")
        for parts in "model", "model,text":
            with self.raises(ValueError, "leave out the options parts"):
                self.wheel(None, spec=ENCODER, seed=1, parts=parts)
        with self.assertRaises(TypeError):
            attnc.compile(None, None, spec=ENCODER, seed=1, wheel=True)


if __name__ == "__main__":
    unittest.main()
