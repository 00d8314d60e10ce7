"""Makes gguf/blocks/: blocks of each quantised type of ggml, with the floats
that ggml's C code computes of them (tests/runtime/gguf_blocks_test.c).

    python gguf_blocks.py LIBRARY

LIBRARY is libggml-base.so of a build of llama.cpp, as PyPI's llama-cpp-python
has it; 0.25.3 of ggml wrote the files. NAME.bin has Q blocks that
ggml_quantize_chunk() makes of normal deviates, one row each, then Q blocks of
random bytes whose scales are finite, then the floats of all blocks.
"""
import ctypes
import pathlib
import random
import struct
import sys

OUT = pathlib.Path(__file__).parent / "gguf" / "blocks"
# number, elements and bytes of a block, where it has scales in f16
TYPES = {
    "Q4_0": (2, 32, 18, [0]), "Q4_1": (3, 32, 20, [0, 2]),
    "Q5_0": (6, 32, 22, [0]), "Q5_1": (7, 32, 24, [0, 2]),
    "Q8_0": (8, 32, 34, [0]), "Q2_K": (10, 256, 84, [80, 82]),
    "Q3_K": (11, 256, 110, [108]), "Q4_K": (12, 256, 144, [0, 2]),
    "Q5_K": (13, 256, 176, [0, 2]), "Q6_K": (14, 256, 210, [208]),
    "IQ4_NL": (20, 32, 18, [0]), "IQ4_XS": (23, 256, 136, [0]),
    "MXFP4": (39, 32, 17, []),
}


def quantised(lib, number, elements, size, dice):
    row = (ctypes.c_float * elements)(*(dice.gauss(0, 1)
                                        for _ in range(elements)))
    block = ctypes.create_string_buffer(size)
    assert lib.ggml_quantize_chunk(number, row, block, ctypes.c_int64(0),
                                   ctypes.c_int64(1),
                                   ctypes.c_int64(elements), None) == size
    return block.raw


def drawn(name, size, scales, dice):
    block = bytearray(dice.randbytes(size))
    for at in scales:
        while block[at + 1] & 0x7c == 0x7c:
            block[at + 1] = dice.randrange(256)
    while name == "MXFP4" and block[0] > 252:
        block[0] = dice.randrange(256)
    return bytes(block)


def floats(lib, name, blocks, n):
    """dequantize_row_q4_K and the like."""
    out = (ctypes.c_float * n)()
    word = name.lower().replace("_k", "_K")
    getattr(lib, "dequantize_row_" + word)(blocks, out, ctypes.c_int64(n))
    return struct.pack(f"<{n}I", *(ctypes.c_uint32 * n).from_buffer(out))


def main():
    lib = ctypes.CDLL(sys.argv[1])
    lib.ggml_quantize_chunk.restype = ctypes.c_size_t
    OUT.mkdir(exist_ok=True)
    for name, (number, elements, size, scales) in TYPES.items():
        dice = random.Random(number)
        n = 768 // elements
        blocks = b"".join(
            [quantised(lib, number, elements, size, dice) for _ in range(n)] +
            [drawn(name, size, scales, dice) for _ in range(n)])
        (OUT / f"{name}.bin").write_bytes(
            blocks + floats(lib, name, blocks, 2 * n * elements))


if __name__ == "__main__":
    main()
