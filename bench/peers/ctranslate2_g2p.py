"""g2p-en in CTranslate2 and in attnc: the same weights, the same source of 32
tokens, 32 greedy steps, one thread, f32. Outputs are compared before times.

CTranslate2's 32 steps are forced by its least and greatest output length, as
attnc's are. The two run in turn, on one core."""
import json
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np

ROWS, STEPS, RUNS, ROUNDS = 32, 32, 20, 7
MODEL = os.path.join(os.path.dirname(__file__), "../../models/g2p-en")


def tokens(name):
    """Of one vocabulary; CTranslate2 wants an unknown token, and the padding
    is never used."""
    with open(os.path.join(MODEL, name), encoding="utf-8") as file:
        return ["<unk>"] + file.read().split("\n")[1:-1]


def positions(n, d):
    rate = 10000.0 ** (np.arange(0, d, 2) / d)
    angle = np.arange(n)[:, None] / rate
    table = np.zeros((n, d))
    table[:, 0::2] = np.sin(angle)
    table[:, 1::2] = np.cos(angle)
    return table.astype(np.float32)


def set_norm(spec, weights, name):
    spec.gamma = weights[name + ".weight"]
    spec.beta = weights[name + ".bias"]


def set_linear(spec, weights, *names):
    """One product of several matrices, stacked."""
    spec.weight = np.concatenate([weights[n + ".weight"] for n in names])
    spec.bias = np.concatenate([weights[n + ".bias"] for n in names])


def set_attention(spec, weights, name, is_self):
    parts = [f"{name}.{p}" for p in "qkvo"]
    groups = [parts[:3], parts[3:]] if is_self else [
        parts[:1], parts[1:3], parts[3:]]
    for linear, group in zip(spec.linear, groups):
        set_linear(linear, weights, *group)


def set_layer(spec, weights, name):
    set_attention(spec.self_attention, weights, name + ".self_attn", True)
    set_norm(spec.self_attention.layer_norm, weights, name + ".norm1")
    if hasattr(spec, "attention"):
        set_attention(spec.attention, weights, name + ".cross_attn", False)
        set_norm(spec.attention.layer_norm, weights, name + ".norm3")
    set_linear(spec.ffn.linear_0, weights, name + ".ffn.w1")
    set_linear(spec.ffn.linear_1, weights, name + ".ffn.w2")
    set_norm(spec.ffn.layer_norm, weights, name + ".norm2")


def make_spec(weights):
    from ctranslate2.specs import Activation, TransformerSpec
    spec = TransformerSpec.from_config(3, 4, pre_norm=False,
                                       activation=Activation.RELU)
    spec.config.layer_norm_epsilon = 1e-5
    spec.encoder.embeddings[0].weight = weights["source.weight"]
    spec.decoder.embeddings.weight = weights["target.weight"]
    spec.decoder.projection.weight = weights["target.weight"]
    for name, side in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        side.position_encodings.encodings = positions(64, 128)
        for i, layer in enumerate(side.layer):
            set_layer(layer, weights, f"{name}.{i}")
    spec.register_source_vocabulary(tokens("letters.txt"))
    spec.register_target_vocabulary(tokens("phones.txt"))
    return spec


def make_translator():
    import ctranslate2
    from safetensors.numpy import load_file
    spec = make_spec(load_file(os.path.join(MODEL, "g2p-en.safetensors")))
    spec.validate()
    spec.optimize()
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        return ctranslate2.Translator(folder, device="cpu", inter_threads=1,
                                      intra_threads=1, compute_type="float32")


def check_words(translator):
    """The real model's greedy answers, so that the weights are known to sit
    where they belong."""
    with open(os.path.join(MODEL, "expected.json"), encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    found = translator.translate_batch(
        [list(c["word"]) + ["</s>"] for c in cases], beam_size=1,
        max_decoding_length=40)
    wrong = [c["word"] for c, f in zip(cases, found)
             if " ".join(f.hypotheses[0]) != c["greedy"]
             and c["greedy_min_gap"] > 1e-3]
    if wrong:
        raise SystemExit(f"CTranslate2 differs from expected.json: {wrong}")


def attnc_run(attnc):
    spec = os.path.join(MODEL, "g2p-en.yaml")
    done = subprocess.run(
        [attnc, "bench", spec, "-p", str(ROWS), "-n", str(STEPS), "-r",
         str(RUNS), "--format", "json"], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def search_times(report):
    """Median and best, in ms."""
    row = next(r for r in report["rows"] if r["workload"] == "search")
    return row["p50_ms"], row["best_ms"]


def translate(translator, source):
    return translator.translate_batch(
        [source], beam_size=1, max_decoding_length=STEPS,
        min_decoding_length=STEPS)[0].hypotheses[0]


def translate_times(translator, source):
    """Median and best, in ms."""
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        translate(translator, source)
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times), min(times)


def summary(rounds):
    """The median of the rounds' medians, and the best of all."""
    return (statistics.median(median for median, _ in rounds),
            min(best for _, best in rounds))


def measure(attnc):
    """The row of the comparison."""
    os.environ["OMP_NUM_THREADS"] = "1"
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    translator = make_translator()
    check_words(translator)
    report = attnc_run(attnc)
    letters, phones = tokens("letters.txt"), tokens("phones.txt")
    source = [letters[i] for i in report["source"]]
    answer = [phones[i] for i in report["answer"]]
    if translate(translator, source) != answer:
        raise SystemExit("attnc and CTranslate2 give different outputs: "
                         f"{answer} {translate(translator, source)}")
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(translate_times(translator, source))
        ours.append(search_times(attnc_run(attnc)))
    return [{"workload": f"g2p-en, source {ROWS}, {STEPS} steps, greedy",
             "attnc": summary(ours), "peer": "CTranslate2 f32",
             "theirs": summary(theirs),
             "machine": f"{report['cpu']}, {report['fma_gflop_per_s']} "
                        "GFLOP/s a core"}]
