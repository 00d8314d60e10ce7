"""Exceptions, warnings, and the library that is looked for."""

import builtins
import logging
import pickle
import unittest
import warnings

import attnc
from support import ENCODER, FAMILIES, LETTERS, Case


class Errors(Case):
    def test_place(self):
        bad = ENCODER.replace("d_model: 16", "d_model: 08")
        with self.assertRaises(attnc.InputError) as raised:
            attnc.load("a.yaml", spec=bad)
        e = raised.exception
        self.assertEqual((e.file, e.line, e.column, e.code),
                         ("a.yaml", 4, 10, 3))
        self.assertTrue(str(e).startswith(
            "a.yaml:4:10: d_model must be an integer"), e)
        self.assertIsInstance(e, ValueError)
        again = pickle.loads(pickle.dumps(e))
        self.assertEqual((str(again), again.line, again.code),
                         (str(e), 4, 3))

    def test_all_errors(self):
        bad = ENCODER.replace("d_model: 16", "hidden_size: 16").replace(
            "h: 2", "h: x")
        with self.assertRaises(attnc.InputError) as raised:
            attnc.load(spec=bad)
        errors = [m for m in raised.exception.messages
                  if m.severity == "error"]
        self.assertGreaterEqual(len(errors), 2)
        self.assertIn("note: ", str(raised.exception))

    def test_kinds(self):
        with self.raises(attnc.FileError, "cannot open: No such file"):
            attnc.load("none.yaml")
        with self.assertRaises(OSError):
            attnc.load("none.yaml")
        with self.raises(attnc.UsageError, "did you mean --beam?"):
            attnc.load(spec=ENCODER, bea=4)
        with self.raises(attnc.UsageError, "--beam is not an option of "
                                           "attnc_open()"):
            attnc.load(spec=ENCODER, beam=4)
        with self.raises(attnc.BackendError, "there is no C compiler"):
            attnc.load(spec=ENCODER, backend="/no/cc")
        with self.raises(attnc.Error, ""):
            attnc.plan(spec="attnc: 2\n")
        self.assertTrue(issubclass(attnc.MemoryError, builtins.MemoryError))
        for bad in -1, 2**64 + 3:
            with self.raises(ValueError, "max_input must be 0 to"):
                attnc.load(spec=ENCODER, max_input=bad)

    def test_arguments(self):
        with self.raises(TypeError, "give the path of a model"):
            attnc.load()
        with self.raises(TypeError, "a path must be str or os.PathLike"):
            attnc.load(b"x.yaml")
        with self.raises(TypeError, "not set"):
            attnc.load(LETTERS, skip={"a"})
        for path, spec in (("a\0", None), ("a", "attnc: 1\0")):
            with self.raises(ValueError, "must not contain NUL"):
                attnc.load(path, spec=spec)
        with self.raises(attnc.UsageError, "unknown option"):
            attnc.load(LETTERS, options=["--nothing"])

    def test_warning(self):
        text = (f"attnc: 1\nextends: {FAMILIES.parent.parent}/models/"
                "tiny.yaml\nd_k: 16\n")
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            attnc.load("w.yaml", spec=text, set={"h": 4}, seed=1).close()
        self.assertEqual([w.category for w in heard], [attnc.Warning])
        self.assertIn("d_k", str(heard[0].message))
        self.assertEqual(heard[0].filename, __file__)

    def test_note(self):
        with self.assertLogs("attnc", logging.INFO) as log:
            attnc.load("w.yaml", spec=ENCODER, seed=1).close()
        self.assertEqual(len(log.output), 1)
        self.assertTrue(log.output[0].startswith(
            "INFO:attnc:weights are random (seed 1)"), log.output)

    def test_import(self):
        for named in ("/no/libattnc.so", "/dev/null"):
            said = self.run_python(
                "import os, sys\n"
                "os.environ['ATTNC_LIBRARY'] = sys.argv[1]\n"
                "try: import attnc\n"
                "except ImportError as error: print(error)", named)
            self.assertTrue(said.startswith("attnc needs libattnc.so.1: "),
                            said)
            self.assertIn("`make lib` builds it", said)

    def test_import_is_small(self):
        """`import attnc` leaves what takes long for the call that needs it."""
        self.run_python(
            "import sys, numpy\n"
            "before = {*sys.modules}\n"
            "import attnc\n"
            "found = ({*sys.modules} - before) & {'json', 'logging',\n"
            "    'pathlib', 'tempfile', 'zipfile', 'attnc.texts'}\n"
            "assert not found, found\n"
            "from attnc import *\n"
            "assert attnc.compile and Graph\n"
            "assert {*attnc.__all__} < {*dir(attnc)}")
        with self.raises(AttributeError, "'attnc' has no attribute 'nothing'"):
            attnc.nothing


if __name__ == "__main__":
    unittest.main()
