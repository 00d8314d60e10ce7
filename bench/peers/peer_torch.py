"""PyTorch: eager with scaled_dot_product_attention, the fast path of
nn.TransformerEncoder (nested tensors where lengths differ), torch.compile. In
bf16 the weights and all activations are: that is faster than autocast, which
rounds the weights in each call."""
import torch

import torch_decoder
import torch_model
import workloads


def version(work):
    return torch.__version__


def encoder_run(work, variant):
    weights = workloads.weights(work)
    ids, padding = workloads.padded(work)
    tokens = torch.from_numpy(ids)
    if variant == "nested":
        model = torch_model.Nested(work, weights).eval()
        mask = None if padding is None else torch.from_numpy(padding)
    else:
        model = torch_model.compiled_form(work, weights)
        mask = workloads.added_mask(padding)
        mask = None if mask is None else torch.from_numpy(mask)
    model.requires_grad_(False)
    if variant.endswith("-bf16"):
        model.bfloat16()
        mask = None if mask is None else mask.bfloat16()
    if variant.startswith("compile"):
        model = torch.compile(model)
    if work["kind"] == "embed":
        return workloads.of_texts(work, lambda ids: model(
            torch.from_numpy(ids)).float().numpy())
    return (lambda: model(tokens, mask),
            lambda y: workloads.real_rows(y.float(), padding))


def attention_run(work):
    q, k, v = [torch.from_numpy(x)[None] for x in workloads.heads_input(work)]

    def run():
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=work["causal"])
    return run, lambda y: y[0].transpose(0, 1).reshape(work["n"], -1).numpy()


def decoder_run(work):
    """The prompt at once, or steps after it."""
    model, prompt, ids = torch_decoder.inputs(work)
    with torch.inference_mode():
        past = model(prompt)[1:]

    def steps():
        kept = past
        for i in range(len(ids)):
            logits, *kept = model(ids[i:i + 1], *kept)
        return logits
    return ((lambda: model(prompt)[0]) if work["part"] == "prefill" else steps,
            lambda y: y.numpy())


def prepare(work, variant):
    torch.set_num_threads(work["threads"])
    if work["kind"] == "attention":
        run, result = attention_run(work)
    elif work["kind"] == "llama":
        run, result = decoder_run(work)
    else:
        run, result = encoder_run(work, variant)

    def inference():
        with torch.inference_mode():
            return run()
    inference()
    return inference, result
