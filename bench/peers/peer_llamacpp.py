"""llama.cpp by llama-cpp-python (built for this CPU), the model as GGUF with
weights in f32, or as its own quantiser makes it of that. By itself it keeps
keys and values in f16, and its attention computes with these, flash or not,
whichever is faster here; the variant f32 does neither. Its rotary positions
turn pairs, so rows of q and k change places as its own converter lets them."""
import os

import gguf
import llama_cpp as llama
import numpy as np

import workloads

PARTS = {"attn_norm": "norm1", "attn_q": "self_attn.q",
         "attn_k": "self_attn.k", "attn_v": "self_attn.v",
         "attn_output": "self_attn.o", "ffn_norm": "norm2",
         "ffn_gate": "ffn.w1", "ffn_up": "ffn.w3", "ffn_down": "ffn.w2"}


def version(work):
    return llama.__version__


def paired(weight, h):
    """Row i and i + d_k/2 of a head become 2 i and 2 i + 1."""
    rows = weight.reshape(h, 2, weight.shape[0] // h // 2, weight.shape[1])
    return np.ascontiguousarray(rows.swapaxes(1, 2)).reshape(weight.shape)


# By variant: the quantiser's type, and whether that is of all tensors.
TYPES = {"q8_0": (llama.LLAMA_FTYPE_MOSTLY_Q8_0, False),
         "q4_0": (llama.LLAMA_FTYPE_MOSTLY_Q4_0, False),
         "q4_0-all": (llama.LLAMA_FTYPE_MOSTLY_Q4_0, True)}


def write_gguf(work):
    path = os.path.join(work["folder"], f"model.{os.getpid()}.gguf")
    weights, d, h = workloads.weights(work), work["d"], work["h"]
    h_kv = work.get("h_kv", h)
    file = gguf.GGUFWriter(path, "llama")
    file.add_context_length(1024)
    file.add_embedding_length(d)
    file.add_block_count(work["layers"])
    file.add_feed_forward_length(work["ff"])
    file.add_head_count(h)
    file.add_head_count_kv(h_kv)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_dimension_count(d // h)
    file.add_vocab_size(work["vocab"])
    file.add_tokenizer_model("no_vocab")
    file.add_tensor("token_embd.weight", weights["target.weight"])
    file.add_tensor("output_norm.weight", weights["decoder.norm.weight"])
    for i in range(work["layers"]):
        for theirs, ours in PARTS.items():
            weight = weights[f"decoder.{i}.{ours}.weight"]
            if theirs in ("attn_q", "attn_k"):
                weight = paired(weight, h if theirs == "attn_q" else h_kv)
            file.add_tensor(f"blk.{i}.{theirs}.weight", weight)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path


def model_file(work, variant):
    """Its path, of this process alone; in the variant's type."""
    path = write_gguf(work)
    if variant not in TYPES:
        return path
    out = f"{path}.{variant}"
    options = llama.llama_model_quantize_default_params()
    options.ftype, options.pure = TYPES[variant]
    options.nthread = 1
    if llama.llama_model_quantize(path.encode(), out.encode(), options):
        raise RuntimeError("llama_model_quantize failed")
    os.remove(path)
    return out


def open_model(work, variant):
    llama.llama_backend_init()
    path = model_file(work, variant)
    model = llama.llama_model_load_from_file(
        path.encode(), llama.llama_model_default_params())
    os.remove(path)              # it is mapped
    return model


def open_context(work, model, flash, variant):
    options = llama.llama_context_default_params()
    options.n_ctx = 1024
    options.n_batch = options.n_ubatch = work["prompt"]
    options.flash_attn_type = flash
    if variant == "f32":
        options.type_k = options.type_v = llama.GGML_TYPE_F32
    options.n_threads = options.n_threads_batch = work["threads"]
    return llama.llama_init_from_model(model, options)


def runner(work, context):
    """The run of the workload's part, after the prompt."""
    memory = llama.llama_get_memory(context)
    ids, prompt = workloads.prompt(work), work["prompt"]

    def decode(some):
        tokens = (llama.llama_token * len(some))(*some)
        batch = llama.llama_batch_get_one(tokens, len(some))
        if llama.llama_decode(context, batch) != 0:
            raise RuntimeError("llama_decode failed")
        return llama.llama_get_logits(context)

    def prefill():
        llama.llama_memory_clear(memory, False)
        return decode(ids[:prompt])

    def steps():
        llama.llama_memory_seq_rm(memory, 0, prompt, -1)
        for i in ids[prompt:]:
            logits = decode([i])
        return logits
    prefill()
    return prefill if work["part"] == "prefill" else steps


def prepare(work, variant):
    model = open_model(work, variant)
    kinds = [llama.LLAMA_FLASH_ATTN_TYPE_DISABLED]
    if variant != "f32":
        kinds += [llama.LLAMA_FLASH_ATTN_TYPE_AUTO]
    contexts = [open_context(work, model, kind, variant) for kind in kinds]
    runs = [runner(work, context) for context in contexts]
    at = workloads.fastest(runs)
    for i, context in enumerate(contexts):
        if i != at:
            llama.llama_free(context)
    return (runs[at],
            lambda y: np.ctypeslib.as_array(y, (work["vocab"],)).copy())
