"""OpenVINO, from the ONNX model, or from PyTorch's for attention alone and for
decoders. In bf16, by its hint, it rounds weights and activations as it
compiles the model of f32. In int8 there are two, both by NNCF: weights alone,
where activations are rounded as they come, by groups; and scales for all that
products read, from samples, here the inputs that are measured, which is in its
favour.

Its variable for an instruction set is oneDNN's: kernels beside it ask the CPU
themselves, and are denied what is beyond that set. Products in f32 are such."""
import os

import numpy as np
import openvino

import export_onnx
import instructions
import workloads


def version(work):
    return openvino.__version__.split("-")[0]


def group(work):
    """Of activations that share a scale, where the weights alone are int8: the
    default is 32, which loses hardly less and takes a third longer."""
    return 128 if work["d"] % 256 else 256


def compiled(work, model, precision="f32"):
    return openvino.Core().compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": work["threads"],
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": group(work),
        "INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY"})


def limit(isa):
    """To an instruction set, before anything is asked of it."""
    os.environ["ONEDNN_MAX_CPU_ISA"] = instructions.ONEDNN[isa]
    asked = instructions.deny_avx512("libopenvino")
    openvino.Core().get_property("CPU", "FULL_DEVICE_NAME")  # loads the rest
    if not asked or not instructions.deny_avx512("libopenvino"):
        raise SystemExit(f"OpenVINO cannot be limited to {isa}")


def samples(work):
    if work["kind"] != "embed":
        return [workloads.feeds(work)[0]]
    encode = workloads.text_encoder(work)
    return [{"ids": encode(text)} for text in work["texts"]]


def encoder(work, variant):
    """In f32, or in what the variant says."""
    model = openvino.Core().read_model(export_onnx.encoder(work))
    if variant in ("", "bf16"):
        return model
    import nncf
    if variant == "int8-weights":
        return nncf.compress_weights(model)
    data = samples(work)
    return nncf.quantize(model, nncf.Dataset(data), subset_size=len(data),
                         model_type=nncf.ModelType.TRANSFORMER)


def attention_model(work, inputs):
    import torch

    class Attention(torch.nn.Module):
        def forward(self, q, k, v):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=work["causal"])
    example = tuple(torch.from_numpy(x) for x in inputs)
    return openvino.convert_model(Attention(), example_input=example,
                                  input=[x.shape for x in inputs])


def decoder(work):
    """The prompt at once; or steps after it, whose keys and values are the
    model's state, which begins as that of the prompt."""
    from openvino._offline_transformations import (
        apply_make_stateful_transformation as make_stateful)

    import torch_decoder
    model, prompt, ids = torch_decoder.inputs(work)
    first = model(prompt)
    if work["part"] == "prefill":
        made = openvino.convert_model(model, example_input=(prompt,),
                                      input=[prompt.shape])
        request = compiled(work, made).create_infer_request()
        return lambda: request.infer([prompt.numpy()])[0]
    past = first[1:]
    shape = openvino.PartialShape([1, past[0].shape[1], -1, past[0].shape[3]])
    made = openvino.convert_model(model, example_input=(ids[:1], *past),
                                  input=[[1]] + [shape] * len(past))
    for i in range(len(past)):
        made.inputs[1 + i].set_names({f"past{i}"})
        made.outputs[1 + i].set_names({f"kept{i}"})
    make_stateful(made, {f"past{i}": f"kept{i}" for i in range(len(past))})
    request = compiled(work, made).create_infer_request()
    begin = {f"past{i}kept{i}": openvino.Tensor(x.numpy())
             for i, x in enumerate(past)}

    def steps():
        for state in request.query_state():
            state.state = begin[state.name]
        for i in range(len(ids)):
            logits = request.infer([ids[i:i + 1].numpy()])[0]
        return logits
    return steps


def prepare(work, variant):
    if "isa" in work:
        limit(work["isa"])
    if work["kind"] == "llama":
        return decoder(work), np.array
    if work["kind"] == "attention":
        feeds = [x[None] for x in workloads.heads_input(work)]
        model = compiled(work, attention_model(work, feeds))

        def result(y):
            return np.array(y[0]).transpose(1, 0, 2).reshape(work["n"], -1)
    else:
        feeds, padding = workloads.feeds(work)
        model = compiled(work, encoder(work, variant),
                         "bf16" if variant == "bf16" else "f32")

        def result(y):
            return workloads.real_rows(y, padding)
    request = model.create_infer_request()
    if work["kind"] == "embed":
        return workloads.of_texts(work, lambda ids: np.array(
            request.infer({"ids": ids})[model.output(0)]))
    return lambda: request.infer(feeds)[model.output(0)], result
