"""Compares random searches on tiny vocabularies with attnc."""
import math
import os
import shutil

import numpy as np

from attnc import FOLDER, Case, Refused, call
from dice import Dice
from model import compute
from searching import Search
from weights import Weights

START, END, PAD = 1, 2, 0
SOURCE = [3, 4, 4]


def random_search(seed):
    """A spec, what stands before the answer, options of the search and how
    the command line says them."""
    d = Dice(seed)
    kind = d.choice(["encoder-decoder", "decoder"])
    size, longest = d.choice([5, 6, 7]), d.choice([3, 4, 5])
    spec = {"attnc": 1, "name": f"search{seed}", "kind": kind, "d_model": 8,
            "h": 2, "N": 1, "d_ff": 8, "vocab.size": size,
            "vocab.tokens": {"start": START, "pad": PAD, "end": END
                             if d.often(0.7) else [END, 3]},
            "norm.eps": 0.01, "logits.scale": d.choice([0.3, 1]),
            "max_len": {"source": 4, "target": longest}
            if kind == "encoder-decoder" else longest}
    o = {"rule": d.choice(["exact", "recorded"]),
         "penalty": d.choice(["none", "gnmt", "power"])}
    spec["search.rule"], spec["search.penalty"] = o["rule"], o["penalty"]
    if o["penalty"] != "none":
        o["alpha"] = spec["search.alpha"] = d.choice([0, 0.3, 0.6, 1, 2])
    beam = d.choice([1, 2, 3, 4, 5, 300])
    count = d.randint(1, min(beam, 4))
    line = [f"--nbest={count}"]
    if d.often(0.5):
        spec["search.beam"] = beam
    else:
        line.append(f"--beam={beam}")
    prompt = [3, 4][:d.randint(0, 2)] if kind == "decoder" else []
    most = longest - len(prompt)
    if d.often(0.3):
        most = d.randint(1, most)
        spec["search.max_output"] = most
    elif kind == "encoder-decoder" and d.often(0.4):
        spec["search.max_output"] = {"plus": 0}
        most = min(most, len(SOURCE))
    constraints(d, spec, o, line, size, most)
    return spec, o, line, beam, count, most, prompt


def constraints(d, spec, o, line, size, most):
    ends = spec["vocab.tokens"]["end"]
    tokens = [t for t in range(3, size) if t not in np.atleast_1d(ends)]
    if d.often(0.25) and most > 1:
        o["prefix"] = spec["search.prefix"] = [
            d.choice(tokens) for _ in range(d.randint(1, min(2, most - 1)))]
    if d.often(0.25):
        words = [d.choice(tokens) for _ in range(d.randint(1, 2))]
        o["suppress"] = [words]
        if d.often(0.5):
            spec["search.suppress"] = [words if len(words) > 1 else words[0]]
        else:
            line.append("--suppress=" + " ".join(map(str, words)))
    if d.often(0.2):
        o["suppress_first"] = spec["search.suppress_first"] = [
            d.choice(tokens)]
    for key, some in (("min_length", [1, most]), ("no_repeat_ngram", [1, 2]),
                      ("repetition_penalty", [1.3, 2, 0.7])):
        if d.often(0.2):
            o[key] = d.choice(some)
            line.append(f"--{key.replace('_', '-')}={o[key]}")
        elif d.often(0.2):
            o[key] = spec[f"search.{key}"] = d.choice(some)
    if d.often(0.2) and not any("--min-length" in word for word in line):
        o["min_total"] = spec["search.min_total"] = d.randint(1, most + 2)
    if d.often(0.3):
        o["processors"] = spec["search.processors"] = "log_probabilities"
    if o["rule"] == "recorded" and d.often(0.3):
        o["patience"] = d.choice([0.5, 1.5, 2])
        line.append(f"--patience={o['patience']}")


def asked(spec, prompt):
    """The tensors of the question, and its line."""
    source = spec["kind"] == "encoder-decoder"
    line = " ".join(str(n) for n in (SOURCE if source else prompt))
    ids = {"source.ids": np.array(SOURCE, np.int32)} if source else {}
    return ids, line + "\n"


def answers(text):
    """Score and ids of each answer that `--nbest --scores` prints."""
    for line in text.splitlines():
        if line.strip():
            _, score, *ids = line.split()
            yield float(score), tuple(int(n) for n in ids)


def check_search(seed):
    """What is wrong, in words; none: nothing."""
    spec, o, line, beam, count, most, prompt = random_search(seed)
    o["lead"] = (START, *prompt)
    x, text = asked(spec, prompt)
    w, known = Weights(spec, seed), {}

    def logits(ids):
        if ids not in known:
            target = np.array([START, *prompt, *ids], np.int32)
            known[ids] = compute(spec, w, {**x, "target.ids": target})[-1]
        return known[ids]
    ends = np.atleast_1d(spec["vocab.tokens"]["end"])
    want = Search(logits, most, ends, [START, PAD], **o).run(beam, count)
    logits(())
    folder = os.path.join(FOLDER, f"search{seed}")
    case = Case(folder, spec, w.stored(), {"target.ids": np.array(
        [START], np.int32), **x})
    line += ["--backend=jit", "--ids", "--scores"]
    try:
        got = list(answers(call("run", *case.model(), *line, text=text,
                                warnings=True)))
    except Refused as refused:
        return str(refused)
    want = [(score, tuple(n for n in ids if n not in ends))
            for score, ids in want]
    if close(want, got):
        shutil.rmtree(folder)
        return None
    return f"{got}, not {[(round(s, 5), ids) for s, ids in want]}; " \
           f"{' '.join(line)}"


def close(want, got):
    """The same scores; answers of equal scores in any order."""
    return len(want) == len(got) and all(
        math.isclose(a[0], b[0], rel_tol=2e-5, abs_tol=2e-5) and
        (a[1] == b[1] or any(c[1] == b[1] and abs(c[0] - b[0]) < 1e-4
                             for c in want))
        for a, b in zip(want, got))
