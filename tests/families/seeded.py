"""Weights that a C test can compute, too (tests/import/recorded_test.c).

fill() gives each tensor of a saved model numbers from a hash of their index. A
number is an odd integer below 128 in magnitude times a power of two, or for a
norm one of magnitude 1/2 to 1, so f32, bf16 and f16 hold it exactly. No two
tensors are alike, and the weights of a norm have both signs: otherwise a
decoder whose table is that of the logits would repeat the token that it read.
"""
import json
import struct

import numpy as np

TYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"),
         "BF16": np.dtype("<u2")}


def hashes(seed, n):
    x = (np.arange(n, dtype=np.uint64) + seed) & 0xFFFFFFFF
    for factor in (0x9E3779B1, 0x85EBCA6B):
        x = ((x ^ (x >> 16)) * factor) & 0xFFFFFFFF
    return (x ^ (x >> 16)).astype(np.int64)


def numbers(seed, name, shape):
    """f32. A matrix about keeps the size of a row."""
    odd = (hashes(seed, int(np.prod(shape))) >> 25) * 2 - 127
    if len(shape) <= 1 and name.endswith("weight"):
        return ((odd + np.where(odd < 0, -128, 128)) / 256).astype("<f4")
    exponent, n = 6, 2
    while len(shape) > 1 and n < shape[-1]:
        exponent, n = exponent + 1, n * 4
    if len(shape) <= 1:
        exponent = 8
    return (odd / 2 ** exponent).astype("<f4")


def stored(x, kind):
    if kind == "BF16":
        return (x.view("<u4") >> 16).astype("<u2").tobytes()
    return x.astype(TYPES[kind]).tobytes()


def header_of(path):
    with open(path, "rb") as file:
        n = struct.unpack("<Q", file.read(8))[0]
        return json.loads(file.read(n)), 8 + n


def fill(folder, seed):
    """Replaces all weights of a saved model. Returns what they are made of:
    file -> name -> [type, dimension ..], in the order of the numbers."""
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        header, begin = header_of(path)
        header.pop("__metadata__", None)
        tensors = found[path.name] = {}
        with open(path, "r+b") as file:
            for name, row in sorted(header.items()):
                kind, shape = row["dtype"], row["shape"]
                if kind not in TYPES:
                    raise ValueError(f"{name} is {kind}")
                x = numbers(seed, name, shape)
                file.seek(begin + row["data_offsets"][0])
                file.write(stored(x, kind))
                tensors[name] = [kind, *shape]
                seed += x.size
    return found
