"""Attention: projections, scores, masks, weights."""
import numpy as np

from parts import norm, product, sigmoid
from positions import names_of, rotate, score_bias
from weights import near_bf16, near_int8


def mask(parts, rows, keys, prefix=0, files=None):
    """Which keys a row may see."""
    if not isinstance(parts, list):
        parts = [parts]
    names = names_of(parts)
    i, j = np.arange(rows)[:, None], np.arange(keys)[None, :]
    seen = np.ones((rows, keys), bool)
    causal = "causal" in names
    if causal:
        seen &= (j <= i) | (("prefix" in names) & (j < prefix))
    for part in parts:
        if isinstance(part, str):
            continue
        (kind, n), = part.items()
        if kind == "window":
            seen &= abs(i - j) < n
        elif kind == "block":
            seen &= i // n == j // n
        elif kind == "file":
            seen &= files[n][:rows, :keys].astype(bool)
    return seen


def heads_of(x, heads):
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def attend(v, w, name, q, k, val, seen, bias=None, sinks=False):
    """q [h, n, d_k], k [h_kv, m, d_k], val [h_kv, m, d_v] to [n, h d_v]."""
    near = {"bf16": near_bf16, "int8": near_int8}.get(v["cache"])
    if near and name.startswith("decoder."):
        k, val = near(k), near(val)
    shared = len(q) // len(k)
    k, val = np.repeat(k, shared, axis=0), np.repeat(val, shared, axis=0)
    if v["attention.score"] == "additive":
        u = w(name + "score.weight", (len(q), q.shape[-1]))
        scores = np.einsum("hd,hijd->hij", u,
                           np.tanh(q[:, :, None] + k[:, None, :]))
    else:
        scores = q @ k.transpose(0, 2, 1)
    scores = scores * v["attention.scale"]
    cap = v["attention.softcap"]
    if cap:
        scores = cap * np.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias
    weights = weigh(v, w, name, scores, seen, sinks)
    out = weights @ val
    return out.transpose(1, 0, 2).reshape(q.shape[1], -1)


def weigh(v, w, name, scores, seen, sinks):
    if v["attention.normalizer"] == "sigmoid":
        return np.where(seen, sigmoid(scores), 0)
    scores = np.where(seen, scores, -np.inf)
    if sinks:
        sink = w(name + "sinks.weight", (len(scores),))
        sink = np.broadcast_to(sink[:, None, None], scores.shape[:2] + (1,))
        scores = np.concatenate([scores, sink], axis=2)
    most = scores.max(axis=2, keepdims=True)
    most = np.where(np.isfinite(most), most, 0)
    e = np.exp(scores - most)
    total = e.sum(axis=2, keepdims=True)
    e = np.divide(e, total, out=np.zeros_like(e), where=total > 0)
    return e[:, :, :-1] if sinks else e


def clipped(v, x):
    clip = v["attention.clip"]
    return np.clip(x, -clip, clip) if clip else x


def project(v, w, name, which, x, width):
    if v["projections." + which]:
        x = product(w, name + which, x, width, v["bias." + which])
    later = (which in "qk" and v["norm.qk"] and v["attention.clip_norms"]
             and name.endswith("self_attn."))
    return x if which == "o" or later else clipped(v, x)


def norm_heads(v, w, name, x):
    if v["norm.qk"] is True:
        return norm(v, w, name, x)
    if v["norm.qk"] == "width":
        rows = x.transpose(1, 0, 2).reshape(x.shape[1], -1)
        return heads_of(norm(v, w, name, rows), len(x))
    if v["norm.qk"] == "each":
        return np.stack([norm(v, w, f"{name}.{i}", head)
                         for i, head in enumerate(x)])
    return x


def self_attention(v, w, name, x, longest, prefix=0, files=None):
    h, h_kv, d_k, d_v = v["h"], v["h_kv"], v["d_k"], v["d_v"]
    rotary = v["positions.type"] == "rotary"
    if v["attention.latent.kv_rank"]:
        q, k, val = latent(v, w, name, x, longest, rotary)
    else:
        q = project(v, w, name, "q", x, h * d_k)
        k = project(v, w, name, "k", x, h_kv * d_k)
        val = project(v, w, name, "v", x, h_kv * d_v)
        q, k, val = heads_of(q, h), heads_of(k, h_kv), heads_of(val, h_kv)
        if rotary and v["norm.qk_rotated"]:
            q = rotate(v, q, longest, query=True)
            k = rotate(v, k, longest)
        q = norm_heads(v, w, name + "q_norm", q)
        k = norm_heads(v, w, name + "k_norm", k)
        if v["norm.qk"] and v["attention.clip_norms"]:
            q, k = clipped(v, q), clipped(v, k)
        if rotary and not v["norm.qk_rotated"]:
            q = rotate(v, q, longest, query=True)
            k = rotate(v, k, longest)
    seen = mask(v["masking"], len(x), len(x), prefix, files)
    out = attend(v, w, name, q, k, val, seen, score_bias(v, w, len(x)),
                 v["attention.sinks"])
    return project(v, w, name, "o", out, v["d_model"])


def latent(v, w, name, x, longest, rotary):
    h, d_k, d_v = v["h"], v["d_k"], v["d_v"]
    rope, eps = v["attention.latent.rope_dims"], v["attention.latent.eps"]
    rank, q_rank = v["attention.latent.kv_rank"], v["attention.latent.q_rank"]
    of_q, q_bias = x, v["bias.q"]
    if q_rank:
        of_q = product(w, name + "q_down", x, q_rank, q_bias)
        of_q = norm(v, w, name + "q_down_norm", of_q, eps)
        q_bias = False
    down = product(w, name + "kv_down", x, rank, v["bias.k"])
    down = norm(v, w, name + "kv_down_norm", down, eps)
    q = clipped(v, product(w, name + "q", of_q, h * (d_k - rope), q_bias))
    k = clipped(v, product(w, name + "k", down, h * (d_k - rope), False))
    val = clipped(v, product(w, name + "v", down, h * d_v, v["bias.v"]))
    q, k, val = heads_of(q, h), heads_of(k, h), heads_of(val, h)
    if rope:
        q_rope = product(w, name + "q_rope", of_q, h * rope, q_bias)
        k_rope = product(w, name + "k_rope", x, rope, v["bias.k"])
        q_rope = heads_of(clipped(v, q_rope), h)
        k_rope = heads_of(clipped(v, k_rope), 1)
        if rotary:
            q_rope = rotate(v, q_rope, longest, query=True)
            k_rope = rotate(v, k_rope, longest)
        q = np.concatenate([q, q_rope], axis=2)
        k = np.concatenate([k, np.repeat(k_rope, h, axis=0)], axis=2)
    return q, k, val


def cross_attention(v, w, name, x, source):
    h, h_kv, d_k, d_v = v["h"], v["h_kv"], v["d_k"], v["d_v"]
    q = clipped(v, product(w, name + "q", x, h * d_k, v["bias.q"]))
    k = clipped(v, product(w, name + "k", source, h_kv * d_k, v["bias.k"]))
    val = clipped(v, product(w, name + "v", source, h_kv * d_v, v["bias.v"]))
    out = attend(v, w, name, heads_of(q, h), heads_of(k, h_kv),
                 heads_of(val, h_kv), np.ones((len(x), len(source)), bool))
    return product(w, name + "o", out, v["d_model"], v["bias.o"])


def block(v, w, query, key, value, prefix=0, files=None):
    """Kind attention."""
    h, h_kv, d_k, d_v = v["h"], v["h_kv"], v["d_k"], v["d_v"]
    q = project(v, w, "", "q", query, h * d_k)
    k = project(v, w, "", "k", key, h_kv * d_k)
    val = project(v, w, "", "v", value, h_kv * d_v)
    seen = mask(v["masking"], len(query), len(key), prefix, files)
    out = attend(v, w, "", heads_of(q, h), heads_of(k, h_kv),
                 heads_of(val, h_kv), seen)
    return project(v, w, "", "o", out, v["d_model"])
