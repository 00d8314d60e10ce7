"""Records what the `tokenizers` package makes of pairs of texts with the
templates of BERT and RoBERTa, for tests/emit/pairs_test.c.

    python3 tests/tokenizers/pairs.py

writes bert-pairs.json and roberta-pairs.json, two small tokenizers, and
pairs.txt beside itself. A line of that: the tokenizer, the two texts in
hexadecimal ("-": empty), ids, types.
"""

import os

from tokenizers import Tokenizer, decoders, models, processors, trainers
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P

HERE = os.path.dirname(os.path.abspath(__file__))
LINES = open(os.path.join(HERE, "prose.txt")).read().split("\n")[:2]
PAIRS = [
    ("who wrote it?", "It was written by them."),
    ("a", "b"),
    ("", ""),
    ("", "the second alone"),
    ("the first alone", ""),
    ("two  words ", " and\tspaces "),
    ("ünïcode Ä", "日本 e\u0301"),
    ("[SEP] in it", "</s> <s>"),
    ("the same", "the same"),
]


def bert():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = N.BertNormalizer()
    t.pre_tokenizer = P.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t.train_from_iterator(
        LINES,
        trainers.WordPieceTrainer(
            vocab_size=120, special_tokens=special, show_progress=False
        ),
    )
    t.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    t.decoder = decoders.WordPiece()
    return t


def roberta():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = P.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    t.train_from_iterator(
        LINES,
        trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=special,
            initial_alphabet=P.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    t.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    t.decoder = decoders.ByteLevel()
    return t


def hexed(text):
    return text.encode().hex() or "-"


with open(os.path.join(HERE, "pairs.txt"), "w") as out:
    for name, make in [("bert", bert), ("roberta", roberta)]:
        path = os.path.join(HERE, name + "-pairs.json")
        make().save(path)
        t = Tokenizer.from_file(path)
        for a, b in PAIRS:
            e = t.encode(a, b)
            out.write(
                "%s %s %s %s %s\n"
                % (
                    name,
                    hexed(a),
                    hexed(b),
                    ",".join(map(str, e.ids)),
                    ",".join(map(str, e.type_ids)),
                )
            )
