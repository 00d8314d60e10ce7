"""The encoder as ONNX, which three peers read, made of the PyTorch modules."""
import os

import workloads


def write(work, path):
    """ids, and mask where there is padding, to y."""
    import torch
    import torch_model
    feeds, _ = workloads.feeds(work)
    part = f"{path}.{os.getpid()}"
    with torch.inference_mode():
        torch.onnx.export(
            torch_model.compiled_form(work, workloads.weights(work)),
            tuple(torch.from_numpy(x) for x in feeds.values()), part,
            input_names=list(feeds), output_names=["y"], dynamo=False,
            opset_version=17)
    os.replace(part, path)


def encoder(work):
    """Its path; written by the first peer that wants it."""
    path = os.path.join(work["folder"], "encoder.onnx")
    if not os.path.exists(path):
        write(work, path)
    return path
