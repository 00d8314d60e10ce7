"""How the order of rows enters: tables, rotations, biases of scores."""
import math

import numpy as np


def sinusoids(v, rows, width):
    """Positions first .. first + rows - 1."""
    pos = np.arange(rows)[:, None] + v["positions.first"]
    half = (width + 1) // 2
    i = np.arange(half)[None, :]
    if v["positions.exponent"] == "paper":
        exponent = 2 * i / width
    else:
        exponent = i / (width // 2 - 1)
    angle = pos / float(v["positions.base"]) ** exponent
    table = np.zeros((rows, width))
    if v["positions.layout"] == "interleaved":
        table[:, 0::2] = np.sin(angle)
        table[:, 1::2] = np.cos(angle)[:, :width // 2]
    else:
        table[:, :half] = np.sin(angle)
        table[:, half:] = np.cos(angle)[:, :width // 2]
    return table


def rates(v, dims, longest):
    """The angle that a step turns each pair of columns by."""
    scaling, base = v["positions.scaling.type"], float(v["positions.base"])
    pairs = (dims + 1) // 2
    i = np.arange(pairs)
    factor = v["positions.scaling.factor"]
    original = v["positions.scaling.original_max_len"]
    if scaling == "dynamic" and longest > original:
        grown = factor * longest / original - (factor - 1)
        base *= grown ** (dims / (dims - 2))
    rate = base ** (-2 * i / dims)
    if scaling == "llama3":
        wave = 2 * math.pi / rate
        low, high = (v["positions.scaling.low_freq_factor"],
                     v["positions.scaling.high_freq_factor"])
        smooth = (original / wave - low) / (high - low)
        between = (1 - smooth) * rate / factor + smooth * rate
        rate = np.where(wave > original / low, rate / factor,
                        np.where(wave < original / high, rate, between))
    elif scaling == "yarn":
        rate = yarn(v, rate, dims, base, factor, original)
    elif scaling == "longrope":
        key = "long_factor" if longest > original else "short_factor"
        rate = rate / np.array(v["positions.scaling." + key], float)
    return rate


def yarn(v, rate, dims, base, factor, original):
    def pair(turns):
        return (dims * math.log(original / (turns * 2 * math.pi)) /
                (2 * math.log(base)))
    low = pair(v["positions.scaling.beta_fast"])
    high = pair(v["positions.scaling.beta_slow"])
    if v["positions.scaling.truncate"]:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dims - 1)
    if low == high:
        high += 0.001
    ramp = np.clip((np.arange(len(rate)) - low) / (high - low), 0, 1)
    return rate / factor * ramp + rate * (1 - ramp)


def rotate(v, x, longest, dims=None, query=False):
    """x is [heads, rows, columns], of which the first dims are turned."""
    dims = dims or v["positions.dims"]
    rate = rates(v, dims, longest)
    pairs, wide = len(rate), 2 * len(rate)
    step = v["positions.scaling.step"]
    angle = np.arange(x.shape[1])[:, None] * step * rate[None, :]
    factor = v["positions.scaling.attention_factor"]
    growth = v["positions.scaling.query_log"]
    if query and growth:
        steps = (np.arange(x.shape[1])
                 // v["positions.scaling.original_max_len"])
        factor = factor * (1 + growth * np.log(1 + steps))[:, None]
    cos, sin = factor * np.cos(angle), factor * np.sin(angle)
    out = x.copy()
    if v["positions.layout"] == "interleaved":
        at, other = slice(0, wide, 2), slice(1, wide, 2)
    else:
        at, other = slice(0, pairs), slice(pairs, wide)
    a, b = x[:, :, at], x[:, :, other]
    out[:, :, at] = a * cos - b * sin
    out[:, :, other] = a * sin + b * cos
    return out


def slopes(heads):
    """Those of Press et al. [2022]."""
    power = 2 ** int(math.floor(math.log2(heads)))
    first = [2.0 ** (-8 * (i + 1) / power) for i in range(power)]
    more = [2.0 ** (-4 * (2 * i + 1) / power) for i in range(heads - power)]
    return np.array(first + more)


def bucket(distance, buckets, most, both):
    """The row of T5's table for a key that stands distance behind its
    query."""
    row = 0
    if both:
        buckets //= 2
        row = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return row + distance
    far = exact + int(math.log(distance / exact) / math.log(most / exact) *
                      (buckets - exact))
    return row + min(far, buckets - 1)


def names_of(mask):
    parts = mask if isinstance(mask, list) else [mask]
    return [part for part in parts if isinstance(part, str)]


def kind_of_scores(v):
    kind = v["positions.type"]
    return kind if kind in ("alibi", "relative") else v["positions.scores"]


def score_bias(v, w, rows):
    """What positions add to the scores, [heads, rows, rows], or None."""
    kind, heads = kind_of_scores(v), v["h"]
    i, j = np.arange(rows)[:, None], np.arange(rows)[None, :]
    if kind == "alibi":
        step = (v["positions.scaling.step"]
                if v["positions.type"] == "alibi" else 1)
        return -slopes(heads)[:, None, None] * np.abs(i - j) * step
    if kind == "relative":
        buckets = v["positions.buckets"]
        table = w(f"{v.side}.relative.weight", (buckets, heads))
        ids = np.vectorize(lambda d: bucket(
            int(d), buckets, v["positions.max_distance"],
            "causal" not in names_of(v["masking"])))(j - i)
        return table[ids].transpose(2, 0, 1)
    return None
