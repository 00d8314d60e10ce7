"""ONNX Runtime: the model as it was exported, or with its attention and norms
fused by the optimiser for Transformers, whichever is faster here."""
import os
import time

import onnxruntime

import torch_model


def version(work):
    return onnxruntime.__version__


def fused(work, path):
    from onnxruntime.transformers import optimizer
    model = optimizer.optimize_model(
        path, model_type="bert", num_heads=work["h"], hidden_size=work["d"],
        opt_level=1)
    out = os.path.join(work["folder"], "fused.onnx")
    model.save_model_to_file(out)
    return out


def session_run(work, path, feeds):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = work["threads"]
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)[0]


def best_of(run, n=5):
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def prepare(work, variant):
    feeds, padding = torch_model.inputs(work)
    path = torch_model.write_onnx(work)
    runs = [session_run(work, p, feeds) for p in (path, fused(work, path))]
    return (min(runs, key=best_of),
            lambda y: torch_model.real_rows(y, padding))
