"""ONNX Runtime: the model as it was exported, or with its attention and norms
fused by the optimiser for Transformers, whichever is faster here; in f32, or in
int8 with scales of activations found as they come."""
import functools
import os

import onnxruntime

import export_onnx
import workloads


def version(work):
    return onnxruntime.__version__


def fused(work, path):
    from onnxruntime.transformers import optimizer
    model = optimizer.optimize_model(
        path, model_type="bert", num_heads=work["h"], hidden_size=work["d"],
        opt_level=1)
    out = os.path.join(work["folder"], f"fused.{os.getpid()}.onnx")
    model.save_model_to_file(out)
    return out


def in_int8(path):
    """Symmetric, a scale a column: as fast as one for all, and loses less. The
    quantiser writes beside a path that it is given; others read there."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    out = path.replace(".onnx", f".int8.{os.getpid()}.onnx")
    quantize_dynamic(onnx.load(path), out, per_channel=True,
                     weight_type=QuantType.QInt8,
                     extra_options={"DefaultTensorType": 1})
    return out


def session_run(work, path):
    """By feeds, the first output."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = work["threads"]
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)[0]


def prepare(work, variant):
    feeds, padding = workloads.feeds(work)
    path = export_onnx.encoder(work)
    paths = [path, fused(work, path)]
    if variant == "int8":
        paths = [in_int8(path) for path in paths]
    runs = [session_run(work, path) for path in paths]
    run = runs[workloads.fastest([functools.partial(run, feeds)
                                  for run in runs])]
    if work["kind"] == "embed":
        return workloads.of_texts(work, lambda ids: run({"ids": ids}))
    return lambda: run(feeds), lambda y: workloads.real_rows(y, padding)
