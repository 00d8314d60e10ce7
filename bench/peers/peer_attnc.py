"""attnc: C that it emits for this machine, or a min_of one, built by clang as
the file's own first comment says, and called in this process."""
import ctypes
import os
import re
import subprocess

import numpy as np

import workloads

FLAGS = ["-O2", "-std=c11", "-ffp-contract=off", "-fPIC", "-shared"]


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def version(work):
    done = subprocess.run([work["attnc"], "--version"], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8")
    return done.stdout.split("\n")[0].replace("attnc ", "", 1)


def emit(work, variant):
    """Path of the C file; beside it the header and the packed weights. A
    variant with `=` is fields of the spec; what attnc says of such that it does
    not know ends this process."""
    path = os.path.join(work["folder"],
                        f"model{re.sub('[^a-z0-9]+', '-', variant)}.c")
    command = [work["attnc"], "compile", "-o", path,
               "--march", work.get("isa", "native")]
    fields = [f for f in (work["set"], variant) if "=" in f]
    if fields:
        command += ["--set", ",".join(fields)]
    if work["weights_file"]:
        command += ["--weights", work["weights_file"]]
    done = subprocess.run(
        command + [os.path.join(workloads.ROOT, work["spec"])],
        stderr=subprocess.PIPE, encoding="utf-8")
    if done.returncode:
        raise SystemExit(done.stderr.split("\n")[0])
    return path


class Handle:
    """The functions of an opened model, as the emitted header has them."""

    def __init__(self, calls, prefix, weights):
        self.calls, self.prefix = calls, prefix
        self.function("open").restype = ctypes.c_void_p
        self.function("error").restype = ctypes.c_char_p
        self.at = ctypes.c_void_p(self.function("open")(weights.encode(),
                                                        None))
        self.check(self.at.value is not None)

    def function(self, name):
        return getattr(self.calls, f"{self.prefix}_{name}")

    def check(self, good):
        wrong = self.function("error")(self.at)
        if wrong or not good:
            raise RuntimeError(wrong.decode())


def library(work, variant):
    """The emitted C with attnc_calls.c, loaded, its weights bound; or, for
    texts, a Handle."""
    source = emit(work, variant)
    stem = source[:-2]
    with open(stem + ".h", encoding="utf-8") as file:
        header = file.read()
    prefix = re.search(r"\b(\w+)_model\(void\)", header).group(1)
    flags = [f"-march={work.get('isa', 'native')}", f'-DHEADER="{stem}.h"',
             f"-DNAME(x)={prefix}_##x"]
    if f"{prefix}_search(" in header:
        flags += ["-DSEARCHES"]
    subprocess.run(
        [os.environ.get("CC", "clang-19"), *FLAGS, *flags, "-o",
         stem + ".so", source, os.path.join(workloads.HERE, "attnc_calls.c"),
         os.path.join(workloads.ROOT, "runtime/base/pool.c"), "-lm",
         "-lpthread"],
        check=True)
    calls = ctypes.CDLL(stem + ".so")
    if work["kind"] == "embed":
        return Handle(calls, prefix, stem + ".weights")
    calls.calls_open.restype = ctypes.c_char_p
    wrong = calls.calls_open(
        (stem + ".weights").encode() if work["weights_file"] else None,
        ctypes.c_int64(work["threads"]))
    if wrong:
        raise RuntimeError(f"model.weights: {wrong.decode()}")
    return calls


def joined(sentences):
    """Ids one after the other, and where each sentence begins."""
    ends = np.cumsum([0] + [len(s) for s in sentences])
    return np.concatenate(sentences), ends.astype(np.int32)


def prepare_encoder(work, calls):
    ids, start = joined(workloads.sources(work))
    output = np.empty((len(ids), work["d"]), np.float32)
    arguments = (ctypes.c_int64(len(start) - 1), pointer(ids), pointer(start),
                 pointer(output))

    def run():
        calls.calls_encode(*arguments)
        return ids, start, output
    return run, lambda result: result[2]


def prepare_embed(work, handle, variant):
    """A call for each text: m_embed(), or m_encode() of its ids."""
    texts = [text.encode() for text in work["texts"]]
    inputs = [(text, ctypes.c_int64(len(text))) for text in texts]
    call = handle.function("embed")
    if variant == "ids":
        ids = [np.array(x, np.int32) for x in workloads.text_ids(work)]
        inputs = [(pointer(x), ctypes.c_int64(len(x))) for x in ids]
        call = handle.function("encode")
    call.restype = ctypes.c_int64
    output = np.empty((len(texts), work["d"]), np.float32)
    arguments = [(handle.at, *x, pointer(row)) for x, row in zip(inputs,
                                                                 output)]

    def run():
        rows = sum([call(*x) for x in arguments])
        handle.check(rows == len(texts))
        return inputs, output
    return run, lambda result: result[1]


def prepare_attention(work, calls):
    q, k, v = [np.ascontiguousarray(x.transpose(1, 0, 2)).reshape(
        work["n"], work["d"]) for x in workloads.heads_input(work)]
    output = np.empty_like(q)
    arguments = (ctypes.c_int64(work["n"]), pointer(q), pointer(k),
                 pointer(v), pointer(output))

    def run():
        calls.calls_attention(*arguments)
        return q, k, v, output
    return run, lambda result: result[3]


def prepare_search(work, calls):
    ids, start = joined(workloads.sources(work))
    sentences, steps = len(start) - 1, work["steps"]
    answers = np.empty((sentences, steps), np.int32)
    arguments = (ctypes.c_int64(work["beam"]), ctypes.c_int64(steps),
                 ctypes.c_int64(sentences), pointer(ids), pointer(start),
                 pointer(answers))

    def run():
        if calls.calls_generate(*arguments) != 0:
            raise RuntimeError("the search did not come to its end")
        return ids, start, answers
    return run, lambda result: result[2]


def prepare_llama(work, calls):
    ids, prompt = workloads.prompt(work), work["prompt"]
    logits = np.empty(work["vocab"], np.float32)

    def decode(past, rows):
        calls.calls_decode(ctypes.c_int64(past), ctypes.c_int64(rows),
                           pointer(ids[past:]), pointer(logits))

    def prefill():
        decode(0, prompt)
        return logits

    def steps():
        for past in range(prompt, len(ids)):
            decode(past, 1)
        return logits
    prefill()
    return (prefill if work["part"] == "prefill" else steps), np.array


def prepare(work, variant):
    if work["kind"] == "embed":
        return prepare_embed(work, library(work, variant), variant)
    kinds = {"encoder": prepare_encoder, "attention": prepare_attention,
             "translation": prepare_search, "story": prepare_search,
             "llama": prepare_llama}
    return kinds[work["kind"]](work, library(work, variant))
