"""Makes adapters/: small models, and for each of them adapters in the forms
that peft saves, with what transformers computes of the merged model.

    make families-golden                    with the folders beside it

BASE/config.json, model.safetensors    as transformers 5 writes them
BASE/adapters.json                     for each adapter its adapter_config.json,
                                       and inputs with results, or a part of
                                       the message with which attnc refuses it
BASE/adapters.safetensors              the tensors of all of them: NAME/TENSOR

An adapter is recorded only if the model computes the same before and after
merge_and_unload(). One that is refused is changed after peft has saved it, or
computes what a sum of matrices does not, or is one that peft reads otherwise.
"""
import dataclasses
import json
import pathlib
import shutil
import sys
import tempfile
import warnings
import zlib

import peft
import torch
import transformers
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import golden  # noqa: E402

OUT = golden.HERE / "adapters"
VOCAB = 17
LLAMA = dict(vocab_size=VOCAB, hidden_size=8, intermediate_size=12,
             num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
             max_position_embeddings=8, tie_word_embeddings=False)
GPT2 = dict(vocab_size=VOCAB, n_embd=8, n_layer=1, n_head=2, n_positions=8,
            n_inner=12, activation_function="gelu_new", bos_token_id=0,
            eos_token_id=0)
BERT = dict(vocab_size=VOCAB, hidden_size=8, num_hidden_layers=1,
            num_attention_heads=2, intermediate_size=12,
            max_position_embeddings=8, type_vocab_size=2)
T5 = dict(vocab_size=VOCAB, d_model=8, d_kv=4, d_ff=12, num_layers=1,
          num_decoder_layers=1, num_heads=2, decoder_start_token_id=0)


def ids_of(family, what="ids"):
    return golden.ids_of(family, 6, what, vocab=VOCAB)


def run(model, words):
    with torch.no_grad():
        out = model(**{k: torch.tensor([v]) for k, v in words.items()})
    return out.logits[0].float()


def decoder(family, model):
    ids = ids_of(family)
    return {"ids": ids, "logits": run(model, {"input_ids": ids})}


def encoder(family, model):
    ids = ids_of(family)
    rows = run(model, {"input_ids": ids})
    return {"ids": ids, "rows": rows.reshape(-1, rows.shape[-1])}


def pair(family, model):
    source, target = ids_of(family), [0] + ids_of(family, "target")[:3]
    return {"source": source, "target": target,
            "logits": run(model, {"input_ids": source,
                                  "decoder_input_ids": target})}


def both_heads(family, folder):
    """Saves the output's table beside the tied one, as older files do."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone()
    save_file(tensors, path, {"format": "pt"})


BASES = {f.name: f for f in (
    golden.Family("llama", "LlamaForCausalLM", "LlamaConfig", LLAMA, decoder),
    golden.Family("llama-tied", "LlamaForCausalLM", "LlamaConfig",
                  dict(LLAMA, num_hidden_layers=1, tie_word_embeddings=True),
                  decoder, finish=both_heads),
    golden.Family("gpt2", "GPT2LMHeadModel", "GPT2Config", GPT2, decoder),
    golden.Family("gpt2-square", "GPT2LMHeadModel", "GPT2Config",
                  dict(GPT2, n_inner=8), decoder, bare=True),
    golden.Family("bert", "BertForSequenceClassification", "BertConfig",
                  dict(BERT, num_labels=3), encoder),
    golden.Family("bert-tied", "BertForMaskedLM", "BertConfig", BERT, encoder),
    golden.Family("t5", "T5ForConditionalGeneration", "T5Config", T5, pair))}


@dataclasses.dataclass
class Adapter:
    """words: of LoraConfig. edit: keys of adapter_config.json, changed after
    peft has saved it. change: is given the saved tensors and changes them.
    refused: a part of attnc's message. converted: it is saved as an adapter of
    the first model, whose weights its initialisation changed."""
    base: str
    name: str
    words: dict
    refused: str | None = None
    edit: dict = dataclasses.field(default_factory=dict)
    change: object = None
    converted: bool = False


def adapters():
    made = []

    def of(base, name, target, refused=None, edit=None, change=None,
           converted=False, **words):
        made.append(Adapter(base, name, dict(words, target_modules=target),
                            refused, edit or {}, change, converted))

    qv = ["q_proj", "v_proj"]
    scaled = dict(r=3, lora_alpha=5)
    of("llama", "plain", qv)
    of("llama", "all-linear", "all-linear", **scaled)
    of("llama", "rslora", qv, use_rslora=True, **scaled)
    of("llama", "regex-targets", r".*\.(q|up)_proj")
    of("llama", "embedding", ["embed_tokens"], **scaled)
    of("llama", "embedding-turned", ["embed_tokens", "v_proj"],
       edit={"fan_in_fan_out": True})
    of("llama", "square-turned", ["q_proj", "o_proj"],
       edit={"fan_in_fan_out": True})
    of("llama", "head", ["lm_head", "q_proj"])
    of("llama", "embedding-and-head", ["embed_tokens", "lm_head"],
       use_rslora=True, alpha_pattern={"embed_tokens": 9}, **scaled)
    of("llama", "saved-head", qv, modules_to_save=["lm_head"])
    of("llama", "saved-embedding", qv, modules_to_save=["embed_tokens"])
    of("llama", "saved-norm", qv, modules_to_save=["norm"])
    of("llama", "alpha-name", qv, alpha_pattern={"q_proj": 7})
    of("llama", "alpha-regex", qv,
       alpha_pattern={r"layers\.1\..*": 7, "q_pro": 100})
    of("llama", "alpha-layers", "all-linear",
       alpha_pattern={r"model.layers.\d+.mlp.(up|down)_proj": 9})
    of("llama", "alpha-anchored", "all-linear",
       alpha_pattern={"^model.layers.1.mlp.down_proj": 9,
                      "^layers.0.mlp.down_proj": 90})
    of("llama", "alpha-first", qv,
       alpha_pattern={"0.self_attn.q_proj": 9, "q_proj": 3})
    of("llama", "alpha-lazy", qv, alpha_pattern={r".*?0.*?": 9})
    of("llama", "alpha-group", "all-linear",
       alpha_pattern={r"(?:q|k)_proj": 9, "[u-w]p?_proj": 5})
    of("llama", "alpha-lookahead", qv, "alpha_pattern",
       alpha_pattern={r"(?!.*1).*q_proj": 9})
    of("llama", "alpha-braces", qv, "alpha_pattern",
       alpha_pattern={r".{5}\.layers\.0.*": 9})
    of("llama", "rank-name", qv, rank_pattern={"v_proj": 1}, **scaled)
    of("llama", "rank-and-alpha", "all-linear", use_rslora=True,
       rank_pattern={r".*\.1\..*(gate|up)_proj": 4},
       alpha_pattern={"gate_proj": 2, r"self_attn\.[kv]_proj": 8}, **scaled)
    of("llama", "rank-other", qv, "'r' is 4", edit={"r": 4})
    of("llama", "one-layer", qv, layers_to_transform=[1])
    of("llama", "one-layer-pattern", qv, layers_to_transform=0,
       layers_pattern="layers")
    of("llama", "head-of-one-layer", ["lm_head", "q_proj"],
       layers_to_transform=[1])
    of("llama", "layer-left-out", qv, "layers_to_transform",
       edit={"layers_to_transform": [0]})
    of("llama", "excluded", "all-linear", exclude_modules=["up_proj"])
    of("llama", "excluded-after", qv, "exclude_modules",
       edit={"exclude_modules": ["v_proj"]})
    of("llama", "target-left-out", qv, "target_modules",
       edit={"target_modules": ["q_proj"]})
    of("llama", "gaussian", qv, init_lora_weights="gaussian")
    of("llama", "orthogonal", qv, init_lora_weights="orthogonal")
    of("llama", "pissa", qv, "init_lora_weights", init_lora_weights="pissa")
    of("llama", "pissa-fast", qv, "init_lora_weights",
       init_lora_weights="pissa_niter_4")
    of("llama", "pissa-converted", qv, converted=True,
       init_lora_weights="pissa")
    of("llama", "olora", qv, "init_lora_weights", init_lora_weights="olora")
    of("llama", "loftq", qv, "init_lora_weights",
       edit={"init_lora_weights": "loftq"})
    of("llama", "dora", qv, "use_dora", use_dora=True)
    of("llama", "tokens", qv, "trainable_token_indices",
       trainable_token_indices=[1, 2])
    of("llama", "unknown-key", qv, "use_tomorrow",
       edit={"use_tomorrow": True})
    of("llama", "without-b", qv, "is A [r, in] beside B",
       change=lambda t: t.pop(first(t, "lora_B")))
    of("llama", "without-a", qv, "has no A beside it",
       change=lambda t: t.pop(first(t, "lora_A")))
    of("llama-tied", "plain", qv)
    of("llama-tied", "saved-tied", qv, modules_to_save=["embed_tokens"],
       ensure_weight_tying=True)
    of("llama-tied", "saved-embedding", qv, modules_to_save=["embed_tokens"])
    of("llama-tied", "saved-head", qv, modules_to_save=["lm_head"])
    of("llama-tied", "saved-both", qv,
       modules_to_save=["lm_head", "embed_tokens"])
    of("llama-tied", "saved-head-and-embedding", ["embed_tokens"],
       "would untie", modules_to_save=["lm_head"])
    of("llama-tied", "embedding", ["embed_tokens", "v_proj"], "would untie")
    of("llama-tied", "head", ["lm_head", "v_proj"], "would untie")
    conv = ["c_attn", "c_proj", "c_fc"]
    of("gpt2", "plain", conv, fan_in_fan_out=True)
    of("gpt2", "unturned", conv, edit={"fan_in_fan_out": False})
    of("gpt2", "patterns", conv, alpha_pattern={"attn.c_proj": 9},
       rank_pattern={r"mlp\..*": 1}, fan_in_fan_out=True)
    of("gpt2", "bias-all", conv, bias="all", fan_in_fan_out=True)
    of("gpt2", "positions", ["wpe", "c_attn"], fan_in_fan_out=True)
    of("gpt2", "saved-embedding", conv, modules_to_save=["wte"],
       fan_in_fan_out=True)
    of("gpt2", "saved-head", conv, modules_to_save=["lm_head"],
       fan_in_fan_out=True)
    of("gpt2", "embedding", ["wte", "c_attn"], "would untie",
       fan_in_fan_out=True)
    of("gpt2-square", "plain", conv, fan_in_fan_out=True)
    of("gpt2-square", "unturned", conv, edit={"fan_in_fan_out": False})
    of("gpt2-square", "square-unturned", ["c_fc"],
       edit={"fan_in_fan_out": False})
    of("gpt2-square", "bias-own", ["c_fc"], bias="lora_only",
       fan_in_fan_out=True)
    of("gpt2-square", "bias-of-b", ["c_fc"], "lora_bias", lora_bias=True,
       fan_in_fan_out=True)
    of("bert", "classifier", ["query", "value"], task_type="SEQ_CLS")
    of("bert", "turned", ["query", "value"], task_type="SEQ_CLS",
       edit={"fan_in_fan_out": True})
    of("bert", "embedding", ["word_embeddings", "dense"], task_type="SEQ_CLS",
       bias="all")
    of("bert", "saved-pooler", ["query"], modules_to_save=["pooler"],
       bias="all")
    of("bert-tied", "plain", ["query", "key"])
    of("bert-tied", "bias-all", ["query"], bias="all")
    of("bert-tied", "embedding", ["word_embeddings"], "would untie")
    of("bert-tied", "saved-head", ["query"], "would untie",
       modules_to_save=["decoder"])
    of("t5", "plain", ["q", "v"], task_type="SEQ_2_SEQ_LM")
    of("t5", "all-linear", "all-linear", alpha_pattern={
        r"decoder\..*EncDecAttention\.[qk]": 9, "wo": 2})
    of("t5", "saved-table", ["q"], "would untie", modules_to_save=["shared"])
    return made


def first(tensors, part):
    return next(name for name in sorted(tensors) if part in name)


def draw(adapter, model):
    """All weights that are trained. Those of an initialisation that changes
    the model's weights begin with its values."""
    g = torch.Generator().manual_seed(
        zlib.crc32(f"{adapter.base} {adapter.name}".encode()))
    init = adapter.words.get("init_lora_weights", True)
    with torch.no_grad():
        for name, x in sorted(model.named_parameters()):
            if x.requires_grad and x.numel():
                noise = 0.3 * torch.randn(x.shape, generator=g)
                own = init in ("pissa", "olora") or "lora_" not in name
                x.copy_(x + noise if own else noise)


def sorted_lists(config):
    return {key: sorted(v) if isinstance(v, list) else v
            for key, v in config.items()}


def save(adapter, family, to, base_folder):
    words = peft.LoraConfig(**{"r": 2, "lora_alpha": 3, **adapter.words})
    base = golden.load(family, base_folder)
    model = peft.get_peft_model(base, words)
    more = {}
    if adapter.converted:
        model.save_pretrained(to / "first")
        more["path_initial_model_for_weight_conversion"] = str(to / "first")
    draw(adapter, model)
    if adapter.converted:  # as it is trained, with the base that it changed
        wanted = family.record(family, model.eval())
    model.save_pretrained(to, **more)
    path = to / "adapter_config.json"
    config = json.loads(path.read_text())
    config.update(adapter.edit, base_model_name_or_path=adapter.base)
    path.write_text(json.dumps(sorted_lists(config), sort_keys=True))
    if adapter.change:
        tensors = load_file(to / "adapter_model.safetensors")
        adapter.change(tensors)
        save_file(tensors, to / "adapter_model.safetensors")
    return wanted if adapter.converted else None


def close(x, y):
    """Of two results, how far they are apart."""
    key = "logits" if "logits" in x else "rows"
    return float((x[key] - y[key]).abs().max())


def record(adapter, base_folder):
    family = BASES[adapter.base]
    row = {"name": adapter.name}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        trained = save(adapter, family, folder, base_folder)
        tensors = load_file(folder / "adapter_model.safetensors")
        row["config"] = json.loads((folder / "adapter_config.json").read_text())
        if adapter.refused:
            return dict(row, refused=adapter.refused), tensors
        model = peft.PeftModel.from_pretrained(
            golden.load(family, base_folder), folder).eval()
        before = family.record(family, model)
        after = family.record(family, model.merge_and_unload().eval())
    plain = family.record(family, golden.load(family, base_folder))
    assert close(before, after) < 1e-5, (adapter, close(before, after))
    assert not trained or close(trained, after) < 1e-5, adapter
    assert close(plain, after) > 1e-2, (adapter, close(plain, after))
    after = {k: golden.numbers(v) if torch.is_tensor(v) else v
             for k, v in after.items()}
    return dict(row, cases=[after]), tensors


def main():
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    shutil.rmtree(OUT, ignore_errors=True)
    all_of = adapters()
    for name, family in BASES.items():
        golden.save(family, OUT / name)
        rows, tensors = [], {}
        for adapter in (x for x in all_of if x.base == name):
            row, own = record(adapter, OUT / name)
            rows.append(row)
            tensors.update({f"{adapter.name}/{k}": v.float().contiguous()
                            for k, v in own.items()})
        save_file(tensors, OUT / name / "adapters.safetensors")
        (OUT / name / "adapters.json").write_text(
            golden.compact({"adapters": rows}))
        (OUT / name / "generation_config.json").unlink(missing_ok=True)
    print(f"{len(all_of)} adapters, {golden.size_of(OUT)} bytes")


if __name__ == "__main__":
    main()
