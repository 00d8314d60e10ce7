#!/usr/bin/env python3
"""rope.txt: frequencies of scaled rotary positions and their factors, as
transformers has them. Run in a folder with transformers 5: make_rope.py.
A case is three lines: our positions, "d_k max_len factor", the frequencies."""
import os

from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

SHORT = [1 + i / 16 for i in range(32)]
LONG = [1.5 + i * i / 8 for i in range(32)]
LLAMA3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0)

# type, base, d_k, dims, original, max_len, other keys
CASES = [
    ("linear", 10000.0, 16, 16, 64, 64, dict(factor=4.0)),
    ("linear", 500.5, 24, 9, 64, 64, dict(factor=2.5)),
    ("dynamic", 10000.0, 16, 16, 64, 64, dict(factor=4.0)),
    ("dynamic", 10000.0, 16, 16, 64, 300, dict(factor=4.0)),
    ("dynamic", 500.5, 20, 7, 32, 33, dict(factor=2.0)),
    ("llama3", 500000.0, 128, 128, 8192, 16384, LLAMA3),
    ("llama3", 10000.0, 22, 15, 100, 200, dict(LLAMA3, factor=3.0)),
    ("yarn", 1000000.0, 64, 64, 32768, 131072, dict(factor=4.0)),
    ("yarn", 10000.0, 22, 14, 512, 1024,
     dict(factor=2.0, beta_fast=20, beta_slow=2, truncate=False)),
    ("yarn", 10000.0, 64, 32, 4096, 163840,
     dict(factor=40.0, mscale=0.707, mscale_all_dim=1.0)),
    ("yarn", 10000.0, 16, 16, 8, 64, dict(factor=8.0, mscale=0.5)),
    ("yarn", 10000.0, 16, 16, 64, 256,
     dict(factor=4.0, attention_factor=1.25)),
    ("yarn", 10000.0, 16, 16, 64, 64, dict(factor=0.5)),
    ("longrope", 10000.0, 48, 36, 4096, 131072, dict(factor=32.0)),
    ("longrope", 10000.0, 48, 36, 4096, 4096, dict(factor=32.0)),
    ("longrope", 10000.0, 24, 11, 16, 17, dict(factor=1.0)),
    ("longrope", 10000.0, 16, 16, 16, 64, dict(attention_factor=0.75)),
]


def ours(kind, base, dims, original, keys):
    if kind == "linear":
        scaling = f"{1 / keys['factor']!r}"
    else:
        rows = [f"type: {kind}", f"original_max_len: {original}"]
        for key, value in keys.items():
            text = str(value).lower() if value is False else repr(value)
            rows.append(f"{key}: {text}")
        scaling = "{" + ", ".join(rows) + "}"
    return f"{{type: rotary, base: {base!r}, dims: {dims}, scaling: {scaling}}}"


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rope.txt")
    with open(path, "w", encoding="utf-8") as out:
        for kind, base, d_k, dims, original, max_len, keys in CASES:
            if kind == "longrope":
                pairs = (dims + 1) // 2
                keys = dict(keys, short_factor=SHORT[:pairs],
                            long_factor=LONG[:pairs])
            rope = dict(keys, rope_type=kind, rope_theta=base,
                        partial_rotary_factor=(dims + 0.25) / d_k)
            if kind != "dynamic":
                rope["original_max_position_embeddings"] = original
            config = LlamaConfig(hidden_size=2 * d_k, num_attention_heads=2,
                                 head_dim=d_k,
                                 max_position_embeddings=original
                                 if kind == "dynamic" else max_len,
                                 rope_parameters=rope)
            rates, factor = ROPE_INIT_FUNCTIONS[kind](config, "cpu",
                                                      seq_len=max_len)
            print(ours(kind, base, dims, original, keys), file=out)
            print(d_k, max_len, repr(float(factor)), file=out)
            print(*[f"{r:.9g}" for r in rates.tolist()], file=out)


main()
