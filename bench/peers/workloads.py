"""The seeded weights and inputs that all peers get for a workload."""
import json
import os
import shutil
import subprocess
import time

import numpy as np

from table import WORKLOADS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
WORK = os.path.join(ROOT, "build/peers-work")


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
        if line.startswith("(not used)"):
            continue
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


def text_ids(work):
    """The ids of each text, by the package tokenizers."""
    encode = text_encoder(work)
    return [encode(text)[0] for text in work["texts"]]


def text_encoder(work):
    """From a text to its ids [1, n]."""
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(
        os.path.join(ROOT, work["checkpoint"], "tokenizer.json"))
    tokenizer.no_padding()

    def encode(text):
        return np.array([tokenizer.encode(text).ids], np.int64)
    return encode


def of_texts(work, model):
    """A run of all texts, one after the other, and its rows; model: from ids
    [1, n] to a row."""
    encode = text_encoder(work)

    def run():
        return [model(encode(text)) for text in work["texts"]]
    return run, np.concatenate


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


def fastest(runs):
    """Which of them, by processor time, in turn, since other peers prepare at
    this time: for two seconds, two rounds at least."""
    times, begin = [[] for _ in runs], time.process_time()
    while len(times[0]) < 2 or time.process_time() - begin < 2:
        for run, mine in zip(runs, times):
            from_ = time.process_time()
            run()
            mine.append(time.process_time() - from_)
    return min(range(len(runs)), key=lambda i: min(times[i]))


def write(work, attnc):
    """The workload as a file that the peers read. Returns its path."""
    folder = os.path.join(WORK, work["name"])
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if work["kind"] == "embed":
        work = dict(work, spec=os.path.join(folder, "model.yaml"))
        subprocess.run([attnc, "import", "-o", work["spec"],
                        os.path.join(ROOT, work["checkpoint"])],
                       check=True)
    work = dict(work, attnc=os.path.abspath(attnc), folder=folder,
                weights_file=weights_file(work, attnc),
                names=[(name, stored) for name, _, stored
                       in tensor_names(work, attnc)])
    path = os.path.join(folder, "workload.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(work, file)
    return path


