"""CTranslate2, f32 or int8. The 32 steps are forced by its least and greatest
output length, as attnc's are."""
import json
import os

import ctranslate2
import numpy as np
from ctranslate2.specs import Activation, TransformerSpec

import workloads

MODEL = os.path.join(workloads.ROOT, "models/g2p-en")


def version(work):
    return ctranslate2.__version__


def tokens(work):
    """Of the source and of the target. CTranslate2 wants an unknown token and
    three that it knows; of the padding, the first one, it needs none."""
    if work["model"] == "base":
        names = ["<unk>", "<s>", "</s>"]
        names += [str(i) for i in range(3, work["vocab"])]
        return names, names
    lists = []
    for name in ("letters.txt", "phones.txt"):
        with open(os.path.join(MODEL, name), encoding="utf-8") as file:
            lists.append(["<unk>"] + file.read().split("\n")[1:-1])
    return lists


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


def make_spec(work, weights):
    spec = TransformerSpec.from_config(work["layers"], work["h"],
                                       pre_norm=False,
                                       activation=Activation.RELU)
    spec.config.layer_norm_epsilon = work["eps"]
    target = weights["target.weight"]
    spec.encoder.embeddings[0].weight = weights.get("source.weight", target)
    spec.decoder.embeddings.weight = target
    spec.decoder.projection.weight = target
    table = workloads.positions(64, work["d"])
    for name, side in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        side.position_encodings.encodings = table
        for i, layer in enumerate(side.layer):
            set_layer(layer, weights, f"{name}.{i}")
    source, target = tokens(work)
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    return spec


def make_translator(work, compute_type):
    spec = make_spec(work, workloads.weights(work))
    spec.validate()
    spec.optimize()
    folder = os.path.join(work["folder"], f"ctranslate2.{os.getpid()}")
    os.makedirs(folder, exist_ok=True)
    spec.save(folder)
    return ctranslate2.Translator(
        folder, device="cpu", inter_threads=1, intra_threads=work["threads"],
        compute_type=compute_type)


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
        raise SystemExit(f"differs from expected.json: {wrong}")


def prepare(work, variant):
    translator = make_translator(work, variant)
    if work["model"] == "g2p" and variant == "float32":
        check_words(translator)
    names, target = tokens(work)
    source = [[names[i] for i in ids] for ids in workloads.sources(work)]
    number = {name: i for i, name in enumerate(target)}

    def run():
        return translator.translate_batch(
            source, beam_size=work["beam"], max_batch_size=0,
            max_decoding_length=work["steps"],
            min_decoding_length=work["steps"])

    def result(found):
        return np.array([[number[t] for t in f.hypotheses[0]] for f in found],
                        np.int32)
    return run, result
