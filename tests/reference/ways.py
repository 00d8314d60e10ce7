"""The ways in which attnc computes a model: at once, by steps, by each back
end, and as a program of plain C."""
import os
import shutil
import subprocess

import numpy as np

from attnc import call
from fields import View
from model import compute

LINES = ("--ids", "--scores", "--temperature=1", "--alpha=0")


def generates(spec):
    return spec["kind"] in ("decoder", "encoder-decoder")


def takes_lines(spec, given):
    """Lines have no types and no prefix, and a decoder's begin with a
    start token."""
    return not ("prefix" in given or "source.types" in given or
                "target.types" in given)


def rows_of(text):
    return "\n".join(" ".join(f"{x:.9g}" for x in row) for row in text)


def question(spec, given, prompt=()):
    """What a line, or a block of rows, asks."""
    if spec["kind"] == "attention":
        return "\n\n".join(rows_of(given[key]) for key in
                           ("query", "key", "value")) + "\n\n"
    if "source.values" in given:
        rows = given["source.values"]
        return rows_of(rows) + "\n\n"
    ids = given["source.ids"] if "source.ids" in given else prompt
    return " ".join(str(n) for n in ids) + "\n"


def numbers(text):
    """Rows of numbers that a program prints."""
    return np.array([[float(x) for x in line.split()]
                     for line in text.splitlines() if line.strip()])


def log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def probability(spec, w, given, files, before, answer):
    """log P of an answer's ids behind those before it."""
    given = {**given, "target.ids": np.array([*before, *answer][:-1])}
    logits = compute(spec, w, given, files)
    rows = log_softmax(logits)[len(before) - 1:]
    return sum(row[token] for row, token in zip(rows, answer))


def by_steps(spec, w, given, files, seed, ask):
    """Draws an answer, a token a step, and compares its probability; `ask`
    answers a line. Returns what is wrong, in words."""
    v = View(spec, "decoder")
    start, end = v["vocab.tokens.start"], v["vocab.tokens.end"]
    prompt = []
    if spec["kind"] == "decoder":
        most = max(1, v["max_len.target"] // 2)
        prompt = [int(n) for n in given["target.ids"][:most]]
    before = prompt if start is None else [start, *prompt]
    room = v["max_len.target"] - len(before) + 1
    if spec["kind"] == "encoder-decoder":
        source = given.get("source.ids", given.get("source.values"))
        room = min(room, len(source) + v["search.max_output.plus"])
    if room < 1:
        return None
    text = ask([*LINES, f"--seed={seed}"],
               question(spec, given, prompt))
    score, *answer = text.split()
    answer = [int(n) for n in answer]
    if not isinstance(end, list):
        end = [] if end is None else [end]
    ended = [[*answer, token] for token in end] if len(answer) < room else []
    want = min((probability(spec, w, given, files, before, scored)
                for scored in ended or [answer]),
               key=lambda p: abs(p - float(score)))
    if abs(want - float(score)) > 1e-5 * max(abs(want), len(answer)):
        return f"log P of {answer} is {score}, not {want:.8g}"
    return None


def attnc_lines(case, *options):
    return lambda more, text: call("run", *case.model(), *options, *more,
                                   text=text)


def program(case, *options):
    """The model as a program; it answers lines."""
    c, exe = case.file("model.c"), case.file("model")
    call("compile", *case.model(), *options, "--quiet", "-o", c)
    compiler = os.environ.get("CC") or shutil.which("cc")
    subprocess.run([*compiler.split(), "-O1", "-march=native",
                    "-DATTNC_MAIN", c, "-o", exe, "-lm", "-pthread"],
                   check=True, capture_output=True)

    def ask(more, text):
        done = subprocess.run([exe, case.file("model.weights"), *more],
                              input=text, text=True, capture_output=True,
                              check=True)
        return done.stdout
    return ask
