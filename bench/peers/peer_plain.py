"""Plain loops in C (plain_encoder.c, plain_decoder.c), built by clang -O3
-march=native; and with -ffast-math, which may reorder sums."""
import ctypes
import os
import subprocess

import numpy as np

import workloads
from peer_attnc import pointer

CC = os.environ.get("CC", "clang-19")
DECODER = ["self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o",
           "norm2", "ffn.w1", "ffn.w3", "ffn.w2"]
ENCODER = ["self_attn.q", "self_attn.k", "self_attn.v", "self_attn.o",
           "norm1", "ffn.w1", "ffn.w2", "norm2"]


def version(work):
    done = subprocess.run([CC, "--version"], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8")
    return "clang " + done.stdout.split("version ")[1].split()[0]


def library(work, source, flags):
    path = os.path.join(work["folder"], f"plain{len(flags)}.so")
    subprocess.run(
        [CC, *flags.split(), "-march=native", "-fPIC", "-shared", "-o", path,
         os.path.join(workloads.HERE, source), "-lm"], check=True)
    return ctypes.CDLL(path)


def prepare_encoder(work, flags):
    weights = workloads.weights(work)
    ids = workloads.sources(work)[0]
    d, n = work["d"], len(ids)
    blob = np.concatenate(
        [x.astype(np.float32).ravel() for x in
         [d ** 0.5 * weights["source.weight"], workloads.positions(n, d)]
         + [weights[f"encoder.{i}.{part}.{end}"]
            for i in range(work["layers"]) for part in ENCODER
            for end in ("weight", "bias")]])
    sizes = np.array([d, work["h"], work["ff"], work["layers"], work["vocab"],
                      n], np.int32)
    calls = library(work, "plain_encoder.c", flags)
    calls.encoder_open(pointer(sizes), ctypes.c_float(work["eps"]),
                       pointer(blob))
    calls.encoder_run.restype = ctypes.POINTER(ctypes.c_float)

    def run():
        return calls.encoder_run(pointer(ids), n), blob
    return run, lambda y: np.ctypeslib.as_array(y[0], (n, d)).copy()


def prepare_story(work, flags):
    weights = workloads.weights(work)
    blob = np.concatenate(
        [weights[name].ravel() for name in
         ["target.weight", "decoder.norm.weight"]
         + [f"decoder.{i}.{part}.weight" for i in range(5)
            for part in ["norm1"] + DECODER]])
    sizes = np.array([64, 8, 4, 172, 5, 512, 512, work["end"]], np.int32)
    answer = np.empty((1, work["steps"]), np.int32)
    calls = library(work, "plain_decoder.c", flags)
    calls.decoder_open(pointer(sizes), pointer(blob))
    prompt = int(workloads.sources(work)[0][0])

    def run():
        calls.decoder_run(1, prompt, work["steps"], pointer(answer))
        return answer, blob
    return run, lambda y: y[0]


def prepare(work, variant):
    make = prepare_story if work["kind"] == "story" else prepare_encoder
    return make(work, variant)
