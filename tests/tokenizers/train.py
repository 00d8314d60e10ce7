"""Vocabularies for compare.py, made by the packages' own trainers: a folder
with NAME.json (tokenizers) and NAME.model (sentencepiece)."""

import os

import sentencepiece
import strings
from tokenizers import Regex, Tokenizer
from tokenizers import decoders as D
from tokenizers import models as M
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P
from tokenizers import processors as R
from tokenizers import trainers as T

SIZE = 3000
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = LLAMA3.replace("{1,3}", "")


def corpus():
    return [
        text.decode()
        for _, text in strings.strings(7, 4000, ["prose", "code", "emoji"])
    ]


def pattern(text):
    return P.Sequence(
        [
            P.Split(Regex(text), "isolated"),
            P.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def around(before, after):
    tokens = [(t, i) for t, i in [("<s>", 1), ("</s>", 2)]]
    return R.TemplateProcessing(
        single=" ".join(filter(None, [before, "$A", after])),
        pair=" ".join(filter(None, [before, "$A", after, "$B", after])),
        special_tokens=tokens,
    )


def pairs(texts, split, decoder, post=None, normal=None, fallback=False, **k):
    """Byte pairs by rank: of bytes; or of characters, with those of bytes."""
    t = Tokenizer(
        M.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True)
        if fallback
        else M.BPE(**k)
    )
    t.pre_tokenizer, t.decoder = split, decoder
    if normal:
        t.normalizer = normal
    if post:
        t.post_processor = post
    special = ["<unk>", "<s>", "</s>", "<|endoftext|>"]
    options = {}
    if fallback:
        special += ["<0x%02X>" % i for i in range(256)]
    elif k:
        options["end_of_word_suffix"] = "</w>"
    else:
        options["initial_alphabet"] = P.ByteLevel.alphabet()
    t.train_from_iterator(
        texts,
        T.BpeTrainer(
            vocab_size=SIZE,
            special_tokens=special,
            show_progress=False,
            **options,
        ),
    )
    return t


def wordpiece(texts, lower):
    t = Tokenizer(M.WordPiece(unk_token="[UNK]"))
    t.normalizer = N.BertNormalizer(lowercase=lower)
    t.pre_tokenizer, t.decoder = P.BertPreTokenizer(), D.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t.train_from_iterator(
        texts,
        T.WordPieceTrainer(
            vocab_size=SIZE, special_tokens=special, show_progress=False
        ),
    )
    t.post_processor = R.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def unigram(texts):
    t = Tokenizer(M.Unigram())
    t.normalizer = N.Sequence([N.NFKC(), N.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer, t.decoder = P.Metaspace(), D.Metaspace()
    t.train_from_iterator(
        texts,
        T.UnigramTrainer(
            vocab_size=SIZE,
            unk_token="<unk>",
            special_tokens=["<pad>", "<s>", "</s>", "<unk>"],
            show_progress=False,
        ),
    )
    t.post_processor = around(None, "</s>")
    return t


def tokenizers(texts):
    def byte_level():
        return P.ByteLevel(add_prefix_space=False)

    llama2 = [D.Replace("▁", " "), D.ByteFallback(), D.Fuse()]
    llama2 = D.Sequence([*llama2, D.Strip(" ", 1, 0)])
    roberta = R.RobertaProcessing(("</s>", 2), ("<s>", 1))
    out = {
        "gpt2": pairs(texts, byte_level(), D.ByteLevel(), R.ByteLevel()),
        "roberta": pairs(texts, byte_level(), D.ByteLevel(), roberta),
        "llama3": pairs(texts, pattern(LLAMA3), D.ByteLevel()),
        "qwen": pairs(texts, pattern(QWEN), D.ByteLevel(), normal=N.NFC()),
        "llama2": pairs(
            texts, P.Metaspace(), llama2, around("<s>", None), fallback=True
        ),
        "suffix": pairs(
            texts, P.BertPreTokenizer(), D.BPEDecoder(), unk_token="<unk>"
        ),
        "bert": wordpiece(texts, True),
        "bert-cased": wordpiece(texts, False),
        "unigram": unigram(texts),
    }
    whole = Tokenizer.from_str(out["llama2"].to_str())
    whole.pre_tokenizer = None  # as Llama 2's own file has it
    whole.normalizer = N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")])
    return out | {"llama2-whole": whole}


# Options of sentencepiece's trainer; slow.py makes folders of these, too.
PIECES = {
    "spm-unigram": {},
    "spm-unigram-bytes": dict(
        byte_fallback=True, normalization_rule_name="nfkc"
    ),
    "spm-bpe": dict(
        model_type="bpe", byte_fallback=True, split_digits=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False,
        user_defined_symbols=["<sep>", "ab"],
    ),
    "spm-bpe-folded": dict(
        model_type="bpe", normalization_rule_name="nmt_nfkc_cf"
    ),
    "spm-t5": dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
}


def pieces(texts, to):
    lines = os.path.join(to, "corpus.txt")
    with open(lines, "w", encoding="utf-8") as f:
        f.writelines(t.replace("\n", " ") + "\n" for t in texts)
    for name, options in PIECES.items():
        sentencepiece.SentencePieceTrainer.train(
            input=lines,
            model_prefix=os.path.join(to, name),
            vocab_size=SIZE,
            character_coverage=0.98,
            minloglevel=2,
            num_threads=1,
            **options,
        )
