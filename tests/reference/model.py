"""A model of any kind: what goes in, layers, what comes out."""
import math

import numpy as np

from attention import block, cross_attention, self_attention
from fields import View
from mixing import convolution, recurrent, taps
from parts import ACTIVATIONS, feed_forward, norm, product
from positions import sinusoids


def embedding_scale(v):
    scale = v["embedding.scale"]
    if scale == "none":
        return 1.0
    return math.sqrt(v["d_model"]) if scale == "sqrt_d_model" else scale


def positions(v, w, rows, width):
    """What the type of positions adds to rows, or 0."""
    if v["positions.type"] == "sinusoidal":
        return sinusoids(v, rows, width)
    if v["positions.type"] == "learned":
        side = "source" if v.side == "encoder" else "target"
        first = v["positions.first"]
        most = v["max_len." + side] + first
        table = w(f"{side}_positions.weight", (most, width), "position")
        return table[first:first + rows]
    return 0


def embedding(v, w, ids, types):
    """Rows of tokens, up to those that the first layer reads."""
    side = "source" if v.side == "encoder" else "target"
    width, project = v["embedding.width"], v["embedding.project"]
    x = w(side + ".weight", (v[f"vocab.{side}.size"], width), "table")[ids]
    x = x * embedding_scale(v)

    def projected(x):
        return product(w, side + ".embedding_projection", x, v["d_model"],
                       v["embedding.bias"])
    if project == "tokens":
        x = projected(x)
    count = v["embedding.types"]
    if count and (side == "source" or v["kind"] == "decoder"):
        x = x + w("types.weight", (count, x.shape[1]), "table")[types]
    x = x + positions(v, w, len(x), x.shape[1])
    if v["norm.embedding"]:
        x = norm(v, w, v.side + ".embedding_norm", x)
    return projected(x) if project == "sum" else x


def image_rows(v, values):
    """Patches of images, as rows."""
    c, height, width = v["input.image"]
    high, wide = v["input.patch"]
    image = values.reshape(c, -1, width)
    grid = image.reshape(c, image.shape[1] // high, high, width // wide, wide)
    return grid.transpose(1, 3, 0, 2, 4).reshape(-1, c * high * wide)


def real_rows(v, w, values):
    """Rows of numbers, up to those that the first layer reads."""
    x, d_model = values, v["d_model"]
    if v["input.image"]:
        x = image_rows(v, values)
    kernels = v["input.kernels"]
    if kernels:
        strides = v["input.strides"] or [1] * len(kernels)
        x = x.reshape(len(x) * math.prod(strides), -1)
        for i, (kernel, stride) in enumerate(zip(kernels, strides)):
            window = taps(x, kernel, 1, (kernel - 1) // 2, stride,
                          len(x) // stride)
            x = product(w, f"source.convolution.{i}", window, d_model, True)
            x = ACTIVATIONS[v["input.activation"]](x)
    else:
        x = product(w, "source.input_projection", x, d_model, True)
    for key in ("distillation_token", "class_token"):
        if v["input." + key]:
            row = w(f"source.{key}.weight", (d_model,))
            x = np.concatenate([row[None], x])
    x = x + positions(v, w, len(x), d_model)
    if v["norm.embedding"]:
        x = norm(v, w, "encoder.embedding_norm", x)
    return x


def scaled(v, w, name, y):
    learned = v["residual.learned"]
    if learned == "none":
        return y
    return y * w(name + ".weight", (1 if learned == "scalar" else len(y[0]),))


def sublayer(v, w, at, which, x, f, normed):
    """x and f(x), with the norm and the scales of number `which`."""
    place = v["norm.place"]
    before = normed and place in ("pre", "both")
    y = f(norm(v, w, f"{at}.norm{which}", x) if before else x)
    if normed and place in ("inside", "both"):
        after = "_after" if place == "both" else ""
        y = norm(v, w, f"{at}.norm{which}{after}", y)
    y = scaled(v, w, f"{at}.scale{which}", y)
    if v["residual.type"] == "add":
        y = x + v["residual.scale"] * y
    if normed and place == "post":
        y = norm(v, w, f"{at}.norm{which}", y)
    if v["norm.again"] and which == 1:
        y = norm(v, w, f"{at}.norm1_after", x + y)
    return y


def mixer(v, w, at, longest, extra, start, left):
    """The first sublayer, as a function of its rows."""
    def f(x):
        if v["mix.type"] == "convolution":
            return convolution(v, w, at + ".convolution.", x)
        if v["mix.type"] == "recurrent":
            y, state = recurrent(v, w, at + ".recurrent.", x, start)
            left.append(state)
            return y
        return self_attention(v, w, at + ".self_attn.", x, longest, **extra)
    return f


def parallel(v, w, at, x, mix, ffn):
    """Both parts read the same rows."""
    shared = v["parallel"] == "shared"
    y = 0
    for f, which, key in ((mix, 1, "attention"), (ffn, 2, "ffn")):
        z = x
        if v["norm." + key]:
            z = norm(v, w, f"{at}.norm{1 if shared else which}", x)
        z = f(z)
        if v["norm." + key] and v["norm.place"] == "both":
            z = norm(v, w, f"{at}.norm{which}_after", z)
        y = y + scaled(v, w, f"{at}.scale{which}", z)
    return x + v["residual.scale"] * y


def layer(v, w, at, x, longest, extra, start, source, mixed=False):
    """The rows of a layer and the state that it leaves; `mixed`: the state
    alone, which needs no more weights than those of `mix`."""
    left = []
    mix = mixer(v, w, at, longest, extra, start, left)

    def ffn(x):
        return feed_forward(v, w, at + ".ffn", x)
    if v["parallel"]:
        return parallel(v, w, at, x, mix, ffn), left
    if mixed:
        before = v["norm.attention"] and v["norm.place"] in ("pre", "both")
        mix(norm(v, w, at + ".norm1", x) if before else x)
        return x, left
    x = sublayer(v, w, at, 1, x, mix, v["norm.attention"])
    if source is not None and v["attention.cross"]:
        x = sublayer(v, w, at, 3, x, lambda y: cross_attention(
            v, w, at + ".cross_attn.", y, source), v["norm.attention"])
    if v["ffn.type"] != "none":
        x = sublayer(v, w, at, 2, x, ffn, v["norm.ffn"])
    return x, left


def stack(v, w, x, extra, starts=None, source=None):
    """All layers of a side, and the states that they leave."""
    longest = v["max_len.source" if v.side == "encoder" else "max_len.target"]
    rows, left = v.layers(), []
    alone = v.side == "encoder" and not v["attention.cross"]
    for i, row in enumerate(rows):
        start = (starts[i][0] if starts and row["mix.start"] == "source" and
                 row["mix.type"] == "recurrent" else None)
        x, state = layer(row, w, f"{v.side}.{i}", x, longest, extra, start,
                         source, alone and i == len(rows) - 1)
        left.append(state)
    if v["norm.final"] and not alone:
        x = norm(v, w, v.side + ".norm", x)
    return x, left


def dense(v, w, x):
    width = v["head.dense.width"]
    if not width:
        return x
    x = product(w, "head.dense", x, width, v["head.dense.bias"])
    x = ACTIVATIONS[v["head.dense.activation"]](x)
    x = norm(v, w, "head.norm", x) if v["head.dense.norm"] else x
    width = v["head.second.width"]
    if not width:
        return x
    x = product(w, "head.second", x, width, v["head.second.bias"])
    return ACTIVATIONS[v["head.second.activation"]](x)


def logits(v, w, x):
    side = "target" if v.side == "decoder" else "source"
    x = product(w, "logits", dense(v, w, x), v[f"vocab.{side}.size"],
                v["bias.logits"])
    if v["logits.scale"] is not None:
        x = x * v["logits.scale"]
    cap = v["logits.softcap"]
    return cap * np.tanh(x / cap) if cap else x


POOLS = {"mean": lambda x: x.mean(axis=0), "class": lambda x: x[0],
         "last": lambda x: x[-1], "max": lambda x: x.max(axis=0),
         "sum": lambda x: x.sum(axis=0)}


def score(v, x):
    """The column of one token, or the difference of two."""
    ids = v["head.score"]
    if ids is None:
        return x
    ids = ids if isinstance(ids, list) else [ids]
    return x[:, ids[:1]] - (x[:, ids[1:]] if ids[1:] else 0)


def head(v, w, x):
    """What an encoder makes of its rows."""
    kind, pool = v["head.type"], v["head.pool"]
    last = ACTIVATIONS[v["head.activation"]]
    if kind == "logits":
        x = last(logits(v, w, x))
        return score(v, x if pool == "none" else POOLS[pool](x)[None])
    pools = pool != "none" and kind in ("pool", "classify")
    if pools and v["head.dense.pooled"]:
        x = POOLS[pool](x)[None]
    x = dense(v, w, x)
    if pools and not v["head.dense.pooled"]:
        x = POOLS[pool](x)[None]
    if kind in ("classify", "token_classify"):
        x = last(product(w, "classifier", x, v["head.classes"],
                         v["head.bias"]))
    if v["head.normalize"]:
        x = x / np.maximum(np.sqrt((x * x).sum(axis=1, keepdims=True)), 1e-12)
    return x


def compute(spec, w, given, files=None):
    """The result of a model: its rows, or its logits."""
    extra = {"prefix": int(given["prefix"][0]) if "prefix" in given else 0,
             "files": files}
    kind = spec["kind"]
    if kind == "attention":
        v = View(spec, "encoder")
        return block(v, w, *(given[k].astype(float) for k in
                             ("query", "key", "value")), **extra)
    if kind == "decoder":
        return decode(View(spec, "decoder"), w, given, extra)
    v = View(spec, "encoder")
    rows, left = encode(v, w, given, extra)
    if kind == "encoder":
        return head(v, w, rows)
    return decode(View(spec, "decoder"), w, given, extra, left, rows)


def encode(v, w, given, extra):
    if v["input.type"] == "real":
        x = real_rows(v, w, given["source.values"].astype(float))
    else:
        x = embedding(v, w, given["source.ids"], given.get("source.types", 0))
    return stack(v, w, x, extra)


def decode(v, w, given, extra, left=None, source=None):
    x = embedding(v, w, given["target.ids"], given.get("target.types", 0))
    x, _ = stack(v, w, x, extra, left, source)
    return logits(v, w, x)
