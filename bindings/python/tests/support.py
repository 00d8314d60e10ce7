"""Models that the tests share, and paths of the project."""

import functools
import importlib
import os
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import attnc

ROOT = Path(__file__).resolve().parents[3]
LETTERS = ROOT / "models/g2p-en/g2p-en.yaml"
FAMILIES = ROOT / "tests/families"
# An encoder of letters, one row per text.
ENCODER = f"""attnc: 1
name: words
kind: encoder
d_model: 16
h: 2
d_ff: 32
N: 2
max_len: 24
vocab: {{file: {ROOT}/models/g2p-en/letters.txt, tokens: {{end: 2}},
  split: characters, append_end: true}}
head: {{type: pool, pool: mean}}
"""
ROWS = ENCODER.replace("{type: pool, pool: mean}", "{type: rows}")


@functools.cache
def words(threads: int = 1) -> attnc.Model:
    return attnc.load(spec=ENCODER, seed=3, threads=threads)


@functools.cache
def letters() -> attnc.Model:
    return attnc.load(LETTERS, threads=1)


def some_words(n: int) -> list[str]:
    return ["".join(chr(97 + (i * 5 + k * 3) % 26)
                    for k in range(1 + i * 7 % 20)) for i in range(n)]


def needs(name: str) -> Any:
    """Returns a module; tests/library/python_test skips the file without it."""
    return importlib.import_module(name)


class Case(unittest.TestCase):
    def raises(self, kind: type[BaseException], says: str):
        """Expects an exception whose text contains `says`."""
        case, context = self, self.assertRaises(kind)

        class Raises:
            def __enter__(self):
                return context.__enter__()

            def __exit__(self, *error):
                passed = context.__exit__(*error)
                if passed:
                    case.assertIn(says, str(context.exception))
                return passed

        return Raises()

    def run_python(self, text: str, *arguments: str) -> str:
        """Returns what a new interpreter prints; fails if it does not end."""
        path = os.pathsep.join([str(Path(attnc.__file__).parents[1]),
                                str(Path(__file__).parent)])
        done = subprocess.run(
            [sys.executable, "-c", text, *arguments], cwd=ROOT,
            capture_output=True, env={**os.environ, "PYTHONPATH": path},
            text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout
