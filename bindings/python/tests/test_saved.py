"""Copies of specs, and of the files that specs and options name."""

import io
import os
import tempfile
import unittest
from pathlib import Path

import numpy as np

import attnc
from attnc._saved import kept, saved
from attnc._spec_paths import replaced
from support import ENCODER, ROOT, Case, words

LETTERS = (ROOT / "models/g2p-en/letters.txt").read_text()
FILE = f"{ROOT}/models/g2p-en/letters.txt"


class Paths(Case):
    def test_found(self):
        """Only values of fields that are paths are found."""
        for text, want in (
                ("vocab: {file: my letters.txt, size: 3}", "my letters.txt"),
                ("vocab:\n  file: my letters.txt # a.txt", "my letters.txt"),
                ("vocab:\n  source: {file: a#b:c.txt}", "a#b:c.txt"),
                ("vocab:\n  source:\n    file: a, b.txt", "a, b.txt"),
                ("vocab:\n  file:\n    my\n    letters.txt", "my letters.txt"),
                ("vocab: {file: my\n    letters.txt}", "my letters.txt"),
                ("vocab.source.file: a.txt", "a.txt"),
                ("vocab: {source.file: a.txt}", "a.txt"),
                ('{"name": "x", "vocab": {"file":"a.txt"}}', "a.txt"),
                ("vocab: {'file': 'it''s {a}.txt'}", "it's {a}.txt"),
                ('vocab: {"file": "\\u00e9 \\"a\\".txt"}', 'é "a".txt'),
                ("masking: {encoder: [causal, {file: m.txt}]}", "m.txt"),
                ("masking:\n  encoder:\n  - causal\n  - file: m.txt", "m.txt"),
                ("layers:\n- {}\n- {masking: {file: m.txt}}", "m.txt"),
                ("extends: ../a.yaml\nname: tiny", "../a.yaml"),
                ("# weights: b\nweights: a.safetensors", "a.safetensors"),
                ("a: {weights: x}\nweights: y.st", "y.st"),
                ("prompts:\n  file: x\n  b: |\n    file: x\n\n   weights: y\n"
                 "weights: z.st", "z.st"),
                ("prompts:\n  b: >-\n   weights: x\nweights: z.st", "z.st"),
                ("name: tiny\nprompts: {file: tiny, weights: tiny}\n"
                 "unused: [weights, extends]\nnames: {file: tiny}", None)):
            found = []
            same = replaced(text, lambda key, path: found.append(path))
            self.assertEqual((same, found), (text, [want] if want else []))
            again = []
            replaced(replaced(text, lambda *_: 'new "n\\ame", {x: y} # z'),
                     lambda key, path: again.append(path))
            self.assertEqual(again, ['new "n\\ame", {x: y} # z'] * len(found))
        self.assertEqual(replaced("extends: a/b.yaml", lambda *_: "b.yaml"),
                         "extends: b.yaml")
        self.assertEqual(replaced("extends: a/12", lambda *_: "12"),
                         'extends: "12"')
        for text in "{[}}: x", "'", '"', ":", "a: |", "\0 - - ? : |":
            self.assertEqual(replaced(text, lambda *_: "new"), text)


class Saved(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.spec = self.folder / "words.yaml"

    def again(self, path, **options):
        """Saves a model, and opens the copy elsewhere."""
        to = self.folder / "to"
        name, found = saved(path, options, to)
        self.copied = sorted(x.relative_to(to).as_posix()
                             for x in to.rglob("*") if x.is_file())
        moved = to.rename(to.with_name(f"moved {len(os.listdir(to.parent))}"))
        return attnc.load(moved / name, threads=1, **kept(
            found, lambda x: str(moved / x)))

    def same(self, m, text="hello"):
        np.testing.assert_array_equal(m.encode(text), words().encode(text))

    def test_spaces(self):
        (self.folder / "my letters.txt").write_text(LETTERS)
        (self.folder / "words").write_text("has the spec's name")
        self.spec.write_text(ENCODER.replace(FILE, "my letters.txt"))
        self.same(self.again(self.spec, seed=3))
        self.assertEqual(self.copied, ["model/my letters.txt",
                                       "model/words.yaml"])

    def test_extends(self):
        base = self.folder / "a/words.yaml"
        base.parent.mkdir()
        (base.parent / "letters.txt").write_text(LETTERS)
        base.write_text(ENCODER.replace(FILE, "letters.txt"))
        self.spec.write_text("attnc: 1\nextends: a/words.yaml\n")
        self.same(self.again(self.spec, seed=3))
        self.same(self.again(self.spec, seed=3,
                             spec="attnc: 1\nextends: a/words.yaml\n"))
        self.assertEqual(self.copied, ["model/1-words.yaml",
                                       "model/letters.txt", "model/words.yaml"])

    def test_set(self):
        """Paths in options begin in the working folder."""
        letters = self.folder / "my letters.txt"
        letters.write_text(LETTERS)
        other = self.folder / "b/my letters.txt"
        other.parent.mkdir()
        other.write_text(LETTERS[::-1])
        self.spec.write_text(ENCODER.replace(FILE, "b/my letters.txt"))
        for options in (
                {"set": {"vocab.source.file": letters}, "seed": 3},
                {"options": ["--set", f"vocab.file={letters}", "--seed", "3"]},
                {"options": [f"--set=vocab.source={{file: {letters}}}",
                             "-O", "1", "-O2", "--seed=3"]}):
            self.same(self.again(self.spec, **options))
            self.assertEqual(self.copied, [
                "files/my letters.txt", "model/my letters.txt",
                "model/words.yaml"])

    def test_folder(self):
        """A vocabulary may be a folder, and an index names shards."""
        here = self.folder / "here"
        (here / "tokens").mkdir(parents=True)
        (here / "tokens/tokenizer.json").write_text("{}")
        (here / "a.st").write_text("a")
        (here / "w.index.json").write_text('{"weight_map": {"x": "a.st"}}')
        saved(here / "s.yaml", {"spec": "vocab: {file: tokens}\n"
                                        "weights: w.index.json\n"},
              self.folder / "to")
        model = self.folder / "to/model"
        self.assertEqual(
            sorted(x.relative_to(model).as_posix() for x in model.rglob("*")),
            ["a.st", "s.yaml", "tokens", "tokens/tokenizer.json",
             "w.index.json"])

    def test_weights(self):
        """The word --weights names weights as the argument does."""
        names = {}
        self.spec.write_text(ENCODER)
        for i, options in enumerate((
                {"weights": "a b.st"}, {"options": ["--weights=a b.st"]},
                {"options": ["--weights", "a b.st"]})):
            here = os.getcwd()
            os.chdir(self.folder)
            try:
                Path("a b.st").write_bytes(b"weights")
                to = self.folder / f"w{i}"
                names[i] = saved(self.spec, options, to)
            finally:
                os.chdir(here)
            self.assertEqual((to / "files/a b.st").read_bytes(), b"weights")
        self.assertEqual([*names.values()], 3 * [
            ("model/words.yaml", {"options": ["--weights=files/a b.st"]})])

    def test_weights_of_file(self):
        self.spec.write_text(ENCODER)
        file = io.BytesIO(b"weights")
        file.seek(3)
        to = self.folder / "to"
        _, options = saved(self.spec, {"weights": file}, to)
        self.assertEqual(options, {
            "options": ["--weights=weights.safetensors"]})
        self.assertEqual((to / "weights.safetensors").read_bytes(), b"weights")

    def test_kept(self):
        self.spec.write_text(ENCODER)
        m = self.again(self.spec, seed=3, fix={"source": 9}, max_input=7,
                       dtype="int8", skip="all", cc="/none", tile="6x16",
                       options=["--require-fusion", "--backend", "jit", "-v",
                                "-O2"])
        self.assertEqual(m.facts.dtype, "int8")
        with self.raises(ValueError, "at most 7 are taken"):
            m.encode("abcdefghi")
        _, found = saved(self.spec, {"fix": {"source": 9}, "threads": 2,
                                     "skip": "all", "cc": "x"},
                         self.folder / "x")
        self.assertEqual(found, {"options": ["--fix=source=9", "--skip=all"]})

    def test_refused(self):
        self.spec.write_text(ENCODER)
        to = self.folder / "to"
        for options in {"beam": 4}, {"options": ["--beam=4"]}, {
                "options": ["--beam", "4"]}, {"options": ["other.yaml"]}:
            with self.raises(ValueError, "cannot be saved: leave the option"):
                saved(self.spec, options, to)
            self.assertFalse(to.exists())

    def test_same_folder(self):
        """A file that is already its copy stays as it is."""
        (self.folder / "letters.txt").write_text(LETTERS)
        self.spec.write_text(ENCODER.replace(FILE, "letters.txt"))
        to, files = self.folder / "to", {}
        name, found = saved(self.spec, {
            "seed": 3, "set": {"vocab.source.file":
                               self.folder / "letters.txt"}}, to)
        for _ in range(2):
            before = {x: x.read_bytes() for x in to.rglob("*") if x.is_file()}
            self.assertIn(files, ({}, before))
            options = kept(found, lambda x: str(to / x))
            self.assertEqual(saved(to / name, options, to), (name, found))
            files = before
        self.same(attnc.load(to / name, threads=1, **options))
        folder = to / "model"
        (folder / "config.json").write_text("{}")
        self.assertEqual(saved(folder, {}, to), ("model", {}))
        (folder / "m.gguf").write_bytes(b"GGUF")
        self.assertEqual(saved(folder / "m.gguf", {}, to),
                         ("model/m.gguf", {}))
        self.assertEqual((folder / "m.gguf").read_bytes(), b"GGUF")


if __name__ == "__main__":
    unittest.main()
