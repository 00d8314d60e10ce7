"""What a random model is given: tensors, files of masks, other names of its
weights in their file."""
import numpy as np

from dice import Dice
from fields import View


def name_weights(s, made, seed):
    """Other names and forms of some weights in the file. Returns whether
    there are any."""
    d, names = Dice(seed + 2), {}
    if s["kind"] == "attention" or not d.often(0.25):
        return False
    sides = sorted({n.split(".")[0] for n in made} & {"encoder", "decoder"})
    side = d.choice(sides)
    has = [n for n in made if n.startswith(side + ".0.")]
    ints = "int" in str(s.get("dtype"))

    def there(*tails):
        return all(f"{side}.0.{tail}" in made for tail in tails)
    at = side + ".{i}."
    qkv = [there(f"self_attn.{c}.bias") for c in "qkv"]
    if there("self_attn.q.weight", "self_attn.k.weight",
             "self_attn.v.weight") and len(set(qkv)) == 1 and \
            "attention.latent.kv_rank" not in s and "layers" not in s:
        if d.often(0.5):
            names[at + "self_attn"] = {"tensor": "h.{i}.qkv",
                                       "rows": ["q", "k", "v"]}
    if there("ffn.w1.weight", "ffn.w3.weight") and "layers" not in s and \
            d.often(0.5):
        names[at + "ffn"] = {"tensor": "h.{i}.up", "rows": ["w3", "w1"]}
    if there("ffn.w2.weight") and d.often(0.5):
        names[at + "ffn.w2"] = "h.{i}.down"
    if any(".self_attn.o." in n for n in has) and d.often(0.5):
        names[at + "self_attn.o"] = "h.{i}.out"
    if d.often(0.3):
        names[side + ".{i}"] = {"transpose": True}
    if there("norm1.weight"):
        names[at + "norm1.weight"] = d.choice(
            [{"add": 1}, {"fill": 1.5}, {"scale": 0.5, "add": 0.25}])
    if there("norm2.bias") and d.often(0.3):
        names[at + "norm2.bias"] = {"fill": 0}
    if there("ffn.w2.bias") and d.often(0.3) and not ints:
        names[at + "ffn.w2.bias"] = {"scale": 2}
    s["names"] = names
    return bool(names)


def mask_files(s, seed):
    if "mask.txt" not in str((s.get("masking"), s.get("layers"))):
        return None
    most = s["max_len"]
    rows, columns = most.get("query"), most.get("key")
    if rows is None:
        rows = columns = most.get("source", most.get("target"))
    of = np.random.default_rng(seed + 3)
    return {"mask.txt": (of.random((rows, columns)) < 0.7).astype(int)}


def given(s, seed):
    """What a model of this spec reads."""
    d, of = Dice(seed + 1), np.random.default_rng(seed)
    v = View(s, "encoder")
    x = {}
    if s["kind"] == "attention":
        n = d.randint(1, v["max_len.query"])
        m = d.randint(1, v["max_len.key"])
        for key, rows in (("query", n), ("key", m), ("value", m)):
            x[key] = of.standard_normal((rows, s["d_model"]))
    if s["kind"] in ("encoder", "encoder-decoder"):
        source(d, of, v, x)
    if s["kind"] in ("decoder", "encoder-decoder"):
        w = View(s, "decoder")
        t = d.randint(1, w["max_len.target"])
        x["target.ids"] = of.integers(0, w["vocab.target.size"], t)
        if w["embedding.types"] and s["kind"] == "decoder":
            x["target.types"] = of.integers(0, w["embedding.types"], t)
    side = "decoder" if s["kind"] == "decoder" else "encoder"
    if s["kind"] != "attention" and any(
            "prefix" in row["masking"] for row in View(s, side).layers()
            if row["mix.type"] == "attention"):
        x["prefix"] = np.array([d.randint(0, 3)])
    return {k: a.astype(np.float32 if a.dtype == float else np.int32)
            for k, a in x.items()}


def source(d, of, v, x):
    tokens = v["input.class_token"] + v["input.distillation_token"]
    n = d.randint(1, max(1, v["max_len.source"] - tokens))
    if v["input.type"] != "real":
        x["source.ids"] = of.integers(0, v["vocab.source.size"], n)
        if v["embedding.types"]:
            x["source.types"] = of.integers(0, v["embedding.types"], n)
        return
    width = v["input.width"]
    if v["input.image"]:
        c, high, wide = v["input.image"]
        ph, pw = v["input.patch"]
        width, across = c * ph * pw, wide // pw
        n = max(1, n // across) * across
    x["source.values"] = of.standard_normal((n, width))
