"""Makes gguf/: tiny models as llama.cpp's converter writes them, by PyPI's gguf
package, and what transformers computes of the same weights.

    make families-golden                    with the folders beside it
    python gguf_files.py llama phi3         those whose names begin so

NAME.gguf              tensors and metadata; NAME.json has inputs and results

A quantised tensor is put back by gguf's own dequantize before the model runs.
Rows of the heads of queries and keys of a llama stand in pairs there, as its
converter puts them; norms of a gemma have 1 added; factors of wavelengths are
tensors. Names of tensors are those of gguf's own map.
"""
import io
import json
import math
import pathlib
import sys
import tempfile

import gguf
import numpy
import sentencepiece
import tokenizers
import torch
import transformers
from sentencepiece import sentencepiece_model_pb2

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import encoders  # noqa: E402
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

WORDS = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=16, rms_norm_eps=1e-3)
# A conversation as Llama 3 has it.
CHAT = ("{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + "
        "m['role'] + '<|end_header_id|>\n\n' + m['content'] | trim + "
        "'<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}{{ "
        "'<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}")
TURNS = [{"role": "user", "content": " Hello "},
         {"role": "assistant", "content": "A"},
         {"role": "user", "content": "Who?"}]


# ---------------------------------------------------------------- tensors ---
def permuted(x, heads):
    """Column i of the first half of a head beside column i of the second."""
    parts = x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:])
    return parts.swapaxes(1, 2).reshape(x.shape)


def arranged(arch, config, name, x):
    if arch == "gpt2" and x.ndim == 2 and ".h." in name:
        return x.T.copy()
    if arch == "bert" and ".position_embeddings." in name:
        return x[config.max_position_embeddings - rows_of(config):]
    pairs = arch in ("llama", "granite")
    if pairs and ".q_proj." in name:
        return permuted(x, config.num_attention_heads)
    if pairs and ".k_proj." in name:
        return permuted(x, config.num_key_value_heads)
    if arch == "gemma" and name.endswith("norm.weight"):
        return x + numpy.float32(1)
    return x


def rows_of(config):
    """Of the table of positions, without those that RoBERTa skips."""
    skipped = config.pad_token_id + 1 if config.model_type != "bert" else 0
    return config.max_position_embeddings - skipped


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


def put_tensors(writer, model, config, arch, kind):
    number = {v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}[arch]
    names = gguf.get_tensor_name_map(number, config.num_hidden_layers)
    with torch.no_grad():
        for key, x in model.state_dict().items():
            name = names.get_name(key, try_suffixes=(".weight", ".bias"))
            if key == "lm_head.weight" and config.tie_word_embeddings:
                continue
            if x.dtype != torch.float32:
                continue
            put_tensor(writer, name, arranged(arch, config, key, x.numpy()),
                       kind)
            x.copy_(torch.from_numpy(rounded(x.numpy(), kind)))


# --------------------------------------------------------------- metadata ---
def put_config(writer, config, kind):
    bert = config.model_type in ("bert", "xlm-roberta")
    eps = getattr(config, "rms_norm_eps", None)
    rope = getattr(config, "rope_parameters", None)
    writer.add_context_length(rows_of(config) if bert
                              else config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(getattr(config, "n_inner", None)
                                   or config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_file_type(kind)
    if eps:
        writer.add_layer_norm_rms_eps(eps)
    else:
        writer.add_layer_norm_eps(
            getattr(config, "norm_epsilon", None)
            or getattr(config, "layer_norm_epsilon", None)
            or config.layer_norm_eps)
    if bert:
        writer.add_causal_attention(False)
        writer.add_token_type_count(config.type_vocab_size)
        writer.add_pooling_type(POOLS[getattr(config, "pool", "none")])
    if config.model_type == "granite":
        writer.add_attention_scale(config.attention_multiplier)
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_logit_scale(config.logits_scaling)
    if config.model_type == "stablelm":
        writer.add_parallel_residual(config.use_parallel_residual)
    if config.model_type == "cohere":
        writer.add_logit_scale(config.logit_scale)
    if not rope:
        return
    writer.add_vocab_size(config.vocab_size)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(rope["rope_theta"])
    if config.model_type in ("gemma", "qwen3"):
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    else:
        part = rope.get("partial_rotary_factor", 1)
        writer.add_rope_dimension_count(int(
            part * config.hidden_size // config.num_attention_heads))
    if config.model_type in ("phi3", "starcoder2") and config.sliding_window:
        writer.add_sliding_window(config.sliding_window)
    if rope["rope_type"] == "longrope":
        original = rope["original_max_position_embeddings"]
        scale = config.max_position_embeddings / original
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(
            math.sqrt(1 + math.log(scale) / math.log(original)))
        for which in ("long", "short"):
            writer.add_tensor(f"rope_factors_{which}.weight", numpy.array(
                rope[f"{which}_factor"], dtype=numpy.float32))


def put_factors(writer, config):
    """Llama 3's, one for each pair of columns, which divides its frequency."""
    rope = getattr(config, "rope_parameters", None) or {"rope_type": "none"}
    if rope["rope_type"] != "llama3":
        return
    pairs = config.hidden_size // config.num_attention_heads // 2
    original = rope["original_max_position_embeddings"]
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    factors = []
    for i in range(pairs):
        length = 2 * math.pi * rope["rope_theta"] ** (i / pairs)
        smooth = (original / length - low) / (high - low)
        smooth = min(max(smooth, 0), 1)
        factors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    writer.add_tensor("rope_freqs.weight",
                      numpy.array(factors, dtype=numpy.float32))


# -------------------------------------------------------------- tokenizer ---
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


QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIAL = {"qwen2": ["<|endoftext|>"],
           "llama-bpe": ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>",
                         "<|start_header_id|>", "<|end_header_id|>"]}


def merges(pre):
    """A byte-level BPE with special tokens before all else."""
    special = SPECIAL[pre]
    pattern = (QWEN2 if pre == "qwen2"
               else QWEN2.replace(r"\p{N}|", r"\p{N}{1,3}|", 1))
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    parts = tokenizers.pre_tokenizers
    model.pre_tokenizer = parts.Sequence([
        parts.Split(tokenizers.Regex(pattern), "isolated"),
        parts.ByteLevel(add_prefix_space=False, use_regex=False)])
    if pre == "qwen2":
        model.normalizer = tokenizers.normalizers.NFC()
    model.train_from_iterator(TEXT.split("\n"), tokenizers.trainers.BpeTrainer(
        vocab_size=275 + len(special), show_progress=False,
        special_tokens=special, initial_alphabet=parts.ByteLevel.alphabet()))
    return model


def put_merges(writer, model, pre):
    words = json.loads(model.to_str())["model"]
    tokens = sorted(words["vocab"], key=words["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([3 if t in SPECIAL[pre] else 1 for t in tokens])
    writer.add_token_merges([" ".join(m) if isinstance(m, list) else m
                             for m in words["merges"]])
    begins = pre == "llama-bpe"
    if begins:
        writer.add_bos_token_id(0)
        writer.add_chat_template(CHAT)
        writer.add_eot_token_id(2)
    else:
        writer.add_add_bos_token(False)
    writer.add_eos_token_id(int(begins))
    return [begins * [0] + model.encode(line).ids for line in LINES]


def word_pieces():
    """BERT's, of small letters."""
    model = tokenizers.Tokenizer(tokenizers.models.WordPiece(
        unk_token="[UNK]"))
    model.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    model.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    model.train_from_iterator(
        [*TEXT.split("\n"), "na chste stra\u00dfe"],
        tokenizers.trainers.WordPieceTrainer(
            vocab_size=110, show_progress=False, special_tokens=special))
    return model


def put_words(writer, model):
    """With a space's mark where a word begins, in the place of ##."""
    tokens = sorted(model.get_vocab(), key=model.get_vocab().get)
    kind = [3 if t.startswith("[") and t.endswith("]") and len(t) > 2 else 1
            for t in tokens]
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([t if k == 3 else t[2:] if t.startswith("##")
                           else "\u2581" + t for t, k in zip(tokens, kind)])
    writer.add_token_types(kind)
    writer.add_pad_token_id(0)
    writer.add_unk_token_id(1)
    writer.add_sep_token_id(3)
    writer.add_mask_token_id(4)
    writer.add_uint32("tokenizer.ggml.cls_token_id", 2)
    return [[2] + model.encode(line).ids + [3] for line in LINES]


RULES = "E4\t61\nDF\t73 73\nFB01\t66 69\n"  # a umlaut, sharp s, fi


def unigram():
    """A vocabulary of SentencePiece as XLM-RoBERTa's, with a small map of
    characters."""
    made = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        rules.write(RULES)
        rules.flush()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXT.split("\n")), model_writer=made,
            vocab_size=70, model_type="unigram", hard_vocab_limit=False,
            minloglevel=2, normalization_rule_tsv=rules.name)
    return made.getvalue()


def put_unigram(writer, proto):
    """Ids as fairseq has them: four special tokens, then the pieces."""
    model = sentencepiece.SentencePieceProcessor(model_proto=proto)
    rules = sentencepiece_model_pb2.ModelProto.FromString(
        proto).normalizer_spec
    n = range(3, model.vocab_size())
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(["<s>", "<pad>", "</s>", "<unk>"]
                          + [model.id_to_piece(i) for i in n] + ["<mask>"])
    writer.add_token_scores([0.0] * 4 + [model.get_score(i) for i in n]
                            + [0.0])
    writer.add_token_types([3, 3, 3, 2] + [1 for i in n] + [3])
    writer.add_add_space_prefix(rules.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(rules.remove_extra_whitespaces)
    writer.add_precompiled_charsmap(rules.precompiled_charsmap)
    for i, put in enumerate((writer.add_bos_token_id, writer.add_pad_token_id,
                             writer.add_eos_token_id,
                             writer.add_unk_token_id)):
        put(i)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    return [[0] + [i + 1 if i else 3 for i in model.encode(line)] + [2]
            for line in LINES]


def conversation():
    """TURNS by the template, as transformers has it."""
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=merges("llama-bpe"), chat_template=CHAT,
        bos_token="<|begin_of_text|>")
    return tokenizer.apply_chat_template(TURNS, tokenize=False,
                                         add_generation_prompt=True)


def texts_of(tokens, arch):
    """A tokenizer, its ids, and what writes it."""
    if tokens in SPECIAL:
        model = merges(tokens)
        return model.get_vocab_size(), lambda w: put_merges(w, model, tokens)
    if tokens == "pieces":
        model = pieces(arch != "gemma")
        return model.vocab_size(), lambda w: put_pieces(w, model,
                                                        arch != "gemma")
    if tokens == "words":
        model = word_pieces()
        return model.get_vocab_size(), lambda w: put_words(w, model)
    if tokens == "unigram":
        proto = unigram()
        model = sentencepiece.SentencePieceProcessor(model_proto=proto)
        return model.vocab_size() + 2, lambda w: put_unigram(w, proto)
    return 43, lambda w: w.add_tokenizer_model("none")


# ------------------------------------------------------------------ files ---
def pooled(family, out, model):
    rows = out.last_hidden_state
    pool = model.config.pool
    return (rows if pool == "none" else rows[:, :1] if pool == "cls"
            else rows.mean(1, keepdim=True))


def make(name, arch, kind, stem, rope, tokens="none", lengths=(1, 3, 9),
         max_len=None, **words):
    size, put_texts = texts_of(tokens, arch)
    bert = arch == "bert"
    family = golden.Family(
        name, f"{stem}Model" if bert else f"{stem}ForCausalLM",
        f"{stem}Config", {**WORDS, "vocab_size": size, **words},
        encoders.encoder(pooled) if bert else golden.decoder,
        rope and {"rope_type": "default", **rope}, lengths=lengths,
        max_len=max_len or {})
    if stem == "GPT2":
        family.model = "GPT2LMHeadModel"
    config = golden.config_of(family)
    model = getattr(transformers, family.model)(
        config, **({"add_pooling_layer": False} if bert else {}))
    golden.randomize(family, model)
    model = model.eval()
    writer = gguf.GGUFWriter(OUT / f"{name}.gguf", arch)
    put_config(writer, config, kind)
    lines = put_texts(writer)
    put_factors(writer, config)
    put_tensors(writer, model, config, arch, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    expected = family.record(family, model)
    if lines:
        expected["texts"] = [{"text": t, "ids": i}
                             for t, i in zip(LINES, lines)]
    if tokens == "llama-bpe":
        expected["conversation"] = {"turns": TURNS, "text": conversation()}
    (OUT / f"{name}.json").write_text(golden.compact(expected))
    print(name, (OUT / f"{name}.gguf").stat().st_size)


def base(theta, **more):
    return {"rope_theta": theta, **more}


POOLS = {"none": gguf.PoolingType.NONE, "mean": gguf.PoolingType.MEAN,
         "cls": gguf.PoolingType.CLS}
BERT = dict(intermediate_size=20, layer_norm_eps=1e-3, hidden_size=16,
            rms_norm_eps=None)
SMALL = dict(intermediate_size=20, hidden_size=24)
ALL = [
    ("llama-q8_0", "llama", TYPES.Q8_0, "Llama", base(10000.0),
     dict(tokens="pieces")),
    ("llama-q4_0", "llama", TYPES.Q4_0, "Llama", base(500000.0),
     dict(tokens="pieces")),
    ("llama-3-f16", "llama", TYPES.F16, "Llama",
     base(500000.0, rope_type="llama3", factor=8.0, low_freq_factor=1.0,
          high_freq_factor=4.0, original_max_position_embeddings=16),
     dict(SMALL, tokens="llama-bpe", lengths=(1, 3, 7), bos_token_id=0,
          eos_token_id=1, tie_word_embeddings=True)),
    ("qwen2-bf16", "qwen2", TYPES.BF16, "Qwen2", base(1000000.0),
     dict(tokens="qwen2")),
    ("gemma-f16", "gemma", TYPES.F16, "Gemma", base(10000.0),
     dict(tokens="pieces", head_dim=12, num_key_value_heads=1)),
    ("qwen3-f16", "qwen3", TYPES.F16, "Qwen3", base(10000.0),
     dict(SMALL, head_dim=8)),
    ("granite-f16", "granite", TYPES.F16, "Granite", base(10000.0),
     dict(SMALL, attention_bias=True, embedding_multiplier=3.0,
          logits_scaling=2.5, residual_multiplier=0.375,
          attention_multiplier=0.4)),
    ("starcoder2-f16", "starcoder2", TYPES.F16, "Starcoder2", base(100000.0),
     dict(SMALL, norm_epsilon=1e-3, rms_norm_eps=None, sliding_window=5)),
    ("phi3-f16", "phi3", TYPES.F16, "Phi3", base(10000.0),
     dict(SMALL, sliding_window=7, pad_token_id=None)),
    ("phi3-long-f16", "phi3", TYPES.F16, "Phi3", base(
        10000.0, rope_type="longrope", short_factor=[1.0, 1.25, 1.5],
        long_factor=[1.5, 3.0, 6.25], original_max_position_embeddings=8),
     dict(SMALL, max_position_embeddings=24, pad_token_id=None,
          original_max_position_embeddings=8, lengths=(1, 12, 8, 20),
          max_len={1: 8, 8: 8})),
    ("stablelm-f16", "stablelm", TYPES.F16, "StableLm",
     base(10000.0, partial_rotary_factor=0.5),
     dict(SMALL, hidden_size=32, layer_norm_eps=1e-3, rms_norm_eps=None,
          use_qkv_bias=True)),
    ("command-r-f16", "command-r", TYPES.F16, "Cohere", base(50000.0),
     dict(SMALL, layer_norm_eps=1e-3, rms_norm_eps=None, logit_scale=0.25)),
    ("phi2-f16", "phi2", TYPES.F16, "Phi",
     base(10000.0, partial_rotary_factor=0.5),
     dict(SMALL, hidden_size=32, layer_norm_eps=1e-3, rms_norm_eps=None)),
    ("gpt2-f16", "gpt2", TYPES.F16, "GPT2", None,
     dict(SMALL, layer_norm_epsilon=1e-3, rms_norm_eps=None, n_inner=36)),
    ("bert-f16", "bert", TYPES.F16, "Bert", None,
     dict(BERT, tokens="words", pool="none")),
    ("bert-mean-f16", "bert", TYPES.F16, "Bert", None, dict(BERT, pool="mean")),
    ("xlm-roberta-f16", "bert", TYPES.F16, "XLMRoberta", None,
     dict(BERT, tokens="unigram", pool="cls", max_position_embeddings=18,
          type_vocab_size=1, pad_token_id=1)),
]


def main():
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    OUT.mkdir(exist_ok=True)
    for name, arch, kind, stem, rope, *more in ALL:
        if len(sys.argv) < 2 or name.startswith(tuple(sys.argv[1:])):
            make(name, arch, kind, stem, rope, **more[0])


if __name__ == "__main__":
    main()
