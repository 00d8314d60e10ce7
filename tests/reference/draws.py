"""Compares draws with their probabilities, by chi-squared."""
import math
import os
import shutil

import numpy as np

from attnc import FOLDER, Case, call
from dice import Dice
from weights import Weights
from model import compute

TOKENS, FAR = 3000, 5.0  # draws; standard deviations, by Wilson and Hilferty


def random_draws(seed):
    """Options of sampling: the name and the value."""
    d = Dice(seed)
    o = {"temperature": d.choice([0.5, 1, 1, 2])}
    if d.often(0.4):
        o["top-k"] = d.randint(2, 8)
    if d.often(0.4):
        o["top-p"] = d.choice([0.3, 0.6, 0.9])
    if d.often(0.4):
        o["min-p"] = d.choice([0.05, 0.2, 0.5])
    return o


def probabilities(logits, o):
    """Those of each token after all that is left out."""
    p = np.exp((logits - logits.max()) / o["temperature"])
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    kept = order[:o.get("top-k", len(p))]
    share = p[kept] / p[kept].sum()
    n = int(np.searchsorted(np.cumsum(share), o.get("top-p", 1.0) - 1e-12))
    kept = kept[:min(n + 1, len(kept))]
    kept = kept[p[kept] >= o.get("min-p", 0) * p[order[0]]]
    out = np.zeros_like(p)
    out[kept] = p[kept] / p[kept].sum()
    return out


def deviation(counts, expected):
    """Of chi-squared, in standard deviations."""
    seen = expected > 0
    k = seen.sum() - 1
    if k < 1:
        return 0.0
    x = ((counts[seen] - expected[seen]) ** 2 / expected[seen]).sum()
    return ((x / k) ** (1 / 3) - 1 + 2 / (9 * k)) / math.sqrt(2 / (9 * k))


def check_draws(seed):
    """What is wrong, in words; none: nothing. Logits are the same at each
    place, so that an answer is so many draws of one distribution."""
    size = 12
    spec = {"attnc": 1, "name": f"draws{seed}", "kind": "decoder",
            "d_model": 2, "h": 1, "N": 1, "d_ff": 2, "vocab.size": size,
            "max_len": TOKENS + 1, "bias.logits": True,
            "positions": "none", "masking": ["causal", {"window": 1}]}
    w = Weights(spec, seed)
    x = {"target.ids": np.array([3], np.int32)}
    compute(spec, w, x)
    w.made["logits.weight"][:] = 0
    w.made["logits.bias"] = np.random.default_rng(seed).standard_normal(
        size).astype(np.float32)
    o = random_draws(seed)
    p = probabilities(w.made["logits.bias"].astype(float), o)
    folder = os.path.join(FOLDER, f"draws{seed}")
    case = Case(folder, spec, w.stored(), x)
    options = [f"--{key}={value}" for key, value in o.items()]
    text = call("run", *case.model(), "--backend=jit", "--ids",
                f"--seed={seed}", *options, text="3\n")
    ids = [int(n) for n in text.split()]
    if any(p[n] == 0 for n in ids):
        return f"{' '.join(options)}: a token that is left out was drawn"
    counts = np.bincount(ids, minlength=size)
    far = deviation(counts, p * len(ids))
    if len(ids) < TOKENS or far > FAR:
        return f"{' '.join(options)}: {len(ids)} draws, {far:.1f} deviations"
    pairs = np.zeros((size, size))
    np.add.at(pairs, (ids[:-1:2], ids[1::2]), 1)
    often = np.outer(p, p) * pairs.sum()
    far = deviation(np.where(often > 3, pairs, 0), np.where(
        often > 3, often, 0))
    if far > FAR:
        return f"{' '.join(options)}: neighbours hang together, {far:.1f}"
    shutil.rmtree(folder)
    return None
