"""Compares random models, searches and draws with attnc, seed by seed.

    check.py form -n 2000            seeds 1 to 2000, but those that passed
    check.py form --first 17 -n 1    one seed again
    check.py search, check.py draws  the same of searches and of draws
"""
import argparse
import os
import shutil
import subprocess
import sys

import numpy as np

from attnc import FOLDER, Case, Refused
from draws import check_draws
from forms import form
from given import given, mask_files, name_weights
from model import compute
from searches import check_search
from ways import (Answers, attnc_lines, generates, log_softmax, numbers,
                  program, question, takes_lines)
from weights import Weights

# Those of compiler/oracle/gates.h, end to end: error in standard
# deviations, squared error over squared value, KL.
GATES = {"f32": (1e-4, 1e-10, 1e-9), "int8": (4, 0.1, 2),
         "int15": (0.02, 1e-6, 1e-5), "bf16_dp": (0.5, 1e-2, 1e-2),
         "bf16_amx": (0.5, 1e-2, 1e-2), "bf16x3": (3e-3, 1e-7, 1e-6)}
# Scores of experts that rounding may put in another order.
CLOSE = {"f32": 1e-5, "int8": 0.1, "int15": 1e-3, "bf16_dp": 0.05,
         "bf16_amx": 0.05, "bf16x3": 1e-4}


def rounds(spec):
    """The arithmetics that round rows; a cache in bf16 rounds as bf16_dp."""
    cache = spec.get("cache", "f32")
    return {spec.get("arithmetic", "f32"),
            "bf16_dp" if cache == "bf16" else cache}


def beyond(spec, want, got):
    """What of the gates is not held, in words; none: nothing."""
    if want.shape != got.shape:
        return f"its shape is {got.shape}, not {want.shape}"
    got = got.astype(float)
    if not np.isfinite(got).all():
        return "not finite"
    size = want.std() if want.size > 1 else abs(want).max()
    error = abs(want - got).max() / max(size, 1e-30)
    nmse = ((want - got) ** 2).sum() / max((want ** 2).sum(), 1e-30)
    p, q = log_softmax(want), log_softmax(got)
    kl = (np.exp(p) * (p - q)).sum(axis=-1).max()
    gate = max(GATES[a] for a in rounds(spec))
    if error > gate[0] or nmse > gate[1] or kl > gate[2]:
        return f"max error {error:.2g}, nmse {nmse:.2g}, KL {kl:.2g}"
    return None


class Form:
    """A random model with what it is given and what comes of it."""

    def __init__(self, seed, folder):
        self.seed, self.spec = seed, form(seed)
        self.given = given(self.spec, seed)
        self.files = mask_files(self.spec, seed)
        self.w = Weights(self.spec, seed)
        self.want = self.compute(self.given)
        if name_weights(self.spec, self.w.made, seed):
            self.w = Weights(self.spec, seed)
            self.want = self.compute(self.given)
        self.case = Case(folder, self.spec, self.w.stored(), self.given,
                         self.files)

    def compute(self, x):
        with np.errstate(over="ignore"):
            return compute(self.spec, self.w, x, self.files)

    def undecided(self):
        return self.w.margin < max(CLOSE[a] for a in rounds(self.spec))

    def lines(self, ask, plain=False):
        """Compares answers to lines; a plain program's are greedy."""
        if not takes_lines(self.given) or rounds(self.spec) != {"f32"}:
            return None
        if generates(self.spec):
            answers = Answers(self.spec, self.w, self.given, self.files)
            if answers.room < 1:
                return None
            return (answers.greedy(ask) if plain else
                    answers.by_steps(ask, self.seed))
        ids = ["--ids"] if "source.ids" in self.given and not plain else []
        got = numbers(ask(ids, question(self.spec, self.given)))
        return beyond(self.spec, self.want, got)

    def ways(self, all_of_them):
        """Name and function of each way; the function says what is wrong."""
        def at_once(*options):
            return lambda: beyond(self.spec, self.want,
                                  self.case.compute(*options))
        yield "fused", at_once("--backend=jit")
        yield "unfused", at_once("--backend=jit", "--skip=all")
        for name, options in (("by steps", ()),
                              ("by steps, unfused", ("--skip=all",))):
            ask = attnc_lines(self.case, "--backend=jit", *options)
            yield name, lambda ask=ask: self.lines(ask)
        if not all_of_them:
            return
        for backend in ("clang", "gcc"):
            if shutil.which(backend):
                yield backend, at_once("--backend=" + backend)
        yield "plain", lambda: self.lines(program(self.case, "--plain"), True)


def check(seed, often):
    """What is wrong with a form, in words; none: nothing. A form that fails
    stays in its folder."""
    folder = os.path.join(FOLDER, f"form{seed}")
    tried = Form(seed, folder)
    if not tried.undecided():
        for name, wrong in tried.ways(often and seed % often == 0):
            said = wrong()
            if tried.undecided():
                break
            if said:
                return f"{name}: {said}"
    shutil.rmtree(folder)
    return None


def passed_before(path):
    try:
        with open(path, encoding="ascii") as file:
            return set(file.read().split())
    except FileNotFoundError:
        return set()


def run(name, seeds, one, path, before, mark=""):
    """Checks seeds, but those that have passed before. Returns how many
    failed."""
    failed = 0
    with open(path, "a", encoding="ascii") as passed:
        for seed in seeds:
            if f"{name}{seed}" in before:
                continue
            try:
                wrong = one(seed)
            except Refused as refused:
                wrong = str(refused)
            except subprocess.CalledProcessError as error:
                wrong = f"{error}: {error.stderr}"
            if wrong:
                failed += 1
                said = (f"{name} {seed}: {wrong}\n    again: python3 tests/"
                        f"reference/check.py {name} --first {seed} -n 1")
                print(mark + said.replace("\n", "\n" + mark), flush=True)
            else:
                passed.write(f"{name}{seed}\n")
                passed.flush()
    print(f"{mark}{name}: {len(seeds) - failed} of {len(seeds)} agree",
          flush=True)
    return failed


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("what", choices=["form", "search", "draws"])
    parse.add_argument("--first", type=int, default=1)
    parse.add_argument("-n", type=int, default=100)
    parse.add_argument("--often", type=int, default=20,
                       help="C compilers for every so many; 0: for none")
    parse.add_argument("--again", action="store_true",
                       help="those too that have passed")
    options = parse.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    path = os.path.join(FOLDER, "passed")
    again = options.again or options.n == 1
    one = {"form": lambda seed: check(seed, options.often),
           "search": check_search, "draws": check_draws}[options.what]
    seeds = range(options.first, options.first + options.n)
    sys.exit(run(options.what, seeds, one, path,
                 set() if again else passed_before(path)) > 0)


if __name__ == "__main__":
    main()
