"""Records how transformers cuts pairs of texts that are too long, which is
truncation="longest_first", for tests/library/library_cut_test.c.

    python3 tests/tokenizers/cut_pairs.py

writes cut_pairs.txt beside itself, from the tokenizers that pairs.py made. A
line: the tokenizer, the maximum number of tokens, the two texts in hexadecimal
("-": empty), ids, types.
"""

import os

from transformers import PreTrainedTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))
PAIRS = [
    ("who wrote it?", "It was written by them."),
    ("It was written by them.", "who wrote it?"),
    ("the same", "the same"),
    ("a", "It was written by them."),
    ("", "the second alone"),
    ("the first alone", ""),
]


def hexed(text):
    return text.encode().hex() or "-"


with open(os.path.join(HERE, "cut_pairs.txt"), "w") as out:
    for name in "bert", "roberta":
        t = PreTrainedTokenizerFast(
            tokenizer_file=os.path.join(HERE, name + "-pairs.json")
        )
        for pair in PAIRS:
            for most in 4, 5, 7, 8, 9, 12, 15, 20, 25:
                found = t(  # a list: one text alone may not be empty
                    [pair],
                    truncation="longest_first",
                    max_length=most,
                    return_token_type_ids=True,
                )
                ids, types = found["input_ids"][0], found["token_type_ids"][0]
                print(
                    name,
                    most,
                    *map(hexed, pair),
                    ",".join(map(str, ids)),
                    ",".join(map(str, types)),
                    file=out,
                )
