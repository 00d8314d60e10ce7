"""Records how the `tokenizers` package cuts texts: splits.txt, which
tests/tokenizer/split_test.c compares with.

    python3 tests/tokenizers/splits.py > tests/tokenizers/splits.txt

A line: the name of a list of steps (split_test.c), a text in hexadecimal, the
bytes where its pieces begin and end, or "-" where there is none.
"""

import random

import strings
from tokenizers import Regex, pre_tokenizers as P

LIST = "'s|'t|'re|'ve|'m|'ll|'d"
CL100K = (
    "(?i:" + LIST + r")|[^\r\n\p{L}\p{N}]?\p{L}+|%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
GPT2 = LIST + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CLIP = LIST + r"|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def cut(regex, how="isolated", invert=False):
    return P.Split(Regex(regex), how, invert)


STEPS = {
    "gpt2": cut(GPT2),
    "llama3": cut(CL100K % r"\p{N}{1,3}"),
    "qwen2": cut(CL100K % r"\p{N}"),
    "bloom": cut(" ?[^(\\s|[.,!?…。，、।۔،])]+"),
    "clip": cut(CLIP, "removed", True),
    "marks": cut(
        r"<\|startoftext\|>|<\|endoftext\|>|" + CLIP, "removed", True
    ),
    "digits": P.Digits(individual_digits=True),
    "numbers": P.Digits(individual_digits=False),
    "three": cut("[0-9][0-9][0-9]"),
    "words": P.Whitespace(),
    "spaces": P.WhitespaceSplit(),
    "bert": P.BertPreTokenizer(),
    "punctuation": P.Punctuation("contiguous"),
    "previous": P.Split(" ", "merged_with_previous"),
    "next": P.Split(" ", "merged_with_next"),
    "removed": P.Split("e", "removed"),
    "inverted": cut(GPT2, "merged_with_next", True),
}
TEXTS = [
    "",
    " ",
    "   ",
    "Hello, world! It's 12345 o'clock; we'LL go  on.",
    "don't 'S 'ſ 'Re ''ve x'd 'l 'll",
    "a  b\n\n c \r\n\td \n",
    "\n \n x\r\n",
    "x=1234567;//...\n\n  return(y)",
    "１２３४५ ²³ ½ Ⅷ①",
    "ガギ é́ naïve ⓐⓑ \u200d\u200c_x",
    "(a|b).c,d!e?f…g。h，i、j।k۔l،m ) n",
    "<|endoftext|>x <|startoftext|>",
    "\u2003\u3000 \u00a0x\u2028y\u1680",
    "😀👍🏽 ❤️ © ™ $1.50 €2",
]


def main():
    r = random.Random(7)
    changed = strings.changed()
    texts = list(TEXTS)
    for name in ("prose", "code", "marks", "spaces", "points", "emoji"):
        for _ in range(4):
            text = strings.KINDS[name][0](r)[:48]
            texts.append("".join("." if c in changed else c for c in text))
    for name, steps in STEPS.items():
        for text in texts:
            at = [0]
            for c in text:
                at.append(at[-1] + len(c.encode()))
            pieces = [
                f"{at[a]} {at[b]}"
                for piece, (a, b) in steps.pre_tokenize_str(text)
                if a < b
            ]
            print(
                name,
                text.encode().hex() or "-",
                " ".join(pieces) or "-",
                sep="\t",
            )


if __name__ == "__main__":
    main()
