"""The tokenizers of transformers 4 that are written in Python, whose folders
have no tokenizer.json. Runs in a Python of its own, build/tokenizers4.

    slow.py make FOLDER           saves a folder a class of train.py's models
    slow.py ids FOLDER SECONDS    strings (strings.py) on stdin, a line of ids
                                  for each; ends when the time is over
    slow.py record                makes tests/tokenizers/folders: small ones,
                                  and texts with their ids
"""

import json
import os
import shutil
import sys
import tempfile
import time

import sentencepiece
import strings
import transformers as H

HERE = os.path.dirname(os.path.abspath(__file__))
SHIFTED = {
    "xlm-r": H.XLMRobertaTokenizer,
    "nllb": H.NllbTokenizer,
    "mbart": H.MBartTokenizer,
    "mbart50": H.MBart50Tokenizer,
    "pegasus": H.PegasusTokenizer,
    "t5": H.T5Tokenizer,
}
MAPPED = {"marian": H.MarianTokenizer, "m2m100": H.M2M100Tokenizer}
WORDS = {
    "bert": (H.BertTokenizer, {}),
    "bert-cased": (H.BertTokenizer, {"do_lower_case": False}),
    "mpnet": (H.MPNetTokenizer, {}),
}
MERGED = {"gpt2": H.GPT2Tokenizer, "roberta": H.RobertaTokenizer}
PAD_FIRST = ("pegasus", "t5")  # pad 0, end 1, unknown 2
NUMBERED = {"t5": {"extra_ids": 4}}
COUNT, MOST = 60, 150  # texts that are recorded, bytes of one


def pieces(path, ids=None):
    """The pieces of a .model; as ids: a map that has half of them."""
    p = sentencepiece.SentencePieceProcessor(model_file=path)
    known = [p.id_to_piece(i) for i in range(len(p))][3:]
    if ids is None:
        return known
    out = {}
    for piece in ids + known[: len(known) // 2] + ["<pad>"]:
        out.setdefault(piece, len(out))
    return out


def written(folder, name, value):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f)
    return path


def shifted(to, name, model, **options):
    SHIFTED[name](model, **options).save_pretrained(os.path.join(to, name))


def mapped(to, name, model):
    if name == "marian":
        ids = written(to, name + ".json", pieces(model, ["</s>", "<unk>"]))
        t = H.MarianTokenizer(model, model, ids)
    else:
        first = ["<s>", "<pad>", "</s>", "<unk>"]
        ids = written(to, name + ".json", pieces(model, first))
        t = H.M2M100Tokenizer(ids, model, src_lang="de", tgt_lang="fr")
    t.save_pretrained(os.path.join(to, name))
    os.remove(ids)


def bare(to, name, file):
    """A folder that has the class's name alone."""
    folder = os.path.join(to, name + "-bare")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(to, name, file), folder)
    kind = H.AutoTokenizer.from_pretrained(
        os.path.join(to, name), use_fast=False
    )
    written(
        folder,
        "tokenizer_config.json",
        {"tokenizer_class": type(kind).__name__},
    )


def make(folder):
    for name in SHIFTED:
        model = "spm-t5" if name in PAD_FIRST else "spm-unigram"
        shifted(folder, name, os.path.join(folder, model + ".model"))
    for name in MAPPED:
        mapped(folder, name, os.path.join(folder, "spm-unigram.model"))
    bare(folder, "t5", "spiece.model")


def opened(folder):
    name = os.path.basename(folder).removesuffix("-bare")
    known = SHIFTED | MAPPED | MERGED | {k: c for k, (c, _) in WORDS.items()}
    return known[name].from_pretrained(folder)


def ids(folder, seconds):
    t = opened(folder)
    end = time.monotonic() + float(seconds)
    for text in strings.read("/dev/stdin"):
        if time.monotonic() > end:
            break
        print(*t(text.decode(errors="replace")).input_ids)


# ------------------------------------------------------------- recording ---
def small_model(path, lines, pad_first):
    ids = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1) if pad_first else {}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=path, vocab_size=260,
        model_type="unigram", minloglevel=2, hard_vocab_limit=False,
        normalization_rule_name="identity", num_threads=1,
        character_coverage=0.98, **ids,
    )
    return path + ".model"


def words_file(path, lines, special):
    words = sorted({w for x in lines for w in [*x.lower().split(), *x.split()]})
    letters = sorted({c for w in words for c in w})
    known = special + letters + ["##" + c for c in letters[::2]] + words[::3]
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(w + "\n" for w in dict.fromkeys(known))


def merged(to, name, lines):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"]
    t.train_from_iterator(
        lines,
        trainers.BpeTrainer(
            vocab_size=420, show_progress=False, special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    with tempfile.TemporaryDirectory() as folder:
        t.model.save(folder)
        files = [os.path.join(folder, x) for x in ("vocab.json", "merges.txt")]
        MERGED[name](*files).save_pretrained(os.path.join(to, name))


def folders(to, lines):
    with tempfile.TemporaryDirectory() as work:
        models = [
            small_model(os.path.join(work, x), lines, x == "pad")
            for x in ("plain", "pad")
        ]
        for name in SHIFTED:
            shifted(to, name, models[name in PAD_FIRST],
                    **NUMBERED.get(name, {}))
        for name in MAPPED:
            mapped(to, name, models[0])
        for name, (c, options) in WORDS.items():
            path = os.path.join(work, "vocab.txt")
            special = list(c(__file__, **options).special_tokens_map.values())
            words_file(path, lines, sorted(set(special)))
            c(path, **options).save_pretrained(os.path.join(to, name))
        for name in MERGED:
            merged(to, name, lines)
    bare(to, "t5", "spiece.model")
    bare(to, "bert", "vocab.txt")


def record():
    to = os.path.join(HERE, "folders")
    shutil.rmtree(to, ignore_errors=True)
    os.makedirs(to)
    with open(os.path.join(HERE, "prose.txt"), encoding="utf-8") as f:
        lines = [x for i, x in enumerate(f.read().splitlines())
                 if i in (0, 1, 2, 8, 32)]
    folders(to, lines + [w for x in lines for w in x.split()] * 2)
    avoid = strings.changed()
    texts = ["", " ", "a", "a <mask> b", "x<extra_id_1> y", "de_DE __de__"]
    texts += [x[:MOST] for x in lines[:3]]
    texts += [b.decode() for _, b in strings.strings(11, 400, None, avoid)
              if len(b) < MOST and 0 not in b]
    texts = texts[:COUNT]
    for name in sorted(os.listdir(to)):
        t = opened(os.path.join(to, name))
        with open(os.path.join(to, name, "ids.txt"), "w") as f:
            for x in texts:
                f.write((x.encode().hex() or "-") + ":")
                f.write(" ".join(map(str, t(x).input_ids)) + "\n")


if __name__ == "__main__":
    {"make": make, "ids": ids, "record": record}[sys.argv[1]](*sys.argv[2:])
