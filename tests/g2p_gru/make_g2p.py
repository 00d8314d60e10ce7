"""The trained GRU encoder-decoder of the package g2p-en 2.1.0, as a spec and
weights of attnc, and its answers on 2,000 words beside the package's own.

    make check-gru
    python tests/g2p_gru/make_g2p.py g2p_en-2.1.0-py3-none-any.whl FOLDER

FOLDER gets g2p.yaml, g2p.safetensors, two vocabularies, words.txt and
answers.txt, what the package's own code says of the words. --attnc: attnc says
it too, and where an answer differs both are printed; the exit code is 1 then.
Nothing of the weights is changed but their names."""
import argparse
import ast
import pathlib
import random
import subprocess
import sys
import zipfile

import numpy as np
from safetensors.numpy import save_file

SPEC = """attnc: 1
name: g2p
kind: encoder-decoder
d_model: 256
h: {decoder: 1}
ffn: none
N: 1
max_len: 64
vocab:
  source: {file: graphemes.txt}
  target: {file: phonemes.txt}
  shared: false
  tokens: {start: 2, end: 3, pad: 0, unknown: 1}
  split: {source: characters, target: spaces}
  append_end: false
mix: {type: recurrent, cell: gru, start: source}
attention: {cross: false}
norm: {attention: false}
residual: none
positions: none
bias: {logits: true}
embedding: {scale: none}
search: {beam: 1, max_output: 20}
weights: g2p.safetensors
"""


def package(wheel):
    """The class of the package without what it does with whole texts."""
    with zipfile.ZipFile(wheel) as z:
        tree = ast.parse(z.read("g2p_en/g2p.py"))
        with z.open("g2p_en/checkpoint20.npz") as f:
            weights = {k: v for k, v in np.load(f).items()}
    cls = next(n for n in tree.body if isinstance(n, ast.ClassDef))
    keep = {"sigmoid", "grucell", "gru", "encode", "predict"}
    init = next(n for n in cls.body if getattr(n, "name", "") == "__init__")
    init.body = [n for n in init.body if isinstance(n, ast.Assign)
                 and n.targets[0].attr in ("graphemes", "phonemes", "g2idx",
                                           "idx2p")]
    cls.body = [init] + [n for n in cls.body
                         if getattr(n, "name", "") in keep]
    space = {"np": np}
    exec(compile(ast.Module([cls], []), "g2p.py", "exec"), space)
    own = space["G2p"]()
    for name, value in weights.items():
        setattr(own, name, value)
    return own


def tensors(own):
    out = {"source.weight": own.enc_emb,
           "target.weight": own.dec_emb,
           "logits.weight": own.fc_w, "logits.bias": own.fc_b}
    for stack, of in (("encoder", "enc"), ("decoder", "dec")):
        name = f"{stack}.0.recurrent"
        out[f"{name}.input.weight"] = getattr(own, of + "_w_ih")
        out[f"{name}.input.bias"] = getattr(own, of + "_b_ih")
        out[f"{name}.hidden.weight"] = getattr(own, of + "_w_hh")
        out[f"{name}.hidden.bias"] = getattr(own, of + "_b_hh")
    return {k: np.ascontiguousarray(v, np.float32) for k, v in out.items()}


def words(n):
    """Of letters as English has them, by the frequencies of pairs in names of
    this file's own words."""
    rng = random.Random(1)
    onset = "b c d f g h j k l m n p r s t v w y z st tr ch sh th br cl".split()
    middle = "a e i o u ai ea oo ou y".split()
    coda = ["", "n", "r", "s", "t", "l", "ck", "ng", "m", "nd", "ble", "tion"]
    out = []
    while len(out) < n:
        word = "".join(rng.choice(onset) + rng.choice(middle)
                       + rng.choice(coda) for _ in range(rng.randint(1, 4)))
        if word not in out:
            out.append(word)
    return out


def attnc_says(attnc, folder, lines):
    ids = subprocess.run(
        [attnc, "run", str(folder / "g2p.yaml"), "--ids"],
        input="\n".join(lines) + "\n", capture_output=True, text=True,
        check=True)
    return ids.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--attnc")
    parser.add_argument("-n", type=int, default=2000)
    o = parser.parse_args()
    own = package(o.wheel)
    o.folder.mkdir(parents=True, exist_ok=True)
    (o.folder / "g2p.yaml").write_text(SPEC)
    save_file(tensors(own), o.folder / "g2p.safetensors")
    (o.folder / "graphemes.txt").write_text("\n".join(own.graphemes) + "\n")
    (o.folder / "phonemes.txt").write_text("\n".join(own.phonemes) + "\n")
    given = words(o.n)
    said = [own.predict(w) for w in given]
    (o.folder / "words.txt").write_text("\n".join(given) + "\n")
    (o.folder / "answers.txt").write_text(
        "\n".join(" ".join(p) for p in said) + "\n")
    if not o.attnc:
        return
    lines = [" ".join(str(own.g2idx.get(c, 1)) for c in [*w, "</s>"])
             for w in given]
    wrong = 0
    for word, want, got in zip(given, said,
                               attnc_says(o.attnc, o.folder, lines),
                               strict=True):
        got = [own.phonemes[int(i)] for i in got.split()]
        if got != want:
            wrong += 1
            print(word, *want, "|", *got)
    print(f"{len(given) - wrong} of {len(given)} answers are the package's")
    sys.exit(wrong > 0)


main()
