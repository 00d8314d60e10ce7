"""The fields of a spec and their defaults, as docs/spec.md has them.

Each key of `attnc fields` has a line here: in FIELDS the default of a field
that some number depends on, in GROUPS the keys that it sets, in SILENT the
reason why no number depends on it. reference_test compares the three tables
with `attnc fields`.
"""
import math

SIDES = ("encoder", "decoder")


class Required(Exception):
    """A field without a default is not there."""


def required(view):
    raise Required


def width_of_head(v):
    return v["d_model"] // v["h"]


def attention_scale(v):
    return 1.0 if v["attention.score"] == "additive" else v["d_k"] ** -0.5


def embedding_project(v):
    return "sum" if v["embedding.width"] != v["d_model"] else "none"


def yarn_factor(v):
    """positions.scaling.attention_factor where the spec has none."""
    kind, factor = v["positions.scaling.type"], v["positions.scaling.factor"]

    def mscale(m):
        return 0.1 * m * math.log(factor) + 1
    if kind == "yarn":
        m = v["positions.scaling.mscale"]
        if factor <= 1:
            return 1.0
        of_all = v["positions.scaling.mscale_all_dim"]
        return mscale(m) / mscale(of_all) if m and of_all else mscale(1.0)
    if kind == "longrope":
        longest = v["positions.scaling.original_max_len"]
        return (math.sqrt(1 + math.log(factor) / math.log(longest))
                if factor and factor > 1 else 1.0)
    return 1.0


def recurrent_width(v):
    return v["d_model"] // (2 if v["mix.direction"] == "both" else 1)


def each(key, default):
    return {f"{key}.{side}": default for side in SIDES}


FIELDS = {
    "kind": required,
    "d_model": required,
    **each("h", required),
    **each("h_kv", lambda v: v["h"]),
    **each("d_k", width_of_head),
    **each("d_v", width_of_head),
    **each("d_ff", required),
    **each("N", required),
    "max_len.source": required,
    "max_len.target": required,
    "max_len.query": required,
    "max_len.key": required,
    "vocab.source.size": required,
    "vocab.target.size": required,
    "vocab.shared": lambda v: "vocab.size" in v.written,
    "vocab.tokens.start": None,
    "vocab.tokens.end": None,
    "vocab.tokens.pad": None,
    "vocab.append_end": lambda v: (v["kind"] == "encoder-decoder" and
                                   v["vocab.tokens.end"] is not None),
    "masking.encoder": "none",
    "masking.decoder": "causal",
    "attention.latent.kv_rank": 0,
    "attention.latent.q_rank": 0,
    "attention.latent.rope_dims": 0,
    "attention.latent.eps": lambda v: v["norm.eps"],
    "positions.type": "sinusoidal",
    "positions.scores": "none",
    "positions.base": 10000,
    "positions.first": 0,
    "positions.layout": "interleaved",
    "positions.exponent": "paper",
    "positions.dims": lambda v: v["attention.latent.rope_dims"] or v["d_k"],
    "positions.scaling.step": 1,
    "positions.scaling.type": "none",
    "positions.scaling.factor": None,
    "positions.scaling.original_max_len": None,
    "positions.scaling.low_freq_factor": None,
    "positions.scaling.high_freq_factor": None,
    "positions.scaling.beta_fast": 32,
    "positions.scaling.beta_slow": 1,
    "positions.scaling.mscale": 0,
    "positions.scaling.mscale_all_dim": 0,
    "positions.scaling.truncate": True,
    "positions.scaling.short_factor": None,
    "positions.scaling.long_factor": None,
    "positions.scaling.attention_factor": yarn_factor,
    "positions.scaling.query_log": 0,
    "positions.buckets": 32,
    "positions.max_distance": 128,
    "mix.type": "attention",
    "mix.cell": "lstm",
    "mix.activation": "tanh",
    "mix.direction": "forward",
    "mix.start": "zeros",
    "mix.width": recurrent_width,
    "mix.kernel": 3,
    "mix.dilation": 1,
    "mix.depthwise": False,
    "mix.pointwise": False,
    "mix.gated": False,
    "mix.inner": 0,
    "layers": None,
    "norm.type": "layer",
    "norm.place": "post",
    "norm.bias": lambda v: v["norm.type"] == "layer",
    "norm.eps": 1e-6,
    "norm.final": lambda v: v["norm.place"] != "post",
    "norm.embedding": False,
    "norm.attention": True,
    "norm.ffn": True,
    "norm.again": False,
    "norm.qk": False,
    "norm.qk_rotated": False,
    "residual.type": "add",
    "residual.scale": 1,
    "residual.learned": "none",
    "parallel": False,
    "activation": "relu",
    "projections.q": True,
    "projections.k": True,
    "projections.v": True,
    "projections.o": True,
    "bias.q": lambda v: v["projections.q"],
    "bias.k": lambda v: v["projections.k"],
    "bias.v": lambda v: v["projections.v"],
    "bias.o": lambda v: v["projections.o"],
    "bias.mix": True,
    "bias.ffn": True,
    "bias.w2": lambda v: v["bias.ffn"],
    "bias.logits": False,
    "attention.scale": attention_scale,
    "attention.score": "dot",
    "attention.normalizer": "softmax",
    "attention.softcap": None,
    "attention.sinks": False,
    "attention.cross": True,
    "attention.clip": None,
    "attention.clip_norms": False,
    "ffn.type": "dense",
    "ffn.experts": 8,
    "ffn.chosen": 2,
    "ffn.softmax": "before",
    "ffn.normalize": True,
    "ffn.factor": 1,
    "ffn.router_bias": False,
    "ffn.correction": False,
    "ffn.groups": 1,
    "ffn.groups_chosen": lambda v: v["ffn.groups"],
    "ffn.group_score": "max",
    "ffn.shared": 0,
    "ffn.shared_gate": False,
    "logits.scale": None,
    "logits.softcap": None,
    "embedding.scale": "sqrt_d_model",
    "embedding.width": lambda v: v["d_model"],
    "embedding.project": embedding_project,
    "embedding.bias": True,
    "embedding.tie": None,
    "embedding.types": 0,
    "input.type": "tokens",
    "input.width": 0,
    "input.kernels": None,
    "input.strides": None,
    "input.activation": "gelu",
    "input.image": None,
    "input.patch": None,
    "input.class_token": False,
    "input.distillation_token": False,
    "head.type": "default",
    "head.pool": lambda v: ("mean" if v["head.type"] == "pool" else
                            "class" if v["head.type"] == "classify" else
                            "none"),
    "head.score": None,
    "head.normalize": False,
    "head.activation": "none",
    "head.classes": 0,
    "head.bias": True,
    "head.dense.width": 0,
    "head.dense.activation": "none",
    "head.dense.pooled": True,
    "head.dense.bias": True,
    "head.dense.norm": False,
    "head.second.width": 0,
    "head.second.activation": "none",
    "head.second.bias": True,
    "search.rule": "exact",
    "search.beam": 4,
    "search.penalty": "gnmt",
    "search.alpha": lambda v: (0.6 if v["search.penalty"] == "gnmt" else 1.0),
    "search.prefix": None,
    "search.suppress": None,
    "search.suppress_first": None,
    "search.repetition_penalty": 1.0,
    "search.no_repeat_ngram": 0,
    "search.min_length": 0,
    "search.min_total": 0,
    "search.processors": "logits",
    "search.max_output.tokens": None,
    "search.max_output.plus": lambda v: (
        50 if v["kind"] == "encoder-decoder" and
        v["search.max_output.tokens"] is None else None),
    "dtype": "f32",
    "arithmetic": "f32",
    "cache": "f32",
    "names": None,
}

GROUPS = {
    **{key: each(key, None) for key in
       ("h", "h_kv", "d_k", "d_v", "d_ff", "N", "masking")},
    "max_len": ("max_len.source", "max_len.target", "max_len.query",
                "max_len.key"),
    "vocab.size": ("vocab.source.size", "vocab.target.size"),
    "vocab.file": ("vocab.source.file", "vocab.target.file"),
    "vocab.tokens.unknown": ("vocab.tokens.unknown.source",
                             "vocab.tokens.unknown.target"),
    "vocab.split": ("vocab.split.source", "vocab.split.target"),
    "positions": ("positions.type",),
    "positions.scaling": ("positions.scaling.step",),
    "mix": ("mix.type",),
    "norm": ("norm.type",),
    "residual": ("residual.type",),
    "projections": ("projections.q", "projections.k", "projections.v",
                    "projections.o"),
    "bias": ("bias.q", "bias.k", "bias.v", "bias.o", "bias.mix", "bias.ffn"),
    "attention": ("attention.scale",),
    "ffn": ("ffn.type",),
    "input": ("input.type",),
    "head": ("head.type",),
    "head.dense": ("head.dense.width",),
    "head.second": ("head.second.width",),
    "search.max_output": ("search.max_output.tokens",),
}

TEXT = "of text, which becomes ids before a number is computed"
FIXED = "of emitted C; no bit of a result changes"
SILENT = {
    "attnc": "the version of the format",
    "name": "of functions",
    "extends": "of files: what they say is read first",
    "weights": "a path",
    "unused": "of warnings",
    **{f"fix.{key}": FIXED for key in ("source", "target", "past", "query",
                                       "key", "batch", "threads", "ranks",
                                       "unroll")},
    "fix.sum_ranks": "of sums over ranks",
    **{key: TEXT for key in
       ("vocab.source.file", "vocab.target.file",
        "vocab.tokens.unknown.source", "vocab.tokens.unknown.target",
        "vocab.split.source", "vocab.split.target", "chat.begin",
        "chat.system.prefix", "chat.system.suffix", "chat.system.text",
        "chat.system.inside", "chat.system.skip_empty", "chat.trim",
        "chat.user.prefix", "chat.user.suffix", "chat.assistant.prefix",
        "chat.assistant.suffix", "prompts", "prompt", "pair.begin",
        "pair.prompt", "pair.first", "pair.second", "pair.end",
        "head.query.length", "head.query.cut", "head.query.token",
        "head.query.attend", "head.query.prefix", "head.document.length",
        "head.document.prefix", "head.document.skip")},
}


def flatten(spec, at=""):
    """Keys as paths; a key that sets others becomes these."""
    flat = {}
    for key, value in spec.items():
        path = at + key
        if path in ("dtype", "names", "layers"):
            flat[path] = value
        elif isinstance(value, dict) and not is_mask(path, value):
            flat.update(flatten(value, path + "."))
        elif path in GROUPS:
            flat.update({leaf: value for leaf in GROUPS[path]})
        else:
            flat[path] = value
    return flat


def overlay(spec, row):
    """The spec with the fields of a row over it. One value for a key that
    sets others replaces the whole map of the spec."""
    whole = tuple(key + "." for key, value in row.items()
                  if key in GROUPS and not isinstance(value, dict))
    kept = {key: value for key, value in flatten(spec).items()
            if not key.startswith(whole)}
    return {**kept, **flatten(row)}


def is_mask(path, value):
    """A part of a mask is a map too."""
    return path.startswith("masking") and not set(value) & set(SIDES)


class View:
    """Fields as one side, or one layer of it, has them."""

    def __init__(self, written, side, row=None):
        self.spec, self.side = written, side
        self.written = set(written)
        self.flat = overlay(written, row or {})

    def __getitem__(self, key):
        if f"{key}.{self.side}" in FIELDS:
            key = f"{key}.{self.side}"
        value = self.flat.get(key)
        if value is None:
            default = FIELDS[key]
            return default(self) if callable(default) else default
        return value

    def rows(self):
        """Those of `layers` that are this side's."""
        rows = self["layers"] or {}
        if isinstance(rows, dict) and set(rows) & set(SIDES):
            rows = rows.get(self.side) or {}
        return [rows] if isinstance(rows, dict) else rows

    def layers(self):
        """A view for each layer of the stack."""
        rows = self.rows()
        if any("repeat" in row for row in rows):
            rows = [row for row in rows for _ in range(row.get("repeat", 1))]
        plain = [{k: v for k, v in row.items() if k != "repeat"}
                 for row in rows]
        return [View(self.spec, self.side, plain[i % len(plain)])
                for i in range(self["N"])]
