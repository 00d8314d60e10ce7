"""Records what the `tokenizers` and `sentencepiece` packages make of a few
strings, with vocabularies that their own trainers made, for
tests/tokenizer/recorded_test.c, which needs no Python.

    python3 tests/tokenizers/record.py

writes recorded.txt and charmap.bin beside itself.
"""

import os
import re
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, models
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P
from tokenizers import trainers

import strings

HERE = os.path.dirname(os.path.abspath(__file__))
REPLACE, FUSE, FALLBACK, AS_SENTENCEPIECE = 16, 4, 2, 128
# Lines of prose.txt: the scripts of the small vocabularies.
LINES = [0, 1, 2, 4, 8, 10, 14, 16, 30, 32, 33]
STEPS = {
    "nfc": (N.NFC(), [(64, 0, "", "")]),
    "nfd": (N.NFD(), [(65, 0, "", "")]),
    "nfkc": (N.NFKC(), [(66, 0, "", "")]),
    "nfkd": (N.NFKD(), [(67, 0, "", "")]),
    "lower case": (N.Lowercase(), [(68, 0, "", "")]),
    "accents": (
        N.Sequence([N.NFD(), N.StripAccents()]),
        [(65, 0, "", ""), (69, 0, "", "")],
    ),
    "bert": (
        N.BertNormalizer(),
        [(op, 0, "", "") for op in (70, 71, 65, 72, 68)],
    ),
    "bert cased": (
        N.BertNormalizer(lowercase=False),
        [(70, 0, "", ""), (71, 0, "", "")],
    ),
    "nmt": (N.Nmt(), [(73, 0, "", "")]),
    "strip": (N.Strip(), [(74, 3, "", "")]),
    "strip left": (N.Strip(True, False), [(74, 1, "", "")]),
    "replace": (
        N.Sequence([N.Replace("e", "éß"), N.Replace("sé", "x")]),
        [(75, 0, "e", "éß"), (75, 0, "sé", "x")],
    ),
    "runs": (
        N.Sequence(
            [N.Replace(Regex(" {2,}"), "▁"), N.Replace(Regex(r"\s+"), " ")]
        ),
        [(76, 2, " ", "▁"), (76, 1, "", " ")],
    ),
    "prepend": (N.Prepend("▁"), [(77, 0, "▁", "")]),
}


def hexed(text):
    data = text if isinstance(text, bytes) else text.encode()
    return data.hex() or "-"


def step(s):
    return "step 0 %d %d %s %s" % (s[0], s[1], hexed(s[2]), hexed(s[3]))


def to_bytes(text, offsets):
    """Offsets in characters become offsets in bytes."""
    at = [0]
    for c in text:
        at.append(at[-1] + len(c.encode()))
    return [(at[a], at[b]) for a, b in offsets]


def put(f, head, cases):
    f.write("\n".join(head) + "\n")
    for text, normal, ids in cases:
        f.write("text %s\n" % hexed(text))
        if normal is not None:
            f.write("normal %s\n" % hexed(normal))
        f.write("ids " + " ".join("%d,%d,%d" % i for i in ids) + "\n")


def of_package(t, texts, normal=None):
    for text in texts:
        e = t.encode(text, add_special_tokens=False)
        offsets = to_bytes(text, e.offsets)
        yield text, normal and normal.normalize_str(text), [
            (i, a, b) for i, (a, b) in zip(e.ids, offsets)
        ]


def normalisers(f, texts):
    for name, (n, steps) in STEPS.items():
        t = Tokenizer(models.WordLevel({"u": 0}, unk_token="u"))
        t.normalizer = n
        t.pre_tokenizer = P.Split(Regex("(?m)."), "isolated")
        head = ["tokenizer " + name, "kind 0", "flags %d" % REPLACE]
        head += ["unknown 0", "token 75 0 0"] + [step(s) for s in steps]
        put(f, head, of_package(t, texts, n))


def words(f, corpus, texts):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = N.BertNormalizer()
    t.pre_tokenizer = P.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=700, special_tokens=special, show_progress=False
    )
    t.train_from_iterator(corpus, trainer)
    vocab = sorted(t.get_vocab().items(), key=lambda x: x[1])
    cut = {
        w for x in texts for w, _ in P.BertPreTokenizer().pre_tokenize_str(x)
    }
    cut = sorted(cut)[::6] + ["a" * 101, "ab" * 50, "a" * 100]
    for most in (100, 7):
        model = models.WordPiece(
            dict(vocab), unk_token="[UNK]", max_input_chars_per_word=most
        )
        head = ["tokenizer WordPiece %d" % most, "kind 4", "unknown 1"]
        head += [
            "flags %d" % REPLACE,
            "most %d" % most,
            "prefix " + hexed("##"),
        ]
        head += ["token %s 0 0" % hexed(a) for a, _ in vocab]
        put(f, head, of_package(Tokenizer(model), cut))


def trained(corpus, folder, **options):
    text = os.path.join(folder, "corpus.txt")
    name = os.path.join(folder, "model")
    with open(text, "w", encoding="utf-8") as f:
        f.write("\n".join(corpus))
    sentencepiece.SentencePieceTrainer.train(
        input=text, model_prefix=name, minloglevel=2, num_threads=1, **options
    )
    proto = sentencepiece_model_pb2.ModelProto()
    with open(name + ".model", "rb") as f:
        data = f.read()
    proto.ParseFromString(data)
    return sentencepiece.SentencePieceProcessor(model_proto=data), proto


def is_byte(piece):
    return re.fullmatch("<0x[0-9A-F]{2}>", piece) is not None


def unigram_of_package(f, proto, texts, fallback):
    charmap = proto.normalizer_spec.precompiled_charsmap
    vocab = [(x.piece, x.score) for x in proto.pieces]
    t = Tokenizer(models.Unigram(vocab, unk_id=0, byte_fallback=fallback))
    t.normalizer = N.Sequence(
        [N.Precompiled(charmap), N.Prepend("▁"), N.Replace(" ", "▁")]
    )
    head = ["tokenizer Unigram of tokenizers", "kind 5", "unknown 0", "charmap"]
    head += ["flags %d" % (REPLACE | FUSE | (FALLBACK if fallback else 0))]
    head += [
        step((80, 0, "", "")),
        step((77, 0, "▁", "")),
        step((75, 0, " ", "▁")),
    ]
    for piece, score in vocab:
        head.append("token %s %r %d" % (hexed(piece), score, is_byte(piece)))
    put(f, head, of_package(t, texts, t.normalizer))


def of_sentencepiece(f, name, processor, proto, texts):
    n, tr = proto.normalizer_spec, proto.trainer_spec
    flags = 1 * bool(n.precompiled_charsmap) + 2 * n.add_dummy_prefix
    flags += 4 * n.remove_extra_whitespaces + 8 * n.escape_whitespaces
    flags += 16 * tr.treat_whitespace_as_suffix
    kind = 5 if tr.model_type == 1 else 2
    model = REPLACE | FUSE | AS_SENTENCEPIECE
    model |= FALLBACK if tr.byte_fallback else 0
    head = ["tokenizer " + name, "kind %d" % kind, "unknown %d" % tr.unk_id]
    head += ["flags %d" % model, step((81, flags, "", ""))]
    head += ["charmap"] * bool(n.precompiled_charsmap)
    kinds = {1: 0, 2: 4 | 64, 3: 2 | 64, 4: 128, 5: 64, 6: 1 | 64}
    for x in proto.pieces:
        head.append("token %s %r %d" % (hexed(x.piece), x.score, kinds[x.type]))
    cases = []
    for text in texts:
        pieces = processor.encode(text, return_type="proto").pieces
        cases.append((text, None, [(p.id, p.begin, p.end) for p in pieces]))
    put(f, head, cases)


def main():
    avoid = strings.changed()
    texts = [b.decode() for _, b in strings.strings(3, 400, None, avoid)]
    texts = ["", " ", "a"] + [x for x in texts if 0 < len(x.encode()) < 120][
        :90
    ]
    with open(os.path.join(HERE, "prose.txt"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    corpus = [lines[i] for i in LINES]
    corpus = (corpus + [w for x in corpus for w in x.split()]) * 4
    common = {"character_coverage": 0.98, "hard_vocab_limit": False}
    out = open(os.path.join(HERE, "recorded.txt"), "w", encoding="ascii")
    with out as f, tempfile.TemporaryDirectory() as folder:
        f.write(
            "# By record.py: tokenizers, and what packages make of texts.\n"
        )
        normalisers(f, [x for x in texts if len(x.encode()) < 48][:30])
        words(f, corpus, texts)
        processor, proto = trained(
            corpus,
            folder,
            model_type="unigram",
            vocab_size=600,
            normalization_rule_name="nmt_nfkc",
            byte_fallback=True,
            **common
        )
        unigram_of_package(f, proto, texts, True)
        of_sentencepiece(f, "Unigram of sentencepiece", processor, proto, texts)
        with open(os.path.join(HERE, "charmap.bin"), "wb") as g:
            g.write(proto.normalizer_spec.precompiled_charsmap)
        processor, proto = trained(
            corpus,
            folder,
            model_type="bpe",
            vocab_size=600,
            normalization_rule_name="identity",
            user_defined_symbols=["<sep>", "ab"],
            remove_extra_whitespaces=False,
            byte_fallback=True,
            **common
        )
        of_sentencepiece(f, "BPE of sentencepiece", processor, proto, texts)
        processor, proto = trained(
            corpus,
            folder,
            model_type="bpe",
            vocab_size=600,
            normalization_rule_name="nmt_nfkc",
            treat_whitespace_as_suffix=True,
            **common
        )
        of_sentencepiece(f, "BPE without bytes", processor, proto, texts)


if __name__ == "__main__":
    main()
