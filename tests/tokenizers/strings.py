"""Strings for the comparison of tokenizers: prose of 24 scripts, code, emoji,
combining marks, spaces, added tokens, any code points, invalid UTF-8, strings
of up to 100,000 characters. The same seed makes the same strings.

    python3 strings.py [--seed 1] [--count 50000] [--kind prose ..] > FILE

writes for each string its length in bytes (32 bits, little-endian) and its
bytes; read(FILE) takes them back. Only strings of kind `invalid` are not UTF-8.
"""

import argparse
import os
import random
import struct
import sys

# One sentence a script: the first article of the Declaration of Human Rights.
PROSE = [
    line.strip()
    for line in open(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "prose.txt"),
        encoding="utf-8",
    )
    if line.strip()
]
MARKS = ".,;:!?…'\"()[]{}-–—/\\&%$€#@*+=<>|~^`_"
CODE = """def return if else for while in not and None True self.x
#include <stdio.h> int main(void) { printf("%d\\n", x); } /* comment */ // one
const let => async await function() {} [] ; == != === && || += -> :: <T> &mut
SELECT * FROM t WHERE id = 42; 0x7fff 1.5e-10 3.14159 1_000_000 snake_case
camelCase HTTPServer __init__ @property lambda x: x**2 f"{name!r:>10}" \\t \\\\
<div class="a"> </div> &nbsp; {"key": [1, 2.0, null]} $HOME ${x:-y} 2>/dev/null
a.b.c http://example.com/?q=1&r=2#s user@example.org C:\\Users don't we'll
I'd""".split()
EMOJI = [
    "😀",
    "👍🏽",
    "👨‍👩‍👧‍👦",
    "🇩🇪",
    "🇯🇵",
    "1️⃣",
    "❤️",
    "🏳️‍🌈",
    "☕",
    "👩🏾‍💻",
    "🫠",
    "✨",
    "🧑‍🚀",
    "⚽",
    "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
    "🤷‍♀️",
    "♥",
    "©",
    "™",
    "🇺",
    "\u200d",
    "\ufe0f",
]
SPACES = (
    " \t\n\r\v\f\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005"
    "\u2006\u2007\u2008\u2009\u200a\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
)
ADDED = [
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[UNK]",
    "[PAD]",
    "<s>",
    "</s>",
    "<unk>",
    "<pad>",
    "<mask>",
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|begin_of_text|>",
    "<extra_id_0>",
    "<extra_id_17>",
    "<0x0A>",
    "▁",
    "##",
    "</w>",
    "Ġ",
    "Ċ",
    "[",
    "<",
    "<|",
    "|>",
    "[CL",
    "</",
]
# Where decompositions, cases and classes are many.
RANGES = [
    (0x20, 0x7E),
    (0xA0, 0x24F),
    (0x250, 0x36F),
    (0x370, 0x52F),
    (0x530, 0x6FF),
    (0x900, 0xD7F),
    (0xE00, 0xFFF),
    (0x1000, 0x13FF),
    (0x1100, 0x11FF),
    (0x1E00, 0x1FFF),
    (0x2000, 0x2BFF),
    (0x2C00, 0x2DFF),
    (0x3000, 0x33FF),
    (0x3400, 0x9FFF),
    (0xA640, 0xABFF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0xFB00, 0xFDFF),
    (0xFE00, 0xFFEF),
    (0x10000, 0x100FF),
    (0x10400, 0x1049F),
    (0x11000, 0x113FF),
    (0x1D100, 0x1D7FF),
    (0x1E900, 0x1E95F),
    (0x1F100, 0x1FAFF),
    (0x20000, 0x2A6DF),
    (0x2F800, 0x2FA1F),
    (0xE0000, 0xE01EF),
    (0xFFF0, 0xFFFF),
    (0x0, 0x1F),
    (0x7F, 0x9F),
    (0xE000, 0xE0FF),
    (0x0, 0x10FFFF),
]
COMBINING = [
    chr(c)
    for r in (
        (0x300, 0x36F),
        (0x483, 0x487),
        (0x591, 0x5BD),
        (0x610, 0x61A),
        (0x64B, 0x65F),
        (0x93C, 0x94D),
        (0x1AB0, 0x1ABD),
        (0x1DC0, 0x1DFF),
        (0x20D0, 0x20F0),
        (0x302A, 0x302F),
        (0x3099, 0x309A),
        (0xFE20, 0xFE2F),
        (0x1D165, 0x1D169),
    )
    for c in range(r[0], r[1] + 1)
]


def prose(r):
    words = r.choice(PROSE).split()
    n = int(r.expovariate(1 / 14)) + 1
    at = r.randrange(len(words))
    out = [words[(at + i) % len(words)] for i in range(n)]
    for i in range(n):
        p = r.random()
        if p < 0.06:
            out[i] = out[i].upper()
        elif p < 0.12:
            out[i] += r.choice(MARKS)
        elif p < 0.16:
            out[i] = str(r.randrange(10 ** r.randrange(1, 9)))
        elif p < 0.20:
            out[i] = out[i][: r.randrange(len(out[i]) + 1)] + r.choice(
                r.choice(PROSE).split()
            )
    return r.choice([" ", " ", " ", " ", "", "  ", "\n"]).join(out)


def code(r):
    lines = []
    for _ in range(r.randrange(1, 6)):
        n = r.randrange(0, 9)
        lines.append(
            r.choice(["", "    ", "\t", "        ", "\t\t", "   "])
            + r.choice([" ", " ", ""]).join(r.choice(CODE) for _ in range(n))
            + r.choice(["", "", " ", ";"])
        )
    return r.choice(["\n", "\n", "\r\n", "\n\n"]).join(lines)


def emoji(r):
    return "".join(
        r.choice(
            [
                r.choice(EMOJI),
                " ",
                r.choice(EMOJI),
                r.choice(r.choice(PROSE).split()),
            ]
        )
        for _ in range(r.randrange(1, 20))
    )


def marks(r):
    out = []
    for _ in range(r.randrange(1, 16)):
        lo, hi = r.choice(RANGES[:16])
        out.append(
            r.choice(
                [
                    "",
                    " ",
                    chr(r.randint(lo, hi)),
                    r.choice("aeiouAEIOUcnszkgd가각각かはनयбиו"),
                    chr(r.choice([0x1112, 0x1161, 0x11A8, 0xAC00])),
                ]
            )
        )
        for _ in range(int(r.expovariate(0.6))):
            out.append(r.choice(COMBINING))
    return "".join(out)


def spaces(r):
    return "".join(
        r.choice(
            [
                r.choice(SPACES),
                " " * r.randrange(1, 6),
                r.choice(SPACES),
                r.choice(r.choice(PROSE).split()),
                r.choice(MARKS),
            ]
        )
        for _ in range(r.randrange(1, 24))
    )


def added(r):
    return "".join(
        r.choice(
            [
                r.choice(ADDED),
                r.choice(ADDED),
                " ",
                r.choice(r.choice(PROSE).split()),
                r.choice(SPACES),
            ]
        )
        for _ in range(r.randrange(1, 16))
    )


def points(r):
    out = []
    lo, hi = r.choice(RANGES)
    for _ in range(int(r.expovariate(1 / 20)) + 1):
        if r.random() < 0.3:
            lo, hi = r.choice(RANGES)
        c = r.randint(lo, hi)
        out.append(chr(c) if not 0xD800 <= c < 0xE000 else " ")
    return "".join(out)


def mixed(r):
    return "".join(
        r.choice([prose, code, emoji, marks, spaces, added, points])(r)
        for _ in range(r.randrange(2, 6))
    )


def long(r):
    n = r.choice([1000, 3000, 10000, 30000, 100000])
    p = r.random()
    if p < 0.25:
        return r.choice("aAz0. \n가ßم的😀\u0301▁") * n
    if p < 0.35:
        return r.choice(
            ["ab", "aab", "é ", "\r\n", "e\u0301", "の、", "<s>", "'s"]
        ) * (n // 2)
    if p < 0.45:
        return "".join(r.choice("ab") for _ in range(n))
    out, size = [], 0
    while size < n:
        out.append(mixed(r) if p < 0.7 else prose(r) + " ")
        size += len(out[-1])
    return "".join(out)[:n]


INVALID = [
    b"\x80",
    b"\xbf",
    b"\xc0\xaf",
    b"\xc1",
    b"\xe0\x80\x80",
    b"\xed\xa0\x80",
    b"\xed\xbf\xbf",
    b"\xf0\x80\x80\x80",
    b"\xf4\x90\x80\x80",
    b"\xf5",
    b"\xff",
    b"\xfe",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xf0\x9f",
    b"\xc3",
    b"\xe4\xb8",
    b"\xf8\x88\x80\x80\x80",
    b"\x00",
]


def invalid(r):
    out = []
    for _ in range(r.randrange(1, 6)):
        out.append(
            r.choice([prose, emoji, points, code])(r).encode()[
                : r.randrange(1, 60)
            ]
        )
        out.append(r.choice(INVALID))
    return b"".join(out)


# The share of each kind, in thousandths.
KINDS = {
    "prose": (prose, 400),
    "code": (code, 140),
    "emoji": (emoji, 80),
    "marks": (marks, 100),
    "spaces": (spaces, 70),
    "added": (added, 60),
    "points": (points, 90),
    "mixed": (mixed, 58),
    "long": (long, 2),
}


def strings(seed=1, count=50000, kinds=None, avoid=frozenset()):
    """Yields (kind, bytes); characters of `avoid` become '.'."""
    r = random.Random(seed)
    names = [k for k in kinds or KINDS if k in KINDS]
    weights = [KINDS[k][1] for k in names]
    for i in range(count):
        if not names or (
            kinds and "invalid" in kinds and i % (len(names) + 1) == 0
        ):
            yield "invalid", invalid(r)
            continue
        kind = r.choices(names, weights)[0]
        text = KINDS[kind][0](r)
        if avoid and not avoid.isdisjoint(text):
            text = "".join("." if c in avoid else c for c in text)
        yield kind, text.encode()


def changed(path=None):
    """The characters of changed.txt, whose properties differ between the
    versions of Unicode that libutf8proc and the packages follow."""
    path = path or os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "changed.txt"
    )
    out = set()
    for line in open(path, encoding="ascii"):
        first = line.split("#")[0].split()
        if first:
            a, _, b = first[0].partition("..")
            out.update(chr(c) for c in range(int(a, 16), int(b or a, 16) + 1))
    return frozenset(out)


def write(f, texts):
    for t in texts:
        f.write(struct.pack("<I", len(t)) + t)


def read(path):
    data = open(path, "rb").read()
    at, out = 0, []
    while at < len(data):
        (n,) = struct.unpack_from("<I", data, at)
        out.append(data[at + 4 : at + 4 + n])
        at += 4 + n
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=50000)
    p.add_argument("--kind", nargs="*", choices=[*KINDS, "invalid"])
    p.add_argument("--changed", help="characters to leave out, as changed.txt")
    a = p.parse_args()
    avoid = changed(a.changed) if a.changed else frozenset()
    write(
        sys.stdout.buffer,
        (t for _, t in strings(a.seed, a.count, a.kind, avoid)),
    )


if __name__ == "__main__":
    main()
