"""Makes the models of this folder: for each field of a spec a small one with
random weights, and what PyTorch says of it.

    pip install torch==2.13.0 numpy safetensors
    python tests/torch/make_torch.py

NAME.yaml              the spec
NAME.safetensors       its weights, by their canonical names
NAME.io.safetensors    what goes in, and what nodes of the graph must hold:
                       "out.NODE", rows of one sequence
"""
import json
import math
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
BASE = dict(d_model=16, h=2, d_ff=20, N=1, max_len=12, vocab=dict(size=11),
            embedding=dict(scale="none"))
BOTH = dict(size=11, tokens=dict(start=1, end=2))
PRE = dict(place="pre", eps=0.001)
# what torch.nn.LSTM with two layers is
PURE = dict(h=None, d_ff=None, N=2, ffn="none", residual="none",
            norm=dict(attention=False), positions="none")
RMS = dict(type="rms", place="pre", eps=0.001)

# name, kind, what differs from BASE and from the defaults
CASES = [
    ("relative", "encoder-decoder", dict(
        vocab=BOTH,
        norm=RMS, bias=False, activation="geglu_tanh",
        positions=dict(type="relative", buckets=8, max_distance=9),
        attention=dict(scale=1.0), logits=dict(scale=0.25),
        embedding=dict(scale="none", tie=["source", "target", "logits"]))),
    ("alibi", "decoder", dict(
        h=6, d_k=4, d_v=4, positions="alibi", activation="gelu",
        norm=dict(place="pre", bias=False))),
    ("alibi_encoder", "encoder", dict(h=4, positions="alibi")),
    ("partial_rotary", "decoder", dict(
        parallel="shared", norm=PRE, activation="gelu",
        positions=dict(type="rotary", dims=4, layout="halves", base=100.0))),
    ("rotary", "decoder", dict(
        parallel="separate", norm=PRE, activation="gelu_tanh", h_kv=1,
        positions=dict(type="rotary", layout="interleaved", scaling=0.5))),
    ("softcap", "decoder", dict(
        norm=dict(RMS, qk=True), activation="geglu", d_k=6, d_v=5,
        positions=dict(type="rotary", layout="halves"),
        attention=dict(scale=0.7, softcap=1.5), logits=dict(softcap=2.0))),
    ("qk_norm", "encoder", dict(
        norm=dict(place="pre", qk=True), activation="silu", h=4, h_kv=2)),
    ("window", "decoder", dict(masking=["causal", dict(window=3)],
                               activation="reglu")),
    ("window_encoder", "encoder", dict(masking=[dict(window=2)])),
    ("block", "encoder", dict(masking=[dict(block=3)], activation="none")),
    ("causal_blocks", "decoder", dict(masking=["causal", dict(block=4)])),
    ("prefix", "decoder", dict(masking=["causal", "prefix"])),
    ("mask_file", "encoder", dict(masking=[dict(file="mask_file.txt")])),
    ("pool_mean", "encoder", dict(
        norm=dict(embedding=True), activation="gelu",
        positions=dict(type="learned", first=2),
        embedding=dict(scale="none", types=2),
        head=dict(type="pool", pool="mean", normalize=True))),
    ("pool_class", "encoder", dict(head=dict(type="pool", pool="class"))),
    ("pool_last", "encoder", dict(head=dict(type="pool", pool="last"),
                                  positions="none")),
    ("pool_max", "encoder", dict(head=dict(type="pool", pool="max"))),
    ("classify", "encoder", dict(head=dict(type="classify", classes=3))),
    ("token_classify", "encoder", dict(
        head=dict(type="token_classify", classes=4))),
    ("real_input", "encoder", dict(input=dict(type="real", width=5),
                                   norm=dict(embedding=True))),
    ("masked_words", "encoder", dict(
        head=dict(type="logits"), bias=dict(logits=True, q=False, o=False),
        embedding=dict(scale=3.0, tie=["source", "logits"]))),
    ("two_sizes", "encoder-decoder", dict(
        vocab=BOTH,
        N=dict(encoder=2, decoder=1), h=dict(encoder=4, decoder=2),
        d_ff=dict(encoder=8, decoder=24), norm=PRE, activation="swiglu",
        embedding=dict(scale="sqrt_d_model"))),
    ("class_token", "encoder", dict(
        input=dict(type="real", width=5, class_token=True), norm=PRE,
        activation="gelu", positions="learned",
        head=dict(type="classify", classes=3))),
    ("lstm", "encoder", dict(h=None, mix=dict(type="recurrent"))),
    ("gru", "encoder", dict(
        h=None, mix=dict(type="recurrent", cell="gru", direction="both"),
        norm=PRE, bias=dict(mix=False))),
    ("rnn", "encoder", dict(
        h=None, bias=dict(o=False), activation="silu", N=2,
        mix=dict(type="recurrent", cell="simple", direction="backward",
                 width=19))),
    ("rnn_relu", "encoder", dict(
        h=None, mix=dict(type="recurrent", cell="simple", direction="both",
                         activation="relu", width=5))),
    ("lstm_stack", "encoder", dict(
        PURE, mix=dict(type="recurrent", direction="both"))),
    ("gru_stack", "encoder", dict(
        PURE, mix=dict(type="recurrent", cell="gru"))),
    ("gru_decoder", "decoder", dict(
        h=None, mix=dict(type="recurrent", cell="gru", width=20),
        norm=PRE)),
    ("lstm_both", "encoder-decoder", dict(
        vocab=BOTH, h=dict(decoder=2), d_ff=None, ffn="none",
        mix=dict(type="recurrent"))),
    ("convolution", "encoder", dict(
        h=None, mix=dict(type="convolution", kernel=5, dilation=2))),
    ("depthwise", "encoder", dict(
        h=None, mix=dict(type="convolution", kernel=7, depthwise=True))),
    ("separable", "encoder", dict(
        h=None, norm=PRE, mix=dict(type="convolution", kernel=3, dilation=3,
                           depthwise=True, pointwise=True, gated=True))),
    ("two_convolutions", "encoder", dict(
        h=None, activation="gelu", bias=dict(mix=False),
        mix=dict(type="convolution", kernel=3, inner=24))),
    ("causal_convolution", "decoder", dict(
        h=None, norm=PRE, mix=dict(type="convolution", kernel=4, dilation=2))),
    ("depthwise_both", "encoder-decoder", dict(
        vocab=BOTH, h=dict(decoder=2), d_ff=None, ffn="none",
        mix=dict(type="convolution", kernel=3, depthwise=True,
                 pointwise=True))),
    ("lstm_source", "encoder-decoder", dict(
        vocab=BOTH, h=dict(decoder=2), d_ff=None, ffn="none", N=2,
        mix=dict(type="recurrent", start="source"),
        attention=dict(cross=False))),
    ("gru_source", "encoder-decoder", dict(
        vocab=BOTH, h=dict(decoder=2),
        mix=dict(type="recurrent", cell="gru", start="source"))),
    ("residual_scale", "encoder-decoder", dict(
        vocab=BOTH, residual=dict(scale=0.4))),
    ("layer_scale", "encoder-decoder", dict(
        vocab=BOTH, norm=PRE, activation="gelu",
        residual=dict(learned="columns"))),
    ("learned_scale", "decoder", dict(
        norm=PRE, residual=dict(learned="scalar", scale=1.5))),
    ("additive", "encoder-decoder", dict(
        vocab=BOTH, attention=dict(score="additive"))),
    ("additive_heads", "decoder", dict(
        h=4, h_kv=2, d_k=5, norm=PRE, positions="alibi",
        attention=dict(score="additive", scale=0.7, softcap=1.5))),
    ("sigmoid", "encoder-decoder", dict(
        vocab=BOTH, attention=dict(normalizer="sigmoid"))),
    ("sigmoid_window", "decoder", dict(
        norm=PRE, masking=["causal", dict(window=3)],
        attention=dict(normalizer="sigmoid", score="additive"))),
    ("front", "encoder", dict(
        norm=PRE, positions="learned",
        input=dict(type="real", width=10, kernels=[3, 3], strides=[1, 2]))),
    ("front_strides", "encoder", dict(
        input=dict(type="real", width=12, kernels=[5, 4, 1],
                   strides=[3, 2, 1]))),
    ("patches", "encoder", dict(
        norm=PRE, positions="learned",
        input=dict(type="real", width=12, image=[3, 6, 6], patch=[2, 2],
                   class_token=True))),
    ("patches_tall", "encoder", dict(
        input=dict(type="real", width=6, image=[1, 9, 6], patch=[3, 2]))),
    ("latent", "decoder", dict(
        h=3, d_k=10, d_v=7, norm=RMS, activation="swiglu", bias=False,
        positions=dict(type="rotary"),
        attention=dict(latent=dict(q_rank=9, kv_rank=12, rope_dims=4,
                                   eps=0.01)))),
    ("latent_direct", "encoder-decoder", dict(
        vocab=BOTH, h=4, d_k=9, d_v=5, norm=PRE,
        positions=dict(type="rotary", layout="halves", dims=4),
        attention=dict(latent=dict(kv_rank=6, rope_dims=5)))),
    ("distillation", "encoder", dict(
        norm=PRE, positions="learned",
        input=dict(type="real", width=5, class_token=True,
                   distillation_token=True))),
    ("class_front", "encoder", dict(
        norm=PRE, positions="learned", head=dict(type="pool", pool="mean"),
        input=dict(type="real", width=5, class_token=True, kernels=[4]))),
    ("class_fronts", "encoder", dict(
        norm=PRE, positions="learned", masking=[dict(window=3)],
        input=dict(type="real", width=6, class_token=True,
                   distillation_token=True, kernels=[3, 4],
                   strides=[1, 2]))),
    ("class_front_strides", "encoder", dict(
        masking="causal", head=dict(type="pool", pool="last"),
        input=dict(type="real", width=12, class_token=True, kernels=[6, 5, 2],
                   strides=[2, 3, 2]))),
    ("class_front_both", "encoder-decoder", dict(
        vocab=BOTH, input=dict(type="real", width=4, class_token=True,
                               kernels=[3, 3]))),
]
ACT = dict(none=lambda x: x, relu=F.relu, gelu=F.gelu, silu=F.silu,
           gelu_tanh=lambda x: F.gelu(x, approximate="tanh"))
GATED = dict(reglu="relu", geglu="gelu", geglu_tanh="gelu_tanh",
             swiglu="silu")


class Model:
    """One sequence in double precision; weights are made when asked for."""

    def __init__(self, kind, spec, seed):
        self.kind, self.spec = kind, {**BASE, **spec}
        self.rng = torch.Generator().manual_seed(seed)
        self.weights, self.out, self.last = {}, {}, {}

    def get(self, group, key, preset):
        value = self.spec.get(group, {})
        return value.get(key, preset) if isinstance(value, dict) else preset

    def side(self, key, stack, preset=None):
        value = self.spec.get(key, preset)
        return value[stack] if isinstance(value, dict) else value

    def weight(self, name, *shape, mean=0.0):
        if name not in self.weights:
            w = torch.randn(*shape, generator=self.rng)
            self.weights[name] = mean + w * (0.3 if mean else
                                             1.5 / math.sqrt(shape[-1]))
        return self.weights[name].double()

    def keep(self, name, x):
        self.out["out." + name] = x.float().contiguous()
        return x

    def linear(self, x, name, out, bias):
        w = self.weight(name + ".weight", out, x.shape[-1])
        b = self.weight(name + ".bias", out) if bias else None
        return F.linear(x, w, b)

    def bias(self, which):
        value = self.spec.get("bias", True)
        return value.get(which, True) if isinstance(value, dict) else value

    def norm(self, x, name, eps=None):
        eps = eps or self.get("norm", "eps", 1e-6)
        d = x.shape[-1]
        gamma = self.weight(name + ".weight", d, mean=1.0)
        if self.get("norm", "type", "layer") == "rms":
            return F.rms_norm(x, (d,), gamma, eps)
        beta = (self.weight(name + ".bias", d)
                if self.get("norm", "bias", True) else None)
        return F.layer_norm(x, (d,), gamma, beta, eps)

    # ------------------------------------------------------- positions

    def positions(self):
        value = self.spec.get("positions", "sinusoidal")
        return value if isinstance(value, dict) else dict(type=value)

    def add_positions(self, x, side):
        p, (n, d) = self.positions(), x.shape
        if p["type"] == "learned":
            first = p.get("first", 0)
            table = self.weight(side + "_positions.weight",
                                BASE["max_len"] + first, d)
            return x + table[first:first + n]
        if p["type"] != "sinusoidal":
            return x
        angle = (torch.arange(n).double()[:, None]
                 / 10000 ** (torch.arange(0, d, 2).double() / d))
        return x + torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)

    def rotate(self, x):
        """x is [h, n, d]; complex numbers turn."""
        p = self.positions()
        if p["type"] != "rotary":
            return x
        dims = p.get("dims", x.shape[-1])
        halves = p.get("layout", "interleaved") == "halves"
        rate = p.get("base", 10000.0) ** (-torch.arange(0, dims, 2).double()
                                          / dims)
        angle = (torch.arange(x.shape[1]).double()[:, None]
                 * p.get("scaling", 1.0) * rate)
        turn, rest = x[..., :dims], x[..., dims:]
        pairs = (turn.unflatten(-1, (2, -1)).transpose(-1, -2) if halves
                 else turn.unflatten(-1, (-1, 2)))
        z = torch.view_as_complex(pairs.contiguous())
        pairs = torch.view_as_real(z * torch.polar(torch.ones_like(angle),
                                                   angle))
        turn = (pairs.transpose(-1, -2) if halves else pairs).flatten(-2)
        return torch.cat([turn, rest], -1)

    def relative(self, stack, heads, n):
        p = self.positions()
        both, buckets = stack == "encoder", p["buckets"]
        table = self.weight(f"{stack}.relative.weight", buckets, heads)
        away = torch.arange(n)[None, :] - torch.arange(n)[:, None]
        first = torch.zeros_like(away)
        if both:
            buckets //= 2
            first = (away > 0).long() * buckets
            far = away.abs()
        else:
            far = (-away).clamp(min=0)
        exact = buckets // 2
        more = exact + (torch.log(far.float() / exact)
                        / math.log(p["max_distance"] / exact)
                        * (buckets - exact)).long()
        bucket = torch.where(far < exact, far,
                             more.clamp(max=buckets - 1))
        return table[first + bucket].permute(2, 0, 1)

    def alibi(self, heads, n):
        def slopes(count):
            start = 2 ** (-8 / count)
            return [start ** (i + 1) for i in range(count)]
        power = 2 ** int(math.log2(heads))
        slope = slopes(power) + slopes(2 * power)[0::2][:heads - power]
        away = torch.arange(n)[None, :] - torch.arange(n)[:, None]
        return -torch.tensor(slope).double()[:, None, None] * away.abs()

    def score_bias(self, stack, heads, n):
        kind = self.positions()["type"]
        if kind == "relative":
            return self.relative(stack, heads, n)
        return self.alibi(heads, n) if kind == "alibi" else 0

    def mask(self, stack, n):
        parts = self.spec.get("masking",
                              "causal" if stack == "decoder" else "none")
        parts = parts if isinstance(parts, list) else [parts]
        i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
        seen = torch.ones(n, n, dtype=torch.bool)
        if "causal" in parts:
            seen = j <= i
        if "prefix" in parts:
            seen = seen | (j < 3)
        for part in parts:
            if isinstance(part, dict) and "window" in part:
                seen = seen & ((i - j).abs() < part["window"])
            if isinstance(part, dict) and "block" in part:
                seen = seen & (i // part["block"] == j // part["block"])
            if isinstance(part, dict) and "file" in part:
                text = (HERE / part["file"]).read_text().split("\n")
                rows = [[c == "1" for c in line] for line in text if line]
                seen = seen & torch.tensor(rows)[:n, :n]
        return seen

    # ---------------------------------------------------------- layers

    def attention(self, x, memory, name, stack):
        own = memory is None
        heads = self.side("h", stack)
        groups = self.side("h_kv", stack, heads)
        d = BASE["d_model"] // heads
        d_k, d_v = self.spec.get("d_k", d), self.spec.get("d_v", d)
        source = x if own else memory

        def project(rows, letter, count, size):
            y = self.linear(rows, f"{name}.{letter}", count * size,
                            self.bias(letter))
            return y.unflatten(-1, (count, size)).transpose(0, 1)

        latent = self.get("attention", "latent", None) if own else None
        if latent:
            q, k, v = self.latent(x, name, heads, d_k, d_v, **latent)
        else:
            q = project(x, "q", heads, d_k)
            k = project(source, "k", groups, d_k)
            v = project(source, "v", groups, d_v)
        if own and self.get("norm", "qk", False):
            q = self.norm(q, name + ".q_norm")
            k = self.norm(k, name + ".k_norm")
        if own and not latent:
            q, k = self.rotate(q), self.rotate(k)
        k = k.repeat_interleave(heads // groups, 0)
        v = v.repeat_interleave(heads // groups, 0)
        scores = self.scores(q, k, name)
        cap = self.get("attention", "softcap", None)
        if cap:
            scores = cap * torch.tanh(scores / cap)
        if own:
            scores = scores + self.score_bias(stack, heads, len(x))
            scores = scores.masked_fill(~self.mask(stack, len(x)), -math.inf)
        if self.get("attention", "normalizer", "softmax") == "sigmoid":
            weights = torch.sigmoid(scores)
        else:
            weights = torch.softmax(scores, -1).nan_to_num(0)  # none is seen
        self.keep(name + ".weights", weights)
        y = (weights @ v).transpose(0, 1).flatten(1)
        return self.linear(y, name + ".o", BASE["d_model"], self.bias("o"))

    def latent(self, x, name, heads, d_k, d_v, kv_rank, rope_dims, q_rank=0,
               eps=None):
        """DeepSeek-V2, equations 9 to 19, as [h, n, d]."""
        def up(rows, word, count, size, bias=False):
            y = self.linear(rows, f"{name}.{word}", count * size, bias)
            return y.unflatten(-1, (count, size)).transpose(0, 1)

        def down(word, rank, bias):
            y = self.linear(x, f"{name}.{word}", rank, bias)
            return self.norm(y, f"{name}.{word}_norm", eps)

        of_q = self.bias("q") and not q_rank
        c_q = down("q_down", q_rank, self.bias("q")) if q_rank else x
        c = down("kv_down", kv_rank, self.bias("k"))
        q = torch.cat([
            up(c_q, "q", heads, d_k - rope_dims, of_q),
            self.rotate(up(c_q, "q_rope", heads, rope_dims, of_q))], -1)
        k_rope = self.rotate(up(x, "k_rope", 1, rope_dims, self.bias("k")))
        k = torch.cat([up(c, "k", heads, d_k - rope_dims),
                       k_rope.expand(heads, -1, -1)], -1)
        return q, k, up(c, "v", heads, d_v, self.bias("v"))

    def scores(self, q, k, name):
        heads, _, d_k = q.shape
        if self.get("attention", "score", "dot") == "dot":
            return q @ k.transpose(1, 2) * self.get("attention", "scale",
                                                    d_k ** -0.5)
        v = self.weight(name + ".score.weight", heads, d_k)
        both = torch.tanh(q[:, :, None] + k[:, None])
        return torch.einsum("hd,hqkd->hqk", v, both) * self.get(
            "attention", "scale", 1.0)

    def ffn(self, x, name, stack):
        word = self.spec.get("activation", "relu")
        width, bias = self.side("d_ff", stack), self.bias("ffn")
        y = ACT[GATED.get(word, word)](
            self.linear(x, name + ".w1", width, bias))
        if word in GATED:
            y = y * self.linear(x, name + ".w3", width, bias)
        return self.linear(y, name + ".w2", BASE["d_model"], bias)

    def recurrent(self, x, name):
        """Of torch.nn; one that goes backward reads the rows turned round."""
        mix = self.spec["mix"]
        cell, way = mix.get("cell", "lstm"), mix.get("direction", "forward")
        gates = dict(simple=1, gru=3, lstm=4)[cell]
        both = way == "both"
        d = mix.get("width", BASE["d_model"] // (1 + both))
        kind = dict(simple=torch.nn.RNN, gru=torch.nn.GRU, lstm=torch.nn.LSTM)
        more = {"nonlinearity": mix.get("activation", "tanh")} \
            if cell == "simple" else {}
        net = kind[cell](x.shape[-1], d, bidirectional=both,
                         bias=self.bias("mix"), **more).double()
        state = {}
        for end in ("", "_reverse") if both else ("",):
            here = name + (".backward" if end or way == "backward" else "")
            for ours, theirs, size in (("input", "ih", x.shape[-1]),
                                       ("hidden", "hh", d)):
                state[f"weight_{theirs}_l0{end}"] = self.weight(
                    f"{here}.{ours}.weight", gates * d, size)
                if self.bias("mix"):
                    state[f"bias_{theirs}_l0{end}"] = self.weight(
                        f"{here}.{ours}.bias", gates * d)
        net.load_state_dict(state)
        if way == "backward":
            x = x.flip(0)
        start = self.last.get(name) if mix.get("start") else None
        with torch.no_grad():
            y, last = net(x, start)
        self.last[name.replace("encoder", "decoder")] = last
        y = y.detach().flip(0) if way == "backward" else y.detach()
        self.keep(name + dict(forward=".states", both=".both",
                              backward=".backward.states")[way], y)
        if y.shape[-1] == BASE["d_model"]:
            return y
        return self.linear(y, name + ".o", BASE["d_model"], self.bias("o"))

    def convolution(self, x, name, number, out):
        """torch.nn.Conv1d of the rows, by its own weights."""
        mix = self.spec["mix"]
        k, dilation = mix["kernel"], mix.get("dilation", 1)
        d = x.shape[-1]

        def conv(x, word, out, k, groups):
            word = f"{name}.{word}{number}"
            w = self.weight(word + ".weight", out, x.shape[-1] // groups, k)
            b = self.weight(word + ".bias", out) if self.bias("mix") else None
            before = (k - 1) * dilation // (2 if "encoder" in name else 1)
            y = F.conv1d(F.pad(x.T, (before, (k - 1) * dilation - before)),
                         w, b, dilation=dilation, groups=groups).T
            return self.keep(word, y)

        depthwise = mix.get("depthwise", False)
        columns = out * (2 if mix.get("gated", False) else 1)
        if depthwise:
            x = conv(x, "depthwise", d, k, d)
        if not depthwise or mix.get("pointwise", False):
            x = conv(x, "w", columns, 1 if depthwise else k, 1)
        return F.glu(x, -1) if mix.get("gated", False) else x

    def mix(self, x, name, stack):
        mix = self.spec.get("mix", {})
        if mix.get("type", "attention") == "attention":
            return self.attention(x, None, name + ".self_attn", stack)
        if mix["type"] == "recurrent":
            return self.recurrent(x, name + ".recurrent")
        name += ".convolution"
        if mix.get("inner", 0) == 0:
            return self.convolution(x, name, 1, x.shape[-1])
        y = self.convolution(x, name, 1, mix["inner"])
        y = ACT[self.spec.get("activation", "relu")](y)
        return self.convolution(y, name, 2, x.shape[-1])

    def layer(self, x, memory, name, stack):
        place = self.get("norm", "place", "post")
        pre = place == "pre"
        parallel = self.spec.get("parallel", False)
        parts = [("norm1", lambda y: self.mix(y, name, stack))]
        if memory is not None and self.get("attention", "cross", True):
            parts += [("norm3", lambda y: self.attention(
                           y, memory, name + ".cross_attn", stack))]
        if self.spec.get("ffn") != "none":
            parts += [("norm2", lambda y: self.ffn(y, name + ".ffn", stack))]
        if parallel:
            shared = parallel == "shared"
            return x + sum(f(self.norm(x, name + "." + (
                "norm1" if shared else norm))) for norm, f in parts)
        if self.spec.get("residual") == "none":
            for _, f in parts:
                x = f(x)
            return x
        for norm, f in parts:
            scale = name + "." + norm.replace("norm", "scale")
            norm = name + "." + norm
            y = self.scaled(f(self.norm(x, norm) if pre else x), scale)
            x = x + y if pre else self.norm(x + y, norm)
        return x

    def scaled(self, y, name):
        """What is added to the residual stream: LayerScale, and a factor."""
        learned = self.get("residual", "learned", "none")
        if learned != "none":
            size = 1 if learned == "scalar" else y.shape[-1]
            y = y * self.weight(name + ".weight", size, mean=1.0)
        return y * self.get("residual", "scale", 1.0)

    # ------------------------------------------------------------ ends

    def table(self, which):
        tie = self.get("embedding", "tie", [])
        name = which
        if which in tie and len(tie) > 1:
            name = "target" if "target" in tie else "source"
        return self.weight(name + ".weight", 11, BASE["d_model"])

    def front(self, rows):
        """Convolutions over frames, several of which a row has, or the
        patches of an image."""
        kernels = self.get("input", "kernels", [])
        strides = self.get("input", "strides", [1] * len(kernels))
        d = BASE["d_model"]
        if "image" in self.spec["input"]:
            channels, _, width = self.spec["input"]["image"]
            patch = self.spec["input"]["patch"]
            w = self.weight("source.input_projection.weight", d,
                            rows.shape[1]).reshape(d, channels, *patch)
            x = F.conv2d(rows.reshape(1, channels, -1, width), w,
                         self.weight("source.input_projection.bias", d),
                         stride=patch)
            return x[0].flatten(1).T
        if not kernels:
            return self.linear(rows, "source.input_projection", d, True)
        x = rows.reshape(len(rows) * math.prod(strides), -1).T[None]
        for i, (k, stride) in enumerate(zip(kernels, strides)):
            name = f"source.convolution.{i}"
            left = (k - 1) // 2
            w = self.weight(name + ".weight", d, x.shape[1], k)
            x = ACT["gelu"](F.conv1d(F.pad(x, (left, k - 1 - left)), w,
                                     self.weight(name + ".bias", d),
                                     stride=stride))
        return x[0].T

    def distilled(self):
        d = BASE["d_model"]
        if not self.get("input", "distillation_token", False):
            return torch.zeros(0, d, dtype=torch.float64)
        return self.weight("source.distillation_token.weight", d)[None]

    def embed(self, side, data, types):
        stack = "encoder" if side == "source" else "decoder"
        real = self.get("input", "type", "tokens") == "real"
        if real and side == "source":
            x = self.front(data)
            if self.get("input", "class_token", False):
                first = self.weight("source.class_token.weight",
                                    BASE["d_model"])
                x = torch.cat([first[None], self.distilled(), x])
        else:
            scale = self.get("embedding", "scale", "none")
            factor = dict(none=1.0, sqrt_d_model=BASE["d_model"] ** 0.5)
            x = self.table(side)[data] * factor.get(scale, scale)
        x = self.add_positions(x, side)
        if types is not None:
            x = x + self.weight("types.weight", 2, BASE["d_model"])[types]
        if self.get("norm", "embedding", False):
            x = self.norm(x, stack + ".embedding_norm")
        return x

    def stack(self, side, data, types=None, memory=None):
        stack = "encoder" if side == "source" else "decoder"
        x = self.embed(side, data, types)
        for i in range(self.side("N", stack)):
            x = self.layer(x, memory, f"{stack}.{i}", stack)
        final = self.get("norm", "place", "post") == "pre"
        return self.norm(x, stack + ".norm") if final else x

    def logits(self, x, side):
        tied = "logits" in self.get("embedding", "tie", [])
        y = x @ (self.table("logits") if tied else
                 self.weight("logits.weight", 11, BASE["d_model"])).T
        if self.spec.get("bias") and self.get("bias", "logits", False):
            y = y + self.weight("logits.bias", 11)
        y = y * self.get("logits", "scale", 1.0)
        cap = self.get("logits", "softcap", None)
        return cap * torch.tanh(y / cap) if cap else y

    def head(self, x):
        kind = self.get("head", "type", "rows")
        pool = self.get("head", "pool", "class")
        if kind in ("pool", "classify"):
            x = dict(mean=x.mean(0), last=x[-1], max=x.max(0).values)[pool] \
                if pool != "class" else x[0]
            x = x[None]
        if kind == "pool" and self.get("head", "normalize", False):
            x = F.normalize(x, dim=-1)
        if kind in ("classify", "token_classify"):
            x = self.linear(x, "classifier", self.get("head", "classes", 0),
                            True)
        return self.logits(x, "source") if kind == "logits" else x

    def run(self, io):
        memory = None
        if self.kind != "decoder":
            data = io.get("rows", io.get("source"))
            memory = self.stack("source", data.double() if "rows" in io
                                else data.long(),
                                io["types"].long() if "types" in io else None)
            if self.get("attention", "cross", True):
                self.keep("encoder.output", memory)
        if self.kind == "encoder":
            name = "logits" if self.get("head", "type", "") == "logits" \
                else "output"
            self.keep(name, self.head(memory))
            return
        x = self.stack("target", io["target"].long(), memory=memory)
        self.keep("logits", self.logits(x, "target"))


def text_of(name, kind, spec):
    lines = [f"# made by make_torch.py\nattnc: 1\nname: {name}\nkind: {kind}"]
    for key, value in {**BASE, **spec}.items():
        if value is None:
            continue
        lines.append(f"{key}: {json.dumps(value)}")
    lines.append(f"weights: {name}.safetensors")
    return "\n".join(lines) + "\n"


def make(name, kind, spec, seed):
    model = Model(kind, spec, seed)
    n = 12 if "file" in str(spec.get("masking")) else 9
    io = {}
    if kind != "decoder":
        io["source"] = torch.randint(0, 11, (n,), generator=model.rng).int()
    if kind != "encoder":
        io["target"] = torch.randint(0, 11, (8,), generator=model.rng).int()
    if "types" in spec.get("embedding", {}):
        io["types"] = torch.randint(0, 2, (n,), generator=model.rng).int()
    if "input" in spec:
        del io["source"]
        io["rows"] = torch.randn(n, spec["input"]["width"],
                                 generator=model.rng)
    if name == "prefix":
        io["prefix"] = torch.tensor([3], dtype=torch.int32)
    model.run(io)
    (HERE / f"{name}.yaml").write_text(text_of(name, kind, spec))
    save_file(model.weights, HERE / f"{name}.safetensors")
    save_file({**io, **model.out}, HERE / f"{name}.io.safetensors")


def make_mask():
    """Rows of 12 keys; row 5 sees nothing."""
    rng = torch.Generator().manual_seed(1)
    rows = torch.rand(12, 12, generator=rng) < 0.4
    rows[5] = False
    (HERE / "mask_file.txt").write_text("".join(
        "".join("01"[int(x)] for x in row) + "\n" for row in rows))


make_mask()
for seed, case in enumerate(CASES):
    make(*case, seed)
