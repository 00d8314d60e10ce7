"""Makes gguf/: tiny models as llama.cpp's converter writes them, by PyPI's gguf
package, and what transformers computes of the same weights.

    make families-golden                    with the folders beside it

NAME.gguf              tensors and metadata; NAME.json has inputs and results

A quantised tensor is put back by gguf's own dequantize before the model runs.
Rows of the heads of queries and keys of a llama stand in pairs there, as its
converter puts them; norms of a gemma have 1 added.
"""
import io
import json
import pathlib
import sys

import gguf
import numpy
import sentencepiece
import tokenizers
import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import golden  # noqa: E402

OUT = golden.HERE / "gguf"
TYPES = gguf.GGMLQuantizationType
TEXT = """The encoder maps an input sequence of symbol representations to a
sequence of continuous representations. Given these, the decoder then generates
an output sequence of symbols one element at a time. At each step the model is
auto-regressive, consuming the previously generated symbols as additional input
when generating the next. 1234 5678 don't it's we'll"""
LINES = ["The encoder maps the input.", " two  spaces", "don't 1234",
         "n\u00e4chste Stra\u00dfe \U0001f600", "a\tb"]

# What follows the name of a layer, here and there.
NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm"}
OUTSIDE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm",
           "lm_head": "output"}

WORDS = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=16, rms_norm_eps=1e-3)


def name_of(name):
    stem, kind = name.rsplit(".", 1)
    if stem in OUTSIDE:
        return f"{OUTSIDE[stem]}.{kind}"
    _, _, layer, rest = stem.split(".", 3)
    return f"blk.{layer}.{NAMES[rest]}.{kind}"


def permuted(x, heads):
    """Column i of the first half of a head beside column i of the second."""
    parts = x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:])
    return parts.swapaxes(1, 2).reshape(x.shape)


def arranged(arch, config, name, x):
    if arch == "llama" and ".q_proj." in name:
        return permuted(x, config.num_attention_heads)
    if arch == "llama" and ".k_proj." in name:
        return permuted(x, config.num_key_value_heads)
    if arch == "gemma" and name.endswith("norm.weight"):
        return x + numpy.float32(1)
    return x


def put_tensor(writer, name, x, kind):
    if x.ndim < 2:
        kind = TYPES.F32
    writer.add_tensor(name, gguf.quants.quantize(x, kind), raw_dtype=kind)


def rounded(x, kind):
    """What a reader finds of put_tensor, in the order of transformers: blocks
    are within a row, so an order of rows changes nothing."""
    if x.ndim < 2:
        return x
    return gguf.quants.dequantize(gguf.quants.quantize(x, kind), kind
                                  ).reshape(x.shape)


def put_config(writer, config, kind):
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    writer.add_file_type(kind)
    if config.model_type == "gemma":
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    else:
        writer.add_rope_dimension_count(config.hidden_size
                                        // config.num_attention_heads)


def pieces(prefix):
    """A vocabulary of SentencePiece with a piece for each byte, as Llama's and
    Gemma's: no character is changed, no space goes."""
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT.split("\n")), model_writer=made,
        vocab_size=312, model_type="bpe", byte_fallback=True,
        character_coverage=1.0, hard_vocab_limit=False, minloglevel=2,
        normalization_rule_name="identity", add_dummy_prefix=prefix,
        remove_extra_whitespaces=False)
    return sentencepiece.SentencePieceProcessor(model_proto=made.getvalue())


def put_pieces(writer, model, prefix):
    n = range(model.vocab_size())
    kind = [2 if model.is_unknown(i) else 3 if model.is_control(i)
            else 6 if model.is_byte(i) else 1 for i in n]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([model.id_to_piece(i) for i in n])
    writer.add_token_scores([model.get_score(i) for i in n])
    writer.add_token_types(kind)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    if not prefix:
        writer.add_add_space_prefix(False)
    return [[1] + model.encode(line) for line in LINES]


def merges(pattern):
    """A byte-level BPE with one special token behind it."""
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    pre = tokenizers.pre_tokenizers
    model.pre_tokenizer = pre.Sequence([
        pre.Split(tokenizers.Regex(pattern), "isolated"),
        pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    model.normalizer = tokenizers.normalizers.NFC()
    model.train_from_iterator(TEXT.split("\n"), tokenizers.trainers.BpeTrainer(
        vocab_size=276, show_progress=False, special_tokens=["<|endoftext|>"],
        initial_alphabet=pre.ByteLevel.alphabet()))
    return model


QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def put_merges(writer, model):
    words = json.loads(model.to_str())["model"]
    tokens = sorted(words["vocab"], key=words["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if t == "<|endoftext|>" else 1 for t in tokens])
    writer.add_token_merges([" ".join(m) if isinstance(m, list) else m
                             for m in words["merges"]])
    writer.add_eos_token_id(0)
    writer.add_add_bos_token(False)
    return [model.encode(line).ids for line in LINES]


def make(name, arch, kind, stem, theta, **words):
    qwen, prefix = arch.startswith("qwen"), arch != "gemma"
    texts = merges(QWEN2) if qwen else pieces(prefix)
    size = texts.get_vocab_size() if qwen else texts.vocab_size()
    family = golden.Family(
        name, f"{stem}ForCausalLM", f"{stem}Config",
        {**WORDS, "vocab_size": size, **words}, golden.decoder,
        {"rope_theta": theta, "rope_type": "default"}, lengths=(1, 3, 9))
    config = golden.config_of(family)
    model = getattr(transformers, family.model)(config)
    golden.randomize(family, model)
    model = model.eval()
    writer = gguf.GGUFWriter(OUT / f"{name}.gguf", arch)
    put_config(writer, config, kind)
    lines = (put_merges(writer, texts) if qwen
             else put_pieces(writer, texts, prefix))
    with torch.no_grad():
        for key, x in model.state_dict().items():
            if key == "lm_head.weight" and config.tie_word_embeddings:
                continue
            put_tensor(writer, name_of(key),
                       arranged(arch, config, key, x.numpy()), kind)
            x.copy_(torch.from_numpy(rounded(x.numpy(), kind)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    expected = family.record(family, model)
    expected["texts"] = [{"text": t, "ids": i} for t, i in zip(LINES, lines)]
    (OUT / f"{name}.json").write_text(golden.compact(expected))
    print(name, (OUT / f"{name}.gguf").stat().st_size)


def main():
    transformers.logging.set_verbosity_error()
    OUT.mkdir(exist_ok=True)
    make("llama-q8_0", "llama", TYPES.Q8_0, "Llama", 10000.0)
    make("llama-q4_0", "llama", TYPES.Q4_0, "Llama", 500000.0)
    make("qwen2-bf16", "qwen2", TYPES.BF16, "Qwen2", 1000000.0)
    make("gemma-f16", "gemma", TYPES.F16, "Gemma", 10000.0, head_dim=12,
         num_key_value_heads=1)


if __name__ == "__main__":
    main()
