"""Families of retrieval models (golden.py), and a comparison of their folders
with sentence-transformers:

    python retrieval.py build/attnc    texts of its own encode() and predict()

It adds a tokenizer to each folder whose class sentence-transformers has, and
compares the rows of three texts, or the scores of pairs: cosine >= 0.99999.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

from encoders import BERT, DISTILBERT, MODERN, ROBERTA, encoder
from golden import Family, generator

GTE = dict(vocab_size=43, hidden_size=12, num_hidden_layers=2,
           num_attention_heads=3, intermediate_size=10,
           max_position_embeddings=16, layer_norm_eps=1e-3, type_vocab_size=2)
QWEN = dict(vocab_size=43, hidden_size=8, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, head_dim=6,
            intermediate_size=9, max_position_embeddings=16, pad_token_id=0,
            bos_token_id=1, eos_token_id=2)
ROPES = {kind: {"rope_type": "default", "rope_theta": base} for kind, base in
         (("sliding_attention", 20000.0), ("full_attention", 90000.0))}
ONE = dict(num_hidden_layers=1)
IDENTITY = "torch.nn.modules.linear.Identity"


# ---- folders ----

def modules(*steps):
    return [{"idx": i, "name": str(i), "path": path, "type": kind}
            for i, (kind, path) in enumerate(steps)]


def prompts(model_type="SentenceTransformer", default=None, **texts):
    return {"model_type": model_type, "prompts": texts,
            "default_prompt_name": default, "similarity_fn_name": None}


OUTPUTS = {"feature-extraction": ("last_hidden_state", "token_embeddings"),
           "fill-mask": ("logits", "token_embeddings"),
           "sequence-classification": ("logits", "scores"),
           "text-generation": ("logits", "causal_logits")}


def sentence(task):
    """What sentence-transformers 5.4 and later write."""
    method, name = OUTPUTS[task]
    return {"transformer_task": task, "module_output_name": name,
            "modality_config": {"text": {"method": "forward",
                                         "method_output_name": method}}}


ST = "sentence_transformers."
BASE, SPARSE = ST + "base.modules.", ST + "sparse_encoder.modules."
TRANSFORMER = (BASE + "transformer.Transformer", "")


def linear(name, width, inner, bias=False):
    """Writes a product that is not the model's: name.weight in its file."""
    def put(family, folder):
        g = generator(family, name)
        parts = {"weight": torch.randn(width, inner, generator=g) * 0.3}
        if bias:
            parts["bias"] = torch.randn(width, generator=g) * 0.3
        path = folder / name
        if path.suffix != ".safetensors":
            path.mkdir(exist_ok=True)
            parts = {f"linear.{key}": x for key, x in parts.items()}
            path = path / "model.safetensors"
        else:  # bge-m3's own form
            torch.save(parts, path.with_suffix(".pt"))
        save_file(parts, path)
    return put


def all_of(*puts):
    def put(family, folder):
        for each in puts:
            each(family, folder)
    return put


def applied(model, name, x, key="linear."):
    path = pathlib.Path(model.name_or_path) / name
    parts = load_file(path if path.suffix else path / "model.safetensors")
    key = "" if path.suffix else key
    return torch.nn.functional.linear(x, parts[key + "weight"],
                                      parts.get(key + "bias"))


def unit(x):
    return x / x.norm(dim=-1, keepdim=True)


# ---- sparse rows ----

def splade(name, model, config, words, pool="max", function="relu", types=False,
           **more):
    def rows(family, out, model):
        x = torch.log1p(torch.relu(out.logits[0]))
        x = torch.log1p(x) if function == "log1p_relu" else x
        return x.max(0).values[None] if pool == "max" else x.sum(0)[None]

    old = pool == "sum"
    kind = SPARSE + ("MLMTransformer" if old else
                     "mlm_transformer.MLMTransformer")
    extra = {"modules.json": modules((kind, ""), (
                 SPARSE + "SpladePooling", "1_SpladePooling")),
             "1_SpladePooling/config.json": {
                 "pooling_strategy": pool, "activation_function": function,
                 "word_embedding_dimension": None},
             "config_sentence_transformers.json": prompts(
                 "SparseEncoder", query="", document="")}
    if not old:
        extra["sentence_bert_config.json"] = sentence("fill-mask")
    return Family(name, model, config, words, encoder(rows, types), four=False,
                  extra=extra, lengths=(1, 7, 12), **more)


# ---- late interaction ----

def late(name, model, config, words, widths, types=False, pylate=False, **more):
    inner = [words["hidden_size"], *widths]
    names = [f"{i}_Dense" for i, _ in enumerate(widths, 1)]

    def rows(family, out, model):
        x = out.last_hidden_state[0]
        for step in names:
            x = applied(model, step, x)
        return unit(x)

    kind = "pylate.models.Dense.Dense" if pylate else BASE + "dense.Dense"
    steps = [TRANSFORMER, *((kind, step) for step in names)]
    extra = {f"{step}/config.json": {
        "in_features": n, "out_features": m, "bias": False,
        "activation_function": IDENTITY,
        **({"use_residual": False} if pylate else
           {"module_input_name": "token_embeddings",
            "module_output_name": "token_embeddings"})}
        for step, n, m in zip(names, inner, inner[1:])}
    if pylate:
        extra["config_sentence_transformers.json"] = {
            "prompts": {}, "default_prompt_name": None,
            "similarity_fn_name": "MaxSim", "query_prefix": "[Q] ",
            "document_prefix": "[D] ", "query_length": 8,
            "document_length": 12, "do_query_expansion": False,
            "attend_to_expansion_tokens": False, "skiplist_words": ["."]}
    else:
        steps += [(BASE + "normalize.Normalize", "8_Normalize"),
                  (ST + "multi_vector_encoder.modules.multi_vector_mask."
                   "MultiVectorMask", "9_MultiVectorMask")]
        extra |= {"8_Normalize/config.json": {
                      "module_input_name": "token_embeddings",
                      "module_output_name": "token_embeddings"},
                  "9_MultiVectorMask/config.json": {
                      "skiplist_words": [], "skiplist_tasks": ["document"],
                      "keep_only_token_ids": None},
                  "sentence_bert_config.json": sentence("feature-extraction"),
                  "config_sentence_transformers.json": prompts(
                      "MultiVectorEncoder", query="[Q] ", document="[D] ")}
    return Family(name, model, config, words, encoder(rows, types), four=False,
                  extra={**extra, "modules.json": modules(*steps)},
                  finish=all_of(*(linear(step, m, n) for step, n, m in zip(
                      names, inner, inner[1:]))),
                  lengths=(1, 7, 12), **more)


def stanford(family, folder):
    """The linear in the file of the model, whose names begin with bert."""
    path = folder / "model.safetensors"
    tensors = {f"bert.{name}": x for name, x in load_file(path).items()}
    tensors["linear.weight"] = torch.randn(
        6, family.words["hidden_size"], generator=generator(family, "linear"))
    save_file(tensors, path, metadata={"format": "pt"})
    words = json.loads((folder / "config.json").read_text())
    words["architectures"] = ["HF_ColBERT"]
    (folder / "config.json").write_text(json.dumps(words, indent=2) + "\n")


def stanford_rows(family, out, model):
    path = pathlib.Path(model.name_or_path) / "model.safetensors"
    return unit(out.last_hidden_state[0] @ load_file(path)["linear.weight"].T)


# ---- bge-m3 ----

def m3(name, vectors, width, bias=True):
    file = f"{vectors}_linear.safetensors"

    def rows(family, out, model):
        x = applied(model, file, out.last_hidden_state[0])
        return torch.relu(x) if vectors == "sparse" else unit(x)

    record = encoder(rows)
    words = dict(ROBERTA, **ONE)
    steps = modules((ST + "models.Transformer", ""),
                    (ST + "models.Pooling", "1_Pooling"),
                    (ST + "models.Normalize", "2_Normalize"))
    return Family(name, "XLMRobertaModel", "XLMRobertaConfig", words,
                  lambda *a: record(*a) | {"vectors": vectors}, four=False,
                  extra={"modules.json": steps}, lengths=(1, 7, 12),
                  finish=linear(file, width, words["hidden_size"], bias))


# ---- rerankers ----

def cross(name, model, config, words, types=False, **more):
    return Family(name, model, config, dict(words, num_labels=1),
                  encoder(lambda family, out, model: out.logits, types),
                  four=False, lengths=(1, 7, 12), extra={
                      "modules.json": modules(TRANSFORMER),
                      "sentence_bert_config.json": sentence(
                          "sequence-classification"),
                      "config_sentence_transformers.json": prompts(
                          "CrossEncoder")}, **more)


def scored(family, out, model):
    return out.logits[:, -1, 7:8] - out.logits[:, -1, 9:10]


def by_logits(name, **words):
    return Family(name, "Qwen3ForCausalLM", "Qwen3Config", {**QWEN, **words},
                  encoder(scored), four=False, lengths=(1, 7, 12), extra={
                      "modules.json": modules(TRANSFORMER, (
                          ST + "cross_encoder.modules.logit_score.LogitScore",
                          "1_LogitScore")),
                      "1_LogitScore/config.json": {
                          "true_token_id": 7, "false_token_id": 9,
                          "module_input_name": "causal_logits"},
                      "sentence_bert_config.json": sentence("text-generation"),
                      "config_sentence_transformers.json": prompts(
                          "CrossEncoder")})


# ---- GTE, and models whose code is in their folders ----

def gte(name, what, rows, **words):
    words = {**GTE, **words}
    return Family(name, f"Gte{what}", "GteConfig", words,
                  encoder(rows, bool(words["type_vocab_size"])), four=False,
                  rope={"rope_theta": 9000.0, "rope_type": "default"})


def renewed(family, folder):
    """The form of the folders whose code is their own, with NTK's scaling."""
    path = folder / "config.json"
    words = json.loads(path.read_text())
    words |= {"model_type": "new", "architectures": ["NewModel"],
              "rope_theta": 500.0,
              "rope_scaling": {"type": "ntk", "factor": 2.0},
              "position_embedding_type": "rope", "layer_norm_type":
              "layer_norm", "pack_qkv": True, "unpad_inputs": False,
              "use_memory_efficient_attention": False,
              "logn_attention_scale": False, "logn_attention_clip1": False}
    path.write_text(json.dumps(words, indent=2, sort_keys=True) + "\n")
    path = folder / "model.safetensors"
    save_file({f"new.{name}": x for name, x in load_file(path).items()}, path,
              metadata={"format": "pt"})


def ntk(family, model):
    """Records the wavelengths of that code, computed by transformers' class:
    its base is doubled, and all wavelengths grow."""
    import transformers
    config = transformers.GteConfig(**family.words, rope_parameters={
        "rope_type": "linear", "rope_theta": 1000.0,
        "factor": 2.0 ** (2 / 4)})
    again = transformers.GteModel.from_pretrained(model.name_or_path,
                                                  config=config).eval()
    found = encoder(hidden, True)(family, again)
    renewed(family, pathlib.Path(model.name_or_path))
    return found


def jina(family, folder, code=False):
    """Jina embeddings 2: BERT's names, alibi to both sides, a gated network.
    code: those for code have norms of queries and keys, and other names.
    """
    path = folder / "model.safetensors"
    tensors = {name: x for name, x in load_file(path).items() if not any(
        part in name for part in ("position", "intermediate", "pooler"))}
    g = generator(family, "gated")
    d, d_ff = family.words["hidden_size"], family.words["intermediate_size"]
    for i in range(family.words["num_hidden_layers"]):
        layer = f"encoder.layer.{i}."
        for part in ("dense.weight", "dense.bias", "LayerNorm.weight",
                     "LayerNorm.bias"):
            x = tensors.pop(f"{layer}output.{part}")
            tensors[layer + (part.replace("dense", "mlp.down_layer").replace(
                "LayerNorm", "layer_norm_2") if code else "mlp." + part.replace(
                    "dense", "wo").replace("LayerNorm", "layernorm"))] = x
        name = "up_gated_layer" if code else "gated_layers"
        tensors[f"{layer}mlp.{name}.weight"] = torch.randn(
            2 * d_ff, d, generator=g) * d ** -0.5
        for norm in ("attention.self.layer_norm_q", "layer_norm_1",
                     "attention.self.layer_norm_k") if code else ():
            for part in ("weight", "bias"):
                tensors[f"{layer}{norm}.{part}"] = torch.randn(
                    d, generator=g) * 0.3 + (part == "weight")
    save_file(tensors, path, metadata={"format": "pt"})
    path = folder / "config.json"
    words = json.loads(path.read_text())
    words |= {"architectures": ["JinaBertModel"], "feed_forward_type": "geglu",
              "position_embedding_type": "alibi", "emb_pooler": "mean",
              "attn_implementation": "torch"}
    path.write_text(json.dumps(words, indent=2, sort_keys=True) + "\n")


def jina_rows(family, ids, types, folder):
    """Its formulas; no class of transformers computes them."""
    t = load_file(pathlib.Path(folder) / "model.safetensors")
    h, eps = family.words["num_attention_heads"], 1e-3
    code = "encoder.layer.0.layer_norm_1.weight" in t

    def norm(x, name):
        return torch.nn.functional.layer_norm(
            x, x.shape[-1:], t[name + ".weight"], t[name + ".bias"], eps)

    def dense(x, name):
        return torch.nn.functional.linear(x, t[name + ".weight"],
                                          t.get(name + ".bias"))

    x = norm(t["embeddings.word_embeddings.weight"][ids]
             + t["embeddings.token_type_embeddings.weight"][types],
             "embeddings.LayerNorm")
    n = torch.arange(len(ids))
    # 3 heads: 2 of a model with 2, then every other of one with 4
    slopes = torch.tensor([2.0 ** -4, 2.0 ** -8, 2.0 ** -2])
    bias = -slopes[:, None, None] * (n[:, None] - n[None]).abs()
    for i in range(family.words["num_hidden_layers"]):
        layer = f"encoder.layer.{i}."
        q, k, v = (dense(x, f"{layer}attention.self.{p}")
                   for p in ("query", "key", "value"))
        if code:
            q = norm(q, layer + "attention.self.layer_norm_q")
            k = norm(k, layer + "attention.self.layer_norm_k")
        q, k, v = (y.reshape(len(n), h, -1).transpose(0, 1)
                   for y in (q, k, v))
        p = torch.softmax(q @ k.transpose(1, 2) * q.shape[-1] ** -0.5 + bias,
                          -1)
        y = (p @ v).transpose(0, 1).reshape(len(n), -1)
        y = norm(dense(y, layer + "attention.output.dense") + x,
                 layer + "attention.output.LayerNorm")
        if code:
            x = norm(x + y, layer + "layer_norm_1")
            b, a = dense(x, layer + "mlp.up_gated_layer").chunk(2, -1)
            y = dense(torch.nn.functional.gelu(a) * b, layer + "mlp.down_layer")
            x = norm(y + x, layer + "layer_norm_2")
            continue
        a, b = dense(y, layer + "mlp.gated_layers").chunk(2, -1)
        x = norm(dense(torch.nn.functional.gelu(a) * b, layer + "mlp.wo") + y,
                 layer + "mlp.layernorm")
    return x


def own_code(rows, types):
    """Records rows(family, ids, types, folder), without a class."""
    def record(family, model):
        class Reader(torch.nn.Module):
            def forward(self, input_ids, token_type_ids=None):
                zeros = torch.zeros_like(input_ids)
                return rows(family, input_ids[0],
                            (zeros if token_type_ids is None
                             else token_type_ids)[0], model.name_or_path)
        return encoder(lambda family, out, model: out, types)(family, Reader())
    return record


def hidden(family, out, model):
    return out.last_hidden_state


def logits(family, out, model):
    return out.logits


MODERN_ONE = dict(MODERN, **ONE)
FAMILIES = [
    splade("splade", "BertForMaskedLM", "BertConfig", dict(BERT, **ONE),
           types=True),
    splade("splade-sum", "DistilBertForMaskedLM", "DistilBertConfig",
           dict(DISTILBERT, n_layers=1), "sum"),
    splade("splade-twice", "XLMRobertaForMaskedLM", "XLMRobertaConfig",
           dict(ROBERTA, **ONE), function="log1p_relu"),
    splade("splade-modernbert", "ModernBertForMaskedLM", "ModernBertConfig",
           MODERN_ONE, rope=ROPES),
    late("colbert", "BertModel", "BertConfig", dict(BERT, **ONE), [6],
         types=True),
    late("colbert-modernbert", "ModernBertModel", "ModernBertConfig",
         MODERN_ONE, [13, 6], pylate=True, rope=ROPES),
    Family("colbert-first", "BertModel", "BertConfig", dict(BERT, **ONE),
           encoder(stanford_rows, True), four=False, finish=stanford,
           lengths=(1, 7, 12), extra={"artifact.metadata": {
               "dim": 6, "query_maxlen": 8, "doc_maxlen": 12}}),
    m3("m3-sparse", "sparse", 1),
    m3("m3-colbert", "colbert", 6),
    cross("cross-bert", "BertForSequenceClassification", "BertConfig",
          dict(BERT, **ONE), types=True),
    cross("cross-xlm-roberta", "XLMRobertaForSequenceClassification",
          "XLMRobertaConfig", dict(ROBERTA, **ONE)),
    cross("cross-modernbert", "ModernBertForSequenceClassification",
          "ModernBertConfig", MODERN_ONE, rope=ROPES),
    by_logits("logit-score", tie_word_embeddings=True),
    by_logits("logit-score-untied", tie_word_embeddings=False),
    gte("gte", "Model", hidden),
    gte("gte-mlm", "ForMaskedLM", logits, **ONE),
    gte("gte-classify", "ForSequenceClassification", logits, num_labels=3,
        type_vocab_size=0, **ONE),
    gte("gte-tokens", "ForTokenClassification", logits, num_labels=3, **ONE),
    Family("gte-new", "GteModel", "GteConfig", GTE, ntk, four=False,
           drop=("rope_parameters",)),
    Family("jina2", "BertModel", "BertConfig", BERT, own_code(jina_rows, True),
           four=False, finish=jina),
    Family("jina2-code", "BertModel", "BertConfig", dict(BERT, **ONE),
           own_code(jina_rows, True), four=False,
           finish=lambda family, folder: jina(family, folder, True)),
]


# ---- sentence-transformers ----

WORDS = ("[PAD] [UNK] [CLS] [SEP] [MASK] a b c d e f g h i j k l m n o p q r s "
         "the cat sat on mat query document : . , ##a ##b ##c ##d").split()
TEXTS = ["the cat sat on the mat", "a b c . q", "query : d"]
PAIRS = [("the cat", "sat on"), ("mat", "a cat")]
# classes of sentence-transformers by beginnings of names
CLASSES = {"splade": "SparseEncoder", "colbert": "MultiVectorEncoder",
           "cross": "CrossEncoder", "logit": "CrossEncoder",
           "sentences-": "SentenceTransformer",
           "gemma3-s": "SentenceTransformer",
           "qwen3-s": "SentenceTransformer"}
# PyLate writes names of its own classes, which are not installed; without
# modules.json no class is named
WITHOUT = ("colbert-modernbert", "colbert-first")


def put_tokenizer(folder):
    from transformers.models.bert import BertTokenizer
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    words = json.loads((folder / "config.json").read_text())
    types = ["token_type_ids"] * (words.get("type_vocab_size", 1) > 1)
    BertTokenizer(vocab=str(folder / "vocab.txt"), model_input_names=[
        "input_ids", *types, "attention_mask"]).save_pretrained(folder)


def ours(attnc, folder, lines, *options):
    """The rows that attnc run prints, a matrix for each line."""
    out = subprocess.run([attnc, "run", folder, "--quiet", *options],
                         input="".join(x + "\n" for x in lines), text=True,
                         stdout=subprocess.PIPE, check=True).stdout
    return [torch.tensor([[float(x) for x in line.split()]
                          for line in block.splitlines()])
            for block in out.strip().split("\n\n")]


def theirs(kind, folder):
    import sentence_transformers
    from sentence_transformers import multi_vector_encoder
    cls = getattr(sentence_transformers, kind, None) or getattr(
        multi_vector_encoder, kind)
    model = cls(str(folder), device="cpu")
    if kind == "CrossEncoder":
        return [torch.tensor([[float(x)]]) for x in model.predict(
            PAIRS, activation_fn=torch.nn.Identity())]
    words = {"convert_to_tensor": True}
    if kind == "SparseEncoder":
        words = {"convert_to_sparse_tensor": False}
    if kind == "MultiVectorEncoder":
        words = {"task": "document"}
    return [torch.atleast_2d(model.encode([text], prompt="", **words)[0])
            for text in TEXTS]


def compare(attnc, name, kind):
    here = pathlib.Path(__file__).parent / name
    with tempfile.TemporaryDirectory() as root:
        folder = pathlib.Path(root) / name
        shutil.copytree(here, folder)
        put_tokenizer(folder)
        want = theirs(kind, folder)
        cross = kind == "CrossEncoder"
        lines = ["\t".join(p) for p in PAIRS] if cross else TEXTS
        got = ours(attnc, str(folder), lines, "--pairs" if cross else
                   "--prompt-name=")
    least = min(float(torch.cosine_similarity(a, b).min())
                for a, b in zip(got, want, strict=True))
    worst = max(float((a - b).abs().max()) for a, b in zip(got, want))
    scale = max(float(b.abs().max()) for b in want)
    print(f"{name}: cosine {least:.7f}, largest difference {worst:.1e} of "
          f"{scale:.3g}", flush=True)
    return least >= 0.99999 and worst <= 1e-5 * scale


def main():
    import transformers
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    here = pathlib.Path(__file__).parent
    good = True
    for folder in sorted(here.iterdir()):
        for start, kind in CLASSES.items():
            if folder.name.startswith(start) and folder.is_dir() and (
                    folder.name not in WITHOUT):
                good = compare(sys.argv[1], folder.name, kind) and good
    sys.exit(not good)


if __name__ == "__main__":
    main()
