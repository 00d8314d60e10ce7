"""Random positions, latent attention, recurrences and convolutions."""
from fields import View


def order(d, s):
    """Positions, and whether attention is latent."""
    s["positions.type"] = kind = d.choice(
        ["sinusoidal", "learned", "none", "rotary", "rotary", "alibi",
         "relative"])
    if kind == "sinusoidal":
        if d.often(0.4):
            s["positions.layout"] = "halves"
        if d.often(0.3) and s["d_model"] > 2:
            s["positions.exponent"] = "tensor2tensor"
    if kind in ("sinusoidal", "learned") and d.often(0.3):
        s["positions.first"] = d.randint(1, 5)
    if kind in ("sinusoidal", "rotary") and d.often(0.3):
        s["positions.base"] = d.choice([100, 500.5, 1000000])
    if kind in ("sinusoidal", "learned", "rotary") and d.often(0.15):
        s["positions.scores"] = d.choice(["alibi", "relative"])
    of_scores = s.get("positions.scores", kind)
    if of_scores == "relative" and d.often(0.6):
        s["positions.buckets"] = d.choice([4, 8, 16])
        s["positions.max_distance"] = d.choice([9, 20, 128])
    if kind in ("rotary", "alibi") and d.often(0.2):
        s["positions.scaling"] = d.choice([0.5, 2, 0.25])
    if kind in ("rotary", "none") and d.often(0.2):
        s["attention.latent.kv_rank"] = d.randint(2, 9)


def least_layers(s):
    n = s["N"]
    return min(n.values()) if isinstance(n, dict) else n


def of_heads(d, s):
    """What depends on the width of heads."""
    if "attention.latent.kv_rank" in s:
        latent_form(d, s)
    elif s["positions.type"] == "rotary":
        rotary_dims(d, s)


def latent_form(d, s):
    rotary = s["positions.type"] == "rotary"
    rope = 2 * d.randint(1, 3) if rotary or d.often(0.3) else 0
    if rope:
        s["attention.latent.rope_dims"] = rope
        s["d_k"] = rope + d.randint(1, 6)
    if d.often(0.5):
        s["attention.latent.q_rank"] = d.randint(2, 9)
    if d.often(0.3):
        s["attention.latent.eps"] = d.choice([1e-5, 1e-3])


def rotary_dims(d, s):
    d_k = View(s, "encoder" if s["kind"] == "encoder" else "decoder")["d_k"]
    if d_k % 2:
        s["d_k"] = d_k = d_k + 1
    if d.often(0.4):
        s["positions.dims"] = d.randint(2, d_k)
    if d.often(0.35):
        scaling(d, s, s.get("positions.dims", d_k))
    if d.often(0.4):
        s["positions.layout"] = "halves"


def scaling(d, s, dims):
    kind = d.choice(["dynamic", "llama3", "yarn", "longrope"])
    if kind == "dynamic" and dims <= 2:
        kind = "llama3"
    at = "positions.scaling."
    s.pop("positions.scaling", None)
    s[at + "type"] = kind
    s[at + "factor"] = d.choice([2, 4, 1.5])
    s[at + "original_max_len"] = d.choice([4, 8, 64])
    if kind == "llama3":
        s[at + "low_freq_factor"] = d.choice([1, 0.5])
        s[at + "high_freq_factor"] = d.choice([4, 2])
    elif kind == "yarn":
        if d.often(0.4):
            s[at + "beta_fast"], s[at + "beta_slow"] = d.choice(
                [(16, 2), (4, 0.5)])
        if d.often(0.4):
            s[at + "mscale"] = d.choice([1, 0.7])
            s[at + "mscale_all_dim"] = d.choice([1, 0.5])
        if d.often(0.4):
            s[at + "truncate"] = False
    elif kind == "longrope":
        for key in ("short_factor", "long_factor"):
            s[at + key] = [d.number(0.5, 4) for _ in range((dims + 1) // 2)]
    if kind in ("yarn", "longrope") and d.often(0.3):
        s[at + "attention_factor"] = d.number(0.5, 1.5)
    if d.often(0.3):
        s[at + "query_log"] = d.number(0.1, 1)


def mix(d, s, kind, row):
    """One layer's mix that is no attention."""
    if d.often(0.5):
        row["mix.type"] = "recurrent"
        row["mix.cell"] = d.choice(["simple", "gru", "lstm"])
        if row["mix.cell"] == "simple" and d.often(0.5):
            row["mix.activation"] = "relu"
        if kind == "encoder":
            row["mix.direction"] = d.choice(["forward", "backward", "both"])
        if d.often(0.4):
            row["mix.width"] = d.choice([3, 4, 8])
        return
    row["mix.type"] = "convolution"
    row["mix.kernel"] = d.choice([1, 3, 5] if kind != "decoder" else
                                 [1, 2, 3, 4, min(s["max_len"].values())])
    if d.often(0.3) and 1 < row["mix.kernel"] <= min(
            s["max_len"].values()) // 3:
        row["mix.dilation"] = d.randint(2, 3)
    if d.often(0.4):
        row["mix.depthwise"] = True
        row["mix.pointwise"] = d.often(0.6)
    if d.often(0.3) and row.get("mix.pointwise", True):
        row["mix.gated"] = True
    if d.often(0.3) and row.get("mix.pointwise", True):
        row["mix.inner"] = d.choice([3, 8])


def mixing(d, s, kind):
    """Recurrences and convolutions, in all layers or some."""
    if not d.often(0.3) or "parallel" in s:
        return
    side = {"encoder-decoder": "both"}.get(kind, kind)
    rows = [{}, {}][:least_layers(s)]
    mix(d, s, side, rows[0])
    if d.often(0.5) and len(rows) > 1:
        mix(d, s, side, rows[1])
    if d.often(0.2) and "recurrent" in str(rows):
        s["bias.mix"] = False
    if kind == "encoder-decoder":
        stack = d.choice(["encoder", "decoder"])
        rows = [{} for row in rows]
        s["layers"] = {stack: rows}
        for row in rows:
            mix(d, s, stack, row)
    else:
        s["layers"] = rows
