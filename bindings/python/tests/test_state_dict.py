"""Files of tensors that are damaged, or made to harm who reads them."""

import json
import pickle
import random
import struct
import tempfile
import time
import tracemalloc
import unittest
import zipfile
from pathlib import Path

import numpy as np

import attnc
from attnc.state_dict import state_dict
from support import Case

# A pickle of {"a": a tensor [5] of the 5 numbers of storage 0}.
PICKLE = (b"\x80\x02}X\x01\x00\x00\x00actorch._utils\n_rebuild_tensor_v2\n"
          b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
          b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x05tQK\x00K\x05\x85K\x01"
          b"\x85\x89}tRs.")
X = np.arange(5, dtype="<f4")
TEXT = b"X\x01\x00\x00\x00a"


def doubled(n):
    """Instructions of a tuple that contains 2**n empty ones."""
    return b")" + b"q\x00h\x00\x86" * n


class Damaged(Case):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.path = Path(made.name, "x.pt")

    def write(self, data=PICKLE, compression=zipfile.ZIP_STORED, **more):
        with zipfile.ZipFile(self.path, "w", compression) as z:
            z.writestr("x/data.pkl", data)
            z.writestr("x/data/0", X.tobytes())
            for name, text in more.items():
                z.writestr(f"x/{name}", text)

    def refused(self, why, path=None):
        path = path or self.path
        with self.raises(attnc.InputError, why) as context:
            state_dict(path)
        message = context.exception.messages[0]
        self.assertEqual(message.file, str(path))
        self.assertIn(str(path), str(context.exception))
        self.assertNotIn("\n", str(context.exception))

    def test_good(self):
        for more in ({}, {"byteorder": b"little"}):
            self.write(**more)
            np.testing.assert_array_equal(state_dict(self.path)["a"], X)
        with self.raises(attnc.FileError, "none.pt: No such file"):
            state_dict(self.path.parent / "none.pt")
        with self.raises(attnc.FileError, "Is a directory"):
            state_dict(self.path.parent)

    def test_zip(self):
        self.write(PICKLE + bytes(64 << 20), zipfile.ZIP_DEFLATED)
        tracemalloc.start()
        self.refused("it is compressed")
        self.assertLess(tracemalloc.get_traced_memory()[1], 4 << 20)
        tracemalloc.stop()
        self.write(PICKLE + bytes(1 << 20))
        self.refused("at most 1048576 are allowed")
        self.write(byteorder=b"big")
        self.refused("its byte order is not little-endian")
        self.write()
        good = self.path.read_bytes()
        at = good.index(b"PK\1\2")
        for offset, data, why in ((8, b"\1\0", "it is encrypted"),
                                  (10, b"\x08\0", "it is compressed"),
                                  (24, b"\0\0\x0f\0", "larger than the zip")):
            bad = bytearray(good)
            bad[at + offset:at + offset + len(data)] = data
            self.path.write_bytes(bad)
            self.refused(why)
        self.path.write_bytes(b"P")
        self.refused("not a zip file")
        self.path.write_bytes(b"")
        self.refused("is not read")

    def test_pickle(self):
        start = time.monotonic()
        deep, other = doubled(40), b"ccollections\nOrderedDict\n"
        for data, why in (
                (b"\x80\x02}" + deep + b"K\x01s.", "a key that is no text"),
                (b"\x80\x02}(" + deep + b"K\x01u.", "a key that is no text"),
                (b"\x80\x02" + deep + b")R.", "it calls what is no function"),
                (b"\x80\x02" + other + deep + b"R.", "it calls collections"),
                (b"\x80\x02" + deep + b"Q.", "persistent id"),
                (b"\x80\x02}" + TEXT + deep + b"s.", "a is no tensor"),
                (PICKLE.replace(b"K\x05\x85", deep), "a is beyond its"),
                (PICKLE.replace(b"K\x00K", deep + b"K"), "a is beyond its"),
                (b"\x80\x02)0.", "the instruction POP"),
                (b"\x80\x02K\x01K\x02K\x03s.", "sets items of what is no"),
                (b"\x80\x02" + TEXT + b"\x85" * 100000 + b".", "no dict"),
                (b"\x80\x02\x87.", "too few values"),
                (b"\x80\x02}cos\nsystem\nR.", "it names os system")):
            self.write(data)
            self.refused(why)
        self.assertLess(time.monotonic() - start, 30)

    def test_shared(self):
        """Tensors that share numbers cannot ask for much memory."""
        one = PICKLE[3:-2]
        self.write(b"\x80\x02}" + b"".join(
            one.replace(TEXT, b"X\x05\0\0\0%05d" % i) + b"s"
            for i in range(2)) + b".")
        self.assertEqual(len(state_dict(self.path)), 2)
        self.write(b"\x80\x02}" + one + b"s" + b"".join(
            b"X\x05\0\0\0%05dq\1" % i + one[6:].replace(
                b"K\x05\x85K\x01", b"J\x00\x00\x04\x00\x85K\x00") + b"s"
            for i in range(9)) + b".", **{"data/1": bytes(1 << 20)})
        self.refused("is beyond its numbers")
        self.write(b"\x80\x02}" + b"".join(
            b"X\x05\0\0\0%05d" % i + one[6:].replace(
                b"X\1\0\0\0" b"0", b"X\1\0\0\0" b"1").replace(
                b"K\x05\x85K\x01", b"J\x00\x00\x04\x00\x85K\x00") + b"s"
            for i in range(9)) + b".", **{"data/1": bytes(1 << 20)})
        self.refused("share too many numbers")

    def mutated(self, data, draw):
        data = bytearray(data)
        for _ in range(draw.choice((1, 1, 2, 4))):
            at = draw.randrange(len(data))
            kind = draw.randrange(4)
            if kind == 0:
                data[at] = draw.randrange(256)
            elif kind == 1:
                data[at] ^= 1 << draw.randrange(8)
            elif kind == 2:
                del data[at:at + draw.randrange(1, 9)]
            else:
                data[at:at] = data[at:at + draw.randrange(1, 9)]
            data = data or bytearray(b"x")
        return bytes(data)

    def one(self, path):
        """Expects tensors or an exception of this package."""
        try:
            return all(x.dtype == np.float32
                       for x in state_dict(path).values())
        except attnc.InputError as error:
            self.assertIn(str(path), str(error))
            return False

    def test_mutations(self):
        draw = random.Random(1)
        self.write(byteorder=b"little")
        good, read = self.path.read_bytes(), 0
        for _ in range(400):
            self.path.write_bytes(self.mutated(good, draw))
            read += self.one(self.path)
        for _ in range(400):  # zipfile finds no other bytes in these
            self.write(self.mutated(PICKLE, draw))
            read += self.one(self.path)
        path = self.path.with_suffix(".safetensors")
        for _ in range(400):
            path.write_bytes(self.mutated(self.safe(), draw))
            read += self.one(path)
        self.assertTrue(30 < read < 1000, read)

    # ---- .safetensors ----

    def safe(self, data=X.tobytes(), **more):
        """Returns a file with one tensor; `more`: what its head has instead."""
        one = {"dtype": "F32", "shape": [5], "data_offsets": [0, 20], **more}
        head = json.dumps({"a": one, "__metadata__": {"by": "x"}}).encode()
        return struct.pack("<Q", len(head)) + head + data

    def test_safetensors(self):
        path = self.path.with_suffix(".safetensors")
        path.write_bytes(self.safe())
        np.testing.assert_array_equal(state_dict(path)["a"], X)
        path.write_bytes(self.safe(shape=[0, 3], data_offsets=[20, 20]))
        self.assertEqual(state_dict(path)["a"].shape, (0, 3))
        beyond = "a is beyond its numbers"
        for more, why in (
                ({"data_offsets": [0, 24]}, beyond),
                ({"data_offsets": [4, 24]}, beyond),
                ({"data_offsets": [20, 0]}, beyond),
                ({"data_offsets": [-20, 0]}, beyond),
                ({"data_offsets": [0, None]}, beyond),
                ({"data_offsets": [0, 20, 1]}, beyond),
                ({"data_offsets": [0., 20.]}, beyond),
                ({"data_offsets": None}, beyond),
                ({"shape": [6]}, beyond), ({"shape": [-5]}, beyond),
                ({"shape": [True, 5]}, beyond), ({"shape": None}, beyond),
                ({"dtype": "I64"}, "a is no tensor of F32, F64, F16, BF16"),
                ({"dtype": None}, "a is no tensor of"),
                ({"dtype": ["F32"]}, "a is no tensor of")):
            path.write_bytes(self.safe(**more))
            self.refused(why, path)
        one = {"dtype": "F32", "shape": [5], "data_offsets": [0, 20]}
        for head, why in (
                ({"a": one, "b": one}, "its tensors overlap"),
                ({"a": None}, "a has no type"), ([], "no map of names"),
                (None, "no map of names"), ({"a\nb": []}, "a\\nb has no type")):
            text = json.dumps(head).encode()
            path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(20))
            self.refused(why, path)
        for data, why in (
                (b"\1", "larger than the file"), (b"", "larger than"),
                (struct.pack("<Q", 1 << 62), "larger than the file"),
                (struct.pack("<Q", 200000) + b"[" * 200000, "is not read"),
                (struct.pack("<Q", 2) + b"{\xff", "is not read"),
                (self.safe()[:-1], beyond)):
            path.write_bytes(data)
            self.refused(why, path)


if __name__ == "__main__":
    unittest.main()
