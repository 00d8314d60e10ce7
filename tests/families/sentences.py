"""Are embeddings of sentences those of PyTorch? For an encoder's folder, the
spec that attnc import made of it, and a file of lines:

    python sentences.py FOLDER SPEC LINES [ATTNC]

prints the least cosine of the two rows of a line, the largest difference of two
numbers, and ends with 1 where they are below 0.999999, above 2e-6.
"""
import subprocess
import sys

import numpy
import torch
import transformers


def of_torch(folder, lines):
    """The mean of the last rows, of length 1, as sentence-transformers does."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    rows = []
    with torch.no_grad():
        for line in lines:
            ids = tokenizer(line, return_tensors="pt")
            row = model(**ids).last_hidden_state[0].double().mean(0)
            rows.append((row / row.norm()).numpy())
    return numpy.array(rows)


def of_attnc(attnc, spec, text):
    out = subprocess.run([attnc, "run", spec], input=text, text=True,
                         capture_output=True, check=True).stdout
    return numpy.array([[float(x) for x in line.split()]
                        for line in out.splitlines() if line])


def main():
    folder, spec, path = sys.argv[1:4]
    attnc = sys.argv[4] if len(sys.argv) > 4 else "build/attnc"
    transformers.logging.set_verbosity_error()
    with open(path, encoding="utf-8") as f:
        text = f.read()
    theirs = of_torch(folder, text.splitlines())
    ours = of_attnc(attnc, spec, text)
    if ours.shape != theirs.shape:
        sys.exit(f"{ours.shape} of attnc, {theirs.shape} of PyTorch")
    cosine = (ours * theirs).sum(1) / numpy.linalg.norm(ours, axis=1)
    worst = abs(ours - theirs).max()
    print(f"{len(ours)} lines: cosine {cosine.min():.9f}, "
          f"largest difference {worst:.3g}")
    sys.exit(int(cosine.min() < 0.999999 or worst > 2e-6))


if __name__ == "__main__":
    main()
