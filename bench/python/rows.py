"""The programs that compare.py runs. Each function prepares one and returns
run(), which computes an array: rows of work["texts"], or scores of
work["pairs"]. work: folder, threads, texts or pairs."""
import os
import subprocess

import numpy as np

BATCH = 32


def package_attnc(work, **options):
    import attnc
    model = attnc.load(work["folder"], threads=work["threads"], **options)
    if "texts" in work:
        return lambda: model.encode(work["texts"], BATCH)
    return lambda: model.predict(work["pairs"], BATCH)


def sentence_transformers(work, model, encoder):
    """run() of an object of sentence-transformers."""
    import torch
    torch.set_num_threads(work["threads"])
    if "texts" in work:
        return lambda: model.encode(work["texts"], batch_size=BATCH)
    same = torch.nn.Identity()
    return lambda: encoder.predict(work["pairs"], batch_size=BATCH,
                                   activation_fn=same)


def attnc_inside(work):
    from attnc.sentence_transformers import CrossEncoder, SentenceTransformer
    kind = SentenceTransformer if "texts" in work else CrossEncoder
    model = kind(work["folder"], model_kwargs={"threads": work["threads"]})
    return sentence_transformers(work, model, model)


def theirs(work, backend):
    from sentence_transformers import CrossEncoder, SentenceTransformer
    kind = SentenceTransformer if "texts" in work else CrossEncoder
    more = {}
    if backend == "onnx":
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = work["threads"]
        more = {"provider": "CPUExecutionProvider", "export": True,
                "session_options": options}
    elif backend == "openvino":
        more = {"export": True, "ov_config": {
            "INFERENCE_NUM_THREADS": str(work["threads"])}}
    model = kind(work["folder"], device="cpu", backend=backend,
                 model_kwargs=more)
    return sentence_transformers(work, model, model)


def fastembed(work):
    from fastembed.common.model_description import ModelSource, PoolingType
    where = {"sources": ModelSource(hf="local/local"),
             "model_file": "model.onnx"}
    how = {"threads": work["threads"], "specific_model_path": work["folder"]}
    if "texts" in work:
        from fastembed import TextEmbedding
        TextEmbedding.add_custom_model("local", dim=384, normalization=False,
                                       pooling=PoolingType.MEAN, **where)
        model = TextEmbedding("local", **how)
        return lambda: np.array(list(model.embed(work["texts"], BATCH)))
    from fastembed.rerank.cross_encoder import TextCrossEncoder
    TextCrossEncoder.add_custom_model("local", **where)
    model = TextCrossEncoder("local", **how)
    return lambda: np.array(list(model.rerank_pairs(work["pairs"], BATCH)))


def sorted_batches(work, infer):
    """run() of a program that takes padded ids: batches of texts of similar
    length, and the mean of the rows, as sentence-transformers does it.

    infer: from input_ids, attention_mask, token_type_ids [n, tokens] to rows
    [n, tokens, d] or scores [n, 1]
    """
    from tokenizers import Tokenizer
    tokens = Tokenizer.from_file(os.path.join(work["folder"],
                                              "tokenizer.json"))
    tokens.enable_padding()
    given = work.get("texts") or work["pairs"]
    sizes = [len(x) if isinstance(x, str) else len(x[0]) + len(x[1])
             for x in given]

    def run():
        order = np.argsort(sizes, kind="stable")[::-1]
        out = None
        for first in range(0, len(order), BATCH):
            places = order[first:first + BATCH]
            found = tokens.encode_batch([given[i] for i in places])
            ids, mask, types = (np.array([getattr(x, name) for x in found])
                                for name in ("ids", "attention_mask",
                                             "type_ids"))
            y = infer(ids, mask, types)
            if "texts" in work:
                weights = mask[..., None].astype(np.float32)
                y = (y * weights).sum(1) / weights.sum(1)
            if out is None:
                out = np.empty((len(order), y.shape[1]), np.float32)
            out[places] = y
        return out if "texts" in work else out[:, 0]
    return run


def onnxruntime(work, kind):
    import onnxruntime as ort
    path = os.path.join(work["folder"], "model.onnx")
    if kind == "int8":
        from onnxruntime.quantization import QuantType, quantize_dynamic
        to = os.path.join(work["folder"], f"int8.{os.getpid()}.onnx")
        quantize_dynamic(path, to, per_channel=True,
                         weight_type=QuantType.QInt8)
        path = to
    options = ort.SessionOptions()
    options.intra_op_num_threads = work["threads"]
    session = ort.InferenceSession(path, options,
                                   providers=["CPUExecutionProvider"])
    return sorted_batches(work, lambda ids, mask, types: session.run(None, {
        "input_ids": ids, "attention_mask": mask, "token_type_ids": types})[0])


def openvino(work, kind):
    import openvino as ov
    model = ov.convert_model(os.path.join(work["folder"], "model.onnx"))
    if kind == "int8":
        import nncf
        model = nncf.compress_weights(
            model, mode=nncf.CompressWeightsMode.INT8_SYM)
    compiled = ov.Core().compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": work["threads"],
        "PERFORMANCE_HINT": "LATENCY",
        **({} if kind == "int8" else {"INFERENCE_PRECISION_HINT": "f32"})})
    return sorted_batches(
        work, lambda *feeds: compiled(list(feeds))[0])


def emitted(work, **options):
    """The C that attnc compile writes, as a shared library: one text a call,
    on one thread."""
    import ctypes

    import attnc
    if work["threads"] > 1:
        raise RuntimeError("its calls of one text use one thread")
    stem = os.path.join(work["folder"], f"emitted{os.getpid()}")
    attnc.compile(work["folder"], stem + ".c", set={"name": "m", **options},
                  quiet=True)
    subprocess.run([os.environ.get("CC", "clang-19").split()[-1], "-O2",
                    "-std=c11", "-march=native", "-fPIC", "-shared", "-o",
                    stem + ".so", stem + ".c", "-lm"], check=True)
    so = ctypes.CDLL(stem + ".so")
    so.m_open.restype, so.m_error.restype = ctypes.c_void_p, ctypes.c_char_p
    h = ctypes.c_void_p(so.m_open((stem + ".weights").encode(), None))
    if wrong := so.m_error(h):
        raise RuntimeError(wrong.decode())
    call = so.m_embed if "texts" in work else so.m_embed_pair
    call.restype = ctypes.c_int64
    columns = 384 if "texts" in work else 1
    given = [[x] if isinstance(x, str) else x
             for x in work.get("texts") or work["pairs"]]
    given = [[y for text in x for y in (text.encode(), ctypes.c_int64(-1))]
             for x in given]
    out = np.empty((len(given), columns), np.float32)

    def run():
        for x, row in zip(given, out):
            if call(h, *x, ctypes.c_void_p(row.ctypes.data)) < 0:
                raise RuntimeError(so.m_error(h).decode())
        return out if columns > 1 else out[:, 0]
    return run


ROWS = {
    "attnc f32": package_attnc,
    "attnc int8": lambda work: package_attnc(work, dtype="int8"),
    "attnc int8, integer products": lambda work: package_attnc(
        work, dtype="int8", set={"arithmetic": "int8"}),
    "attnc in sentence-transformers": attnc_inside,
    "attnc, emitted C f32": emitted,
    "sentence-transformers torch": lambda work: theirs(work, "torch"),
    "sentence-transformers onnx": lambda work: theirs(work, "onnx"),
    "sentence-transformers openvino": lambda work: theirs(work, "openvino"),
    "fastembed": fastembed,
    "ONNX Runtime f32": lambda work: onnxruntime(work, "f32"),
    "ONNX Runtime int8": lambda work: onnxruntime(work, "int8"),
    "OpenVINO f32": lambda work: openvino(work, "f32"),
    "OpenVINO int8": lambda work: openvino(work, "int8"),
}
