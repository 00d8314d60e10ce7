"""Random specs of all kinds."""
import numpy as np

from dice import Dice
from sublayers import least_layers, mixing, order, of_heads

PLAIN = ("none", "relu", "gelu", "gelu_tanh", "silu", "quick_gelu",
         "sigmoid", "tanh", "clipped_gelu", "clipped_plus_1",
         "squared_relu", "log1p_relu", "log1p_log1p_relu")
GATES = ("reglu", "geglu", "geglu_tanh", "swiglu", "glu", "clipped_swiglu")


def form(seed):
    """A spec, as a map of paths."""
    d = Dice(seed)
    kind = d.choice(["encoder", "decoder", "encoder-decoder", "attention",
                     "encoder", "decoder", "encoder-decoder"])
    s = {"attnc": 1, "name": f"form{seed}", "kind": kind}
    s["d_model"] = d.choice([4, 6, 8, 12, 16, 24])
    if kind == "attention":
        heads(d, s, {})
        block(d, s)
    else:
        model(d, s, kind)
    dtypes(d, s)
    if s["kind"] in ("encoder-decoder", "decoder") and d.often(0.2):
        s["cache"] = d.choice(["bf16", "int8"])
        if "additive" in str(s):
            s["cache"] = "bf16"
    return s


def heads(d, s, row, latent=False):
    """h, h_kv, d_k and d_v, in row or else in the spec."""
    h = d.choice([n for n in (1, 2, 3, 4, 6) if s["d_model"] % n == 0])
    row["h"] = h
    if d.often(0.3) and not latent:
        row["h_kv"] = d.choice([n for n in range(1, h + 1) if h % n == 0])
    if d.often(0.4):
        row["d_k"] = 2 * d.randint(1, 5)
    if d.often(0.4):
        row["d_v"] = d.randint(1, 9)
    if row is not s:
        s.update(row)


def block(d, s):
    s["max_len"] = {"query": d.randint(4, 12), "key": d.randint(4, 12)}
    scores(d, s, s)
    if d.often(0.5):
        for key in "qkvo":
            if d.often(0.4):
                s["projections." + key] = False
        if s.get("projections.q") is False or s.get("projections.k") is False:
            s.pop("d_k", None)
        if s.get("projections.v") is False or s.get("projections.o") is False:
            s.pop("d_v", None)
        if any("projections." + key in s for key in "kv"):
            s.pop("h_kv", None)
    for key in "qkvo":
        if d.often(0.2) and s.get("projections." + key, True):
            s["bias." + key] = False
    s["masking"] = masks(d, False, d.often(0.3))


def scores(d, s, row, positions="none"):
    if d.often(0.2):
        row["attention.scale"] = d.number(0.1, 1.5)
    if d.often(0.15):
        row["attention.softcap"] = d.number(0.5, 5)
    if d.often(0.15):
        row["attention.clip"] = d.number(0.3, 2)
        if s["kind"] != "attention":
            row["attention.clip_norms"] = d.often(0.5)
    if d.often(0.12):
        row["attention.normalizer"] = "sigmoid"
    elif s["kind"] != "attention" and d.often(0.12):
        row["attention.sinks"] = True
    if positions in ("none", "sinusoidal", "learned") and d.often(0.15):
        row["attention.score"] = "additive"


def masks(d, decoder, causal, prefix=False):
    parts = ["causal"] if causal or decoder else []
    if parts and prefix:
        parts.append("prefix")
    if d.often(0.25):
        parts.append({"window": d.randint(1, 6)})
    if d.often(0.15):
        parts.append({"block": d.randint(1, 6)})
    if d.often(0.07) and not prefix:
        parts.append({"file": "mask.txt"})
    if not parts:
        return "none"
    return parts[0] if len(parts) == 1 and d.often(0.5) else parts


def sided(d, s, kind, key, draw):
    """A value for both sides, or one each."""
    if kind == "encoder-decoder" and d.often(0.5):
        s[key] = {"encoder": draw("encoder"), "decoder": draw("decoder")}
    elif kind == "encoder-decoder":
        s[key] = draw("decoder")
    else:
        s[key] = draw(kind)


def model(d, s, kind):
    sided(d, s, kind, "N", lambda side: d.randint(1, 3))
    sided(d, s, kind, "d_ff", lambda side: d.choice([3, 8, 16, 20]))
    lengths(d, s, kind)
    order(d, s)
    heads(d, s, {}, "attention.latent.kv_rank" in s)
    of_heads(d, s)
    vocabulary(d, s, kind)
    masking(d, s, kind)
    rest(d, s, kind)
    if "layers" not in s:
        mixing(d, s, kind)
    if kind != "decoder":
        real(d, s, kind)
    ending(d, s, kind)
    if "layers" not in s and d.often(0.3):
        layers(d, s, kind)
    if kind == "encoder-decoder" and "mask.txt" in str(s):
        s["max_len"]["target"] = s["max_len"]["source"]


def lengths(d, s, kind):
    most = d.choice([5, 9, 16, 16, 20, 70, 140])
    s["max_len"] = {"encoder": {"source": most}, "decoder": {"target": most},
                    "encoder-decoder": {"source": most,
                                        "target": d.randint(4, 20)}}[kind]


def vocabulary(d, s, kind):
    size = d.randint(5, 30)
    sides = {"encoder": ["source"], "decoder": ["target"],
             "encoder-decoder": ["source", "target"]}[kind]
    if d.often(0.5):
        s["vocab.size"] = size
    else:
        for side in sides:
            s[f"vocab.{side}.size"] = d.randint(5, 30)
    if kind == "encoder-decoder":
        s["vocab.tokens"] = {"start": 1, "end": d.choice([2, 2, [2, 4]])}
        if d.often(0.3):
            s["vocab.append_end"] = d.often(0.5)
        if "vocab.size" in s and d.often(0.3):
            s["vocab.shared"] = True
    if d.often(0.4):
        s["embedding.scale"] = d.choice(["none", d.number(0.3, 3)])
    if d.often(0.25):
        s["embedding.width"] = d.choice([4, 6, 10])
        if d.often(0.5):
            s["embedding.project"] = d.choice(["sum", "tokens"])
        if d.often(0.3):
            s["embedding.bias"] = False
        if s["embedding.width"] == s["d_model"] and \
                "embedding.project" not in s:
            s.pop("embedding.bias", None)
    if d.often(0.2):
        s["embedding.types"] = d.randint(1, 4)
    tie = sides + (["logits"] if kind != "encoder" else [])
    if "vocab.size" not in s and kind == "encoder-decoder":
        tie = tie[1:]
    if "embedding.width" in s:
        tie = [t for t in tie if t != "logits"]
    if len(tie) > 1 and d.often(0.3):
        s["embedding.tie"] = tie


def masking(d, s, kind):
    prefix = d.often(0.2)
    if kind == "encoder-decoder":
        s["masking"] = {"encoder": masks(d, False, d.often(0.2)),
                        "decoder": masks(d, True, True)}
    else:
        s["masking"] = masks(d, kind == "decoder",
                             kind == "decoder" or d.often(0.2), prefix)


def rest(d, s, kind):
    scores(d, s, s, s.get("positions.scores", s["positions.type"])
           if "attention.latent.kv_rank" not in s else "latent")
    for key in ("q", "k", "v", "o", "ffn", "w2"):
        if d.often(0.15):
            s["bias." + key] = False
    if d.often(0.4):
        s["norm.type"] = "rms"
    elif d.often(0.15):
        s["norm.bias"] = False
    s["norm.place"] = d.choice(["post", "pre", "pre", "inside", "both"])
    s["norm.eps"] = d.choice([1e-5, 1e-3, 0.1])
    if kind == "encoder" and s["norm.place"] == "post" and d.often(0.3):
        s["norm.again"] = True
    for key, share in (("final", 0.3), ("embedding", 0.3)):
        if d.often(share):
            s["norm." + key] = d.often(0.5)
    for key in ("attention", "ffn"):
        if d.often(0.08):
            s["norm." + key] = False
    if d.often(0.2) and "attention.latent.kv_rank" not in s:
        s["norm.qk"] = d.choice([True, "width", "each"])
        s["norm.qk_rotated"] = d.often(0.3)
    if d.often(0.15):
        s["residual.scale"] = d.number(0.3, 2)
    if d.often(0.06) and kind == "encoder-decoder":
        cell = {"mix": {"type": "recurrent",
                        "cell": d.choice(["simple", "gru", "lstm"])}}
        s["layers"] = {"encoder": cell,
                       "decoder": {**cell, "mix.start": "source"}}
        s["N"] = d.randint(1, 2)
        s["attention.cross"] = d.often(0.5)
    if d.often(0.06):
        s["residual.type"] = "none"
        s.pop("residual.scale", None)
    elif d.often(0.2):
        s["residual.learned"] = d.choice(["scalar", "columns"])
    if kind != "encoder-decoder" and d.often(0.15):
        s.pop("residual.type", None)
        s["parallel"] = d.choice(["shared", "separate"])
        s["norm.place"] = d.choice(["pre", "pre", "both"])
        s.pop("norm.again", None)
        if s["parallel"] == "shared":
            s.pop("norm.attention", None)
    s["activation"] = d.choice(PLAIN if d.often(0.5) else GATES)
    if d.often(0.25):
        experts(d, s)
    elif d.often(0.05) and "parallel" not in s:
        s["ffn.type"] = "none"
        for key in ("d_ff", "activation", "bias.ffn", "bias.w2", "norm.ffn"):
            s.pop(key, None)


def experts(d, s):
    s["ffn.type"] = "experts"
    count = s["ffn.experts"] = d.choice([2, 3, 4, 6, 8])
    s["ffn.chosen"] = d.randint(1, min(count, 3))
    s["ffn.softmax"] = d.choice(["before", "after", "sigmoid"])
    if d.often(0.3) and s["ffn.softmax"] != "after":
        s["ffn.normalize"] = False
    if d.often(0.2):
        s["ffn.factor"] = d.number(0.5, 2)
    for key in ("router_bias", "correction"):
        if d.often(0.3):
            s["ffn." + key] = True
    if count % 2 == 0 and count > 2 and d.often(0.4):
        groups = s["ffn.groups"] = 2
        s["ffn.groups_chosen"] = d.randint(1, 2)
        s["ffn.group_score"] = d.choice(["max", "pair"])
        s["ffn.chosen"] = min(s["ffn.chosen"], count // groups)
    if d.often(0.4):
        s["ffn.shared"] = d.choice([3, 8])
        if d.often(0.5):
            s["ffn.shared_gate"] = True


def layer_row(d, s, kind):
    """What one layer has otherwise."""
    row = {}
    if d.often(0.4):
        row["masking"] = masks(d, kind != "encoder", kind != "encoder")
    if d.often(0.3) and s.get("ffn.type") != "none":
        row["d_ff"] = d.choice([3, 8, 16])
        row["activation"] = d.choice(PLAIN + GATES)
    if d.often(0.3) and "residual.type" not in s:
        row["residual.scale"] = d.number(0.3, 2)
    if d.often(0.2):
        row["attention.softcap"] = d.number(0.5, 5)
    if d.often(0.2):
        row["attention.scale"] = d.number(0.1, 1.5)
    if d.often(0.2):
        row["bias." + d.choice("qkvo")] = d.often(0.5)
    if d.often(0.2) and "parallel" not in s and "norm.again" not in s:
        row["norm.place"] = d.choice(["post", "pre", "inside", "both"])
    if d.often(0.2):
        row["norm.eps"] = d.choice([1e-5, 0.01])
    latent = "attention.latent.kv_rank" in s
    if s["positions.type"] == "rotary" and not latent:
        if d.often(0.3):
            row["positions"] = d.choice([
                "none", {"type": "none"}, {"base": 100}, {"base": 5000.5}])
    of_scores = s.get("positions.scores", s["positions.type"])
    if not latent and d.often(0.3) and s["positions.type"] != "rotary" and \
            of_scores != "relative":
        row["h"] = d.choice([n for n in (1, 2, 3) if s["d_model"] % n == 0])
        row["h_kv"] = d.choice([n for n in (1, row["h"])])
    if d.often(0.15) and "parallel" not in s and s.get("ffn.type") in (
            None, "experts") and "d_ff" not in row:
        row["ffn.type"] = "dense"
    return row


def layers(d, s, kind):
    """Layers that differ."""
    side = d.choice(["encoder", "decoder"]) if kind == "encoder-decoder" \
        else kind
    n = s["N"][side] if isinstance(s["N"], dict) else s["N"]
    rows = [layer_row(d, s, side) for _ in range(d.randint(1, n))]
    if d.often(0.3):
        rows[-1]["repeat"] = n - len(rows) + 1
        for row in rows[:-1]:
            row["repeat"] = 1
    rows = rows[0] if len(rows) == 1 and "repeat" not in rows[0] and \
        d.often(0.5) else rows
    s["layers"] = {side: rows} if kind == "encoder-decoder" else rows


def real(d, s, kind):
    if not d.often(0.3):
        return
    s["input.type"] = "real"
    for key in list(s):
        if key.startswith("embedding.") and (kind == "encoder" or
                                             key == "embedding.types"):
            del s[key]
    if kind == "encoder":
        s.pop("vocab.size", None)
        s.pop("vocab.source.size", None)
    else:
        size = s.pop("vocab.size", 11)
        s.pop("vocab.source.size", None)
        s["vocab.target.size"] = size
        if "embedding.tie" in s:
            s["embedding.tie"] = [t for t in s["embedding.tie"]
                                  if t != "source"]
            if len(s["embedding.tie"]) < 2:
                del s["embedding.tie"]
    form = d.choice(["rows", "kernels", "image"])
    if form == "image":
        high, wide, c = d.randint(1, 3), d.randint(1, 3), d.randint(1, 3)
        across, down = d.randint(1, 2), d.randint(1, 2)
        s["input.image"] = [c, high * down, wide * across]
        s["input.patch"] = [high, wide]
        s["input.width"] = c * high * wide
    elif form == "kernels":
        count = d.randint(1, 3)
        s["input.kernels"] = [d.randint(1, 5) for _ in range(count)]
        strides = [d.randint(1, 3) for _ in range(count)]
        if d.often(0.5):
            s["input.strides"] = strides
        else:
            strides = [1]
        s["input.width"] = d.randint(1, 4) * int(np.prod(strides))
        if d.often(0.4):
            s["input.activation"] = d.choice(PLAIN)
    else:
        s["input.width"] = d.randint(1, 9)
    if d.often(0.3) and s["max_len"]["source"] > 5:
        s["input.class_token"] = True
        if d.often(0.4):
            s["input.distillation_token"] = True


def ending(d, s, kind):
    if kind == "encoder" and d.often(0.3):
        return
    types = ["pool", "classify", "token_classify", "rows"]
    if s.get("input.type") != "real":
        types.append("logits")
    if kind == "encoder":
        s["head.type"] = d.choice(types)
        if s["head.type"] in ("pool", "classify") and d.often(0.7):
            s["head.pool"] = d.choice(["mean", "class", "last", "max", "sum"])
        if s["head.type"] == "logits" and d.often(0.3):
            s["head.pool"] = d.choice(["mean", "class", "last", "max", "sum"])
        if s["head.type"] in ("logits", "classify", "token_classify") and (
                d.often(0.3)):
            s["head.activation"] = d.choice(PLAIN)
        if s["head.type"] == "logits" and d.often(0.3):
            s["head.score"] = d.choice([3, [1, 4]])
        if s["head.type"] in ("pool", "rows") and d.often(0.4):
            s["head.normalize"] = True
        if s["head.type"] in ("classify", "token_classify"):
            s["head.classes"] = d.randint(2, 6)
            if d.often(0.4):
                s["head.bias"] = False
    if kind != "encoder" or s["head.type"] == "logits":
        if d.often(0.2):
            s["logits.scale"] = d.number(0.2, 2)
        if d.often(0.2):
            s["logits.softcap"] = d.number(1, 9)
        if d.often(0.2):
            s["bias.logits"] = True
    if d.often(0.3) and "logits" not in s.get("embedding.tie", []):
        s["head.dense.width"] = d.choice([3, 8, 12])
        s["head.dense.activation"] = d.choice(PLAIN)
        if d.often(0.3):
            s["head.dense.bias"] = False
        if d.often(0.4):
            s["head.dense.norm"] = True
        if s.get("head.type") in ("pool", "classify") and d.often(0.4):
            s["head.dense.pooled"] = False
        if d.often(0.3):
            s["head.second.width"] = d.choice([3, 8, 12])
            s["head.second.activation"] = d.choice(PLAIN)
            if d.often(0.3):
                s["head.second.bias"] = False


def dtypes(d, s):
    if d.often(0.75):
        if d.often(0.2):
            s["arithmetic"] = "bf16x3"
        return
    s["dtype"] = form = d.choice(["bf16", "bf16", "int8", "int8", "int4",
                                  "int4g64"])
    if form.startswith("int") and d.often(0.4):
        s["arithmetic"] = d.choice(["int8", "int15"])
    if form == "bf16" and d.often(0.4):
        s["arithmetic"] = d.choice(["bf16_dp", "bf16_amx"])
    side = "decoder" if s["kind"] == "decoder" else "encoder"
    if s["kind"] != "attention" and "layers" not in s and d.often(0.4):
        s["dtype"] = {"default": form, side + ".0": d.choice(
            ["f32", "bf16", "int8"])}
