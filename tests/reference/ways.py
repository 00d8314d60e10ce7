"""The ways in which attnc computes a model: at once, by steps, by each back
end, and as a program of plain C."""
import os
import shutil
import subprocess

import numpy as np

from attnc import call
from fields import View
from model import compute

CLOSE = 1e-4  # logits of which rounding may prefer either
LINES = ("--ids", "--scores", "--temperature=1", "--alpha=0")


def generates(spec):
    return spec["kind"] in ("decoder", "encoder-decoder")


def takes_lines(given):
    """Lines have no types and no prefix."""
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


class Answers:
    """How a model that generates is asked by lines: what stands before an
    answer, and the tokens that it may have."""

    def __init__(self, spec, w, given, files):
        self.spec, self.w, self.given, self.files = spec, w, given, files
        v = View(spec, "decoder")
        self.start, end = v["vocab.tokens.start"], v["vocab.tokens.end"]
        self.ends = ([] if end is None else
                     end if isinstance(end, list) else [end])
        most = v["max_len.target"]
        self.prompt = []
        if spec["kind"] == "decoder":
            ids = given["target.ids"][:max(1, most // 2)]
            self.prompt = [int(n) for n in ids]
        self.before = self.prompt if self.start is None else [
            self.start, *self.prompt]
        self.room = most - len(self.before) + 1
        if spec["kind"] == "encoder-decoder":
            source = given.get("source.ids", given.get("source.values"))
            self.room = min(self.room,
                            len(source) + v["search.max_output.plus"])

    def ask(self, ask, options):
        return ask(options, question(self.spec, self.given, self.prompt))

    def logits(self, answer):
        """Those of each place of an answer, and behind it."""
        ids = np.array([*self.before, *answer])
        given = {**self.given, "target.ids": ids}
        out = compute(self.spec, self.w, given, self.files)
        return out[len(self.before) - 1:]

    def by_steps(self, ask, seed):
        """Draws an answer, a token a step, and compares its probability.
        Returns what is wrong, in words."""
        text = self.ask(ask, [*LINES, f"--seed={seed}"])
        score, *answer = text.split()
        answer = [int(n) for n in answer]
        ended = len(answer) < self.room
        rows = log_softmax(self.logits(answer if ended else answer[:-1]))
        log_p = sum(row[token] for row, token in zip(rows, answer))
        sums = ([log_p + rows[-1][end] for end in self.ends] if ended else
                [log_p])
        far = min(abs(x - float(score)) for x in sums)
        if far > 1e-5 * max(abs(log_p), len(answer), 1):
            return f"log P of {answer} is {score}, not {sums[0]:.8g}"
        return None

    def greedy(self, ask):
        """Each token of an answer is the best, or near it."""
        answer = [int(n) for n in self.ask(ask, []).split()]
        ended = len(answer) < self.room
        rows = self.logits(answer if ended else answer[:-1])
        if self.start is not None and self.start not in self.ends:
            rows[:, self.start] = -np.inf
        for row, token in zip(rows, answer):
            if row[token] < row.max() - CLOSE:
                return f"{answer}: {token} is not the best"
        if ended and rows[-1][self.ends].max() < rows[-1].max() - CLOSE:
            return f"{answer} does not end there"
        return None


def attnc_lines(case, *options):
    return lambda more, text: call("run", *case.model(), *options, *more,
                                   text=text)


def program(case, *options):
    """The model as a program, which answers lines."""
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
