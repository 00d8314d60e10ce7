"""The workloads: what is computed, by whom, on how many threads; the seeded
weights and inputs that all peers get."""
import json
import os
import shutil
import subprocess

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
WORK = os.path.join(ROOT, "build/peers-work")
STORIES = os.path.join(os.environ.get("ATTNC_DATA", "../shared/data"),
                       "stories260K/model.safetensors")

ENCODER_PEERS = ["onnxruntime", "openvino", "torch", "torch-nested",
                 "torch-compile", "iree", "tinygrad", "plain", "plain-fast"]
PADDED_PEERS = ["onnxruntime", "openvino", "torch", "torch-nested",
                "torch-compile"]


def encoder(name, title, lengths, threads=1, peers=ENCODER_PEERS,
            sizes=(512, 8, 2048, 6)):
    """The encoder of models/transformer-base.yaml, in these sizes: token ids
    in, rows of d_model numbers out."""
    d, h, ff, layers = sizes
    return {
        "name": name, "title": title, "kind": "encoder", "threads": threads,
        "peers": peers, "lengths": [int(n) for n in lengths],
        "spec": "models/transformer-base.yaml",
        "set": f"kind=encoder,d_model={d},h={h},d_k={d // h},d_v={d // h},"
               f"d_ff={ff},N={layers},vocab.size=1000,max_len=128",
        "d": d, "h": h, "ff": ff, "layers": layers, "vocab": 1000,
        "eps": 1e-6, "tolerance": 1e-4,
        "flops": sum(layers * (2 * n * d * (4 * d + 2 * ff) + 4 * n * n * d)
                     for n in map(int, lengths))}


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
        "peers": ["ctranslate2"], "batch": batch, "beam": beam, "steps": 32,
        "lengths": [32] * batch, **sizes}


def llama(part, threads):
    """A prompt of 512 at once, or steps after it: 16 in a run, but `per` says
    that the time of one is reported."""
    return {
        "name": f"llama-{part}-t{threads}",
        "title": "llama 110M, " + {"prefill": "prefill 512",
                                   "step": "one step after 512"}[part]
                 + f", {threads} thread" + "s" * (threads > 1),
        "kind": "llama", "part": part, "threads": threads,
        "peers": ["llamacpp", "llamacpp-f32"],
        "spec": "models/llama-110m.yaml", "set": "",
        "d": 768, "h": 12, "layers": 12, "ff": 2048, "vocab": 32000,
        "prompt": 512, "steps": 16, "per": 16 if part == "step" else 1,
        "tolerance": 1e-3,
        "tolerances": {"llamacpp": 0.1}}


def stories():
    """Greedy, a trained model; ATTNC_DATA names the folder of such."""
    return {
        "name": "stories260K", "title": "stories260K, 200 tokens, greedy",
        "kind": "story", "threads": 1, "peers": ["plain", "plain-fast"],
        "spec": "models/stories260K.yaml", "set": "", "weights": STORIES,
        "batch": 1, "beam": 1, "steps": 200, "lengths": [1], "end": 1}


WORKLOADS = [
    encoder("encoder-128", "encoder base, 1 x 128", [128]),
    encoder("encoder-16", "encoder base, 1 x 16", [16]),
    encoder("encoder-ragged", "encoder base, 32 sentences of 8 to 128, "
            "2 threads", np.random.default_rng(1).integers(8, 129, 32), 2,
            PADDED_PEERS),
    encoder("minilm-32", "MiniLM's sizes, 1 x 32", [32],
            sizes=(384, 12, 1536, 6)),
    encoder("small-16", "small encoder, 1 x 16", [16],
            sizes=(128, 4, 512, 3)),
    encoder("small-64", "small encoder, 1 x 64", [64],
            sizes=(128, 4, 512, 3)),
    *[attention(n, causal) for causal in (False, True)
      for n in (128, 384, 1024, 4096)],
    *[translation(model, batch, beam) for model in ("base", "g2p")
      for batch in (1, 32) for beam in (1, 4)],
    *[llama(part, threads) for threads in (1, 2)
      for part in ("prefill", "step")],
    stories(),
]


def seeded(name, shape, rng):
    """Such that rows stay of size one in any layer."""
    if "norm" in name:
        mean = 1.0 if name.endswith(".weight") else 0.0
        return (mean + 0.1 * rng.standard_normal(shape)).astype(np.float32)
    scale = shape[-1] ** -0.5 if len(shape) == 2 else 0.02
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def tensor_names(work, attnc):
    """(attnc's name, shape, name in the file) of each weight."""
    done = subprocess.run(
        [attnc, "tensors", os.path.join(ROOT, work["spec"])]
        + (["--set", work["set"]] if work["set"] else []),
        check=True, stdout=subprocess.PIPE, encoding="utf-8")
    for line in done.stdout.splitlines()[:-1]:
        name, rest = line.split(None, 1)
        shape, stored = rest.rstrip().rsplit("]", 1)
        yield (name, [int(n) for n in shape.strip("[").split(",")],
               stored.strip())


def weights_file(work, attnc):
    """The path of the workload's weights: the model's own, or seeded ones."""
    from safetensors.numpy import save_file
    if "weights" in work:
        return os.path.join(ROOT, work["weights"])
    names = list(tensor_names(work, attnc))
    if not names:
        return None
    path = os.path.join(WORK, work["name"] + ".safetensors")
    rng = np.random.default_rng(7)
    save_file({stored: seeded(name, shape, rng)
               for name, shape, stored in names}, path)
    return path


def weights(work):
    """By attnc's names."""
    from safetensors.numpy import load_file
    stored = load_file(work["weights_file"])
    return {name: stored[key] for name, key in work["names"]}


def sources(work):
    """Token ids of each sentence."""
    rng = np.random.default_rng(11)
    first = work.get("first", 0)
    if work["kind"] == "story":
        return [np.array([403], np.int32)]
    return [rng.integers(first, work["vocab"], n).astype(np.int32)
            for n in work["lengths"]]


def padded(work):
    """Ids [sentences, longest], and where a token is none; None: nowhere."""
    sentences = sources(work)
    longest = max(work["lengths"])
    ids = np.zeros((len(sentences), longest), np.int64)
    for row, sentence in zip(ids, sentences):
        row[:len(sentence)] = sentence
    padding = np.arange(longest) >= np.array(work["lengths"])[:, None]
    return ids, padding if padding.any() else None


def added_mask(padding):
    """For scores [sentences, heads, rows, keys]."""
    if padding is None:
        return None
    return np.where(padding, np.float32(-1e9), np.float32(0))[:, None, None]


def real_rows(result, padding):
    """Of [sentences, longest, d] those that are no padding."""
    result = np.asarray(result)
    return (result.reshape(-1, result.shape[-1]) if padding is None
            else result[~padding[:, :result.shape[1]]])


def feeds(work):
    """What the ONNX model is fed, by name; and the padding."""
    ids, padding = padded(work)
    arrays = {"ids": ids}
    if padding is not None:
        arrays["mask"] = added_mask(padding)
    return arrays, padding


def onnx_file(work):
    """The encoder's path; written by the first peer that wants it."""
    path = os.path.join(work["folder"], "encoder.onnx")
    if not os.path.exists(path):
        import torch_model
        torch_model.write_onnx(work, path)
    return path


def heads_input(work):
    """q, k, v of an attention, each [h, n, d_k]."""
    rng = np.random.default_rng(13)
    shape = (work["h"], work["n"], work["d"] // work["h"])
    return [rng.standard_normal(shape).astype(np.float32) for _ in range(3)]


def prompt(work):
    """Tokens of the prompt, then those that the steps are given."""
    rng = np.random.default_rng(17)
    n = work["prompt"] + work["steps"]
    return rng.integers(0, work["vocab"], n).astype(np.int32)


def positions(n, d):
    """The sinusoidal table of the paper."""
    rate = 10000.0 ** (np.arange(0, d, 2) / d)
    angle = np.arange(n)[:, None] / rate
    table = np.zeros((n, d))
    table[:, 0::2] = np.sin(angle)
    table[:, 1::2] = np.cos(angle)
    return table.astype(np.float32)


def write(work, attnc):
    """The workload as a file that the peers read. Returns its path."""
    folder = os.path.join(WORK, work["name"])
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    work = dict(work, attnc=os.path.abspath(attnc), folder=folder,
                weights_file=weights_file(work, attnc),
                names=[(name, stored) for name, _, stored
                       in tensor_names(work, attnc)])
    path = os.path.join(folder, "workload.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(work, file)
    return path


