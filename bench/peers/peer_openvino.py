"""OpenVINO, from the ONNX model, or from PyTorch's for attention alone."""
import numpy as np
import openvino

import export_onnx
import workloads


def version(work):
    return openvino.__version__.split("-")[0]


def compiled(work, model):
    return openvino.Core().compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": work["threads"],
        "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"})


def attention_model(work, inputs):
    import torch

    class Attention(torch.nn.Module):
        def forward(self, q, k, v):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=work["causal"])
    example = tuple(torch.from_numpy(x) for x in inputs)
    return openvino.convert_model(Attention(), example_input=example,
                                  input=[x.shape for x in inputs])


def prepare(work, variant):
    if work["kind"] == "attention":
        feeds = [x[None] for x in workloads.heads_input(work)]
        model = compiled(work, attention_model(work, feeds))

        def result(y):
            return np.array(y[0]).transpose(1, 0, 2).reshape(work["n"], -1)
    else:
        feeds, padding = workloads.feeds(work)
        model = compiled(work, export_onnx.encoder(work))

        def result(y):
            return workloads.real_rows(y, padding)
    request = model.create_infer_request()
    if work["kind"] == "embed":
        return workloads.of_texts(work, lambda ids: np.array(
            request.infer({"ids": ids})[model.output(0)]))
    return lambda: request.infer(feeds)[model.output(0)], result
