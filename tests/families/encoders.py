"""Families of encoders (golden.py)."""
import pathlib

import torch
from safetensors.torch import load_file, save_file

from golden import Family, ids_of, numbers

BERT = dict(vocab_size=43, hidden_size=15, num_hidden_layers=2,
            num_attention_heads=3, intermediate_size=22,
            max_position_embeddings=16, type_vocab_size=2,
            layer_norm_eps=1e-3)
ROBERTA = dict(BERT, max_position_embeddings=18, type_vocab_size=1)
DISTILBERT = dict(vocab_size=43, dim=15, n_layers=2, n_heads=3, hidden_dim=22,
                  max_position_embeddings=16)
ELECTRA = dict(BERT, embedding_size=10)
ALBERT = dict(BERT, embedding_size=10, num_hidden_layers=3)
MPNET = dict(ROBERTA)
del MPNET["type_vocab_size"]
CLIP = dict(vocab_size=43, hidden_size=15, num_hidden_layers=2,
            num_attention_heads=3, intermediate_size=22,
            max_position_embeddings=16, projection_dim=9, layer_norm_eps=1e-3,
            bos_token_id=41, eos_token_id=42)
VISION = dict(hidden_size=6, num_hidden_layers=1, num_attention_heads=2,
              intermediate_size=7, image_size=4, patch_size=2,
              projection_dim=9)
NOMIC = dict(vocab_size=43, hidden_size=24, num_hidden_layers=2,
             num_attention_heads=3, intermediate_size=22,
             max_position_embeddings=16, layer_norm_eps=1e-3)
# Its code was in its folders before transformers had it, with these keys.
OLD_NOMIC = dict(
    activation_function="swiglu", architectures=["NomicBertModel"],
    attn_pdrop=0.0, bos_token_id=None, causal=False, dense_seq_output=True,
    embd_pdrop=0.0, eos_token_id=None, fused_bias_fc=True,
    fused_dropout_add_ln=True, initializer_range=0.02,
    layer_norm_epsilon=1e-3, max_trained_positions=16, mlp_fc1_bias=False,
    mlp_fc2_bias=False, model_type="nomic_bert", n_embd=24, n_head=3,
    n_inner=22, n_layer=2, n_positions=16, pad_vocab_size_multiple=64,
    parallel_block=False, parallel_block_tied_norm=False, prenorm=False,
    qkv_proj_bias=False, reorder_and_upcast_attn=False, resid_pdrop=0.0,
    rotary_emb_base=500, rotary_emb_fraction=1.0,
    rotary_emb_interleaved=False, rotary_emb_scale_base=None,
    rotary_scaling_factor=None, scale_attn_by_inverse_layer_idx=False,
    scale_attn_weights=True, summary_activation=None, summary_type="cls_index",
    torch_dtype="float32", transformers_version="4.37.2", type_vocab_size=2,
    use_cache=True, use_flash_attn=True, use_rms_norm=False, use_xentropy=True,
    vocab_size=43)
MODERN = dict(vocab_size=43, hidden_size=16, num_hidden_layers=5,
              num_attention_heads=2, intermediate_size=11,
              max_position_embeddings=16, norm_eps=1e-3, local_attention=8,
              pad_token_id=0, bos_token_id=1, cls_token_id=1, eos_token_id=2,
              sep_token_id=2)
VIT = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
           intermediate_size=21, image_size=[9, 6], patch_size=3,
           num_channels=2, layer_norm_eps=1e-3)
DINO = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            mlp_ratio=2, image_size=[9, 9], patch_size=3, num_channels=2,
            layer_norm_eps=1e-3)
LABELS = dict(num_labels=3)
ROPE = {"rope_theta": 10000.0, "rope_type": "default"}
EURO = dict(vocab_size=43, hidden_size=8, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, intermediate_size=9,
            max_position_embeddings=16, rms_norm_eps=1e-3, pad_token_id=0,
            bos_token_id=1, eos_token_id=2)
BOTH = dict(EURO, head_dim=6, sliding_window=2, query_pre_attn_scalar=12,
            num_hidden_layers=3, sliding_window_pattern=3,
            use_bidirectional_attention=True)
BOTH_ROPE = dict(rope=dict(sliding_attention=ROPE, full_attention=dict(
    ROPE, rope_theta=500000.0)), four=dict(rope_theta=500000.0))
JINA = dict(ROBERTA, hidden_size=12, hidden_act="gelu_new")
XL = dict(ROBERTA, hidden_size=8, num_attention_heads=2, intermediate_size=9)
SIGLIP = dict(vocab_size=43, hidden_size=8, num_hidden_layers=2,
              num_attention_heads=2, intermediate_size=9,
              max_position_embeddings=16, layer_norm_eps=1e-3,
              bos_token_id=1, eos_token_id=2)


def encoder(rows, types=False, ends=None):
    """A function that records what rows(family, output, model) takes of the
    output, for inputs of each length, the second with types of tokens where
    there are some; `ends` is the last id."""
    def record(family, model):
        cases = []
        for i, n in enumerate(family.lengths):
            ids = ids_of(family, n, vocab=43)
            if ends:
                ids = [min(x, ends - 2) for x in ids[:-1]] + [ends]
            case = {"ids": ids}
            words = {"input_ids": torch.tensor([ids])}
            if types and i == 1:
                case["types"] = [int(j >= n // 2) for j in range(n)]
                words["token_type_ids"] = torch.tensor([case["types"]])
            if family.model.endswith("ForMultipleChoice"):
                words = {key: x[None] for key, x in words.items()}
            with torch.no_grad():
                out = rows(family, reader(model)(**words), model)
            case["rows"] = numbers(out.float().reshape(-1, out.shape[-1]))
            cases.append(case)
        return {"kind": "encoder", "cases": cases}
    return record


def reader(model):
    """CLIP's model of texts and images has one of texts inside."""
    return model.text_model if hasattr(model, "vision_model") else model


def hidden(family, out, model):
    return out.last_hidden_state


def logits(family, out, model):
    return out.logits


def one_logit(family, out, model):
    return out.logits.reshape(-1, 1)


def span(family, out, model):
    return torch.stack([out.start_logits, out.end_logits], dim=-1)


def projected(family, out, model):
    return out.text_embeds


def pooled(family, out, model):
    return out.pooler_output


def text_of_clip(family, out, model):
    return model.text_projection(out.pooler_output)


def image(rows):
    """Records an image: its channels one by one, in rows as wide as those of
    its patches."""
    def record(family, model):
        words = family.words
        g = torch.Generator().manual_seed(7)
        x = torch.randn(1, words["num_channels"], *words["image_size"],
                        generator=g)
        patch = words["num_channels"] * words["patch_size"] ** 2
        with torch.no_grad():
            out = rows(family, model(pixel_values=x), model)
        return {"kind": "encoder", "cases": [{
            "input": numbers(x.reshape(-1, patch)),
            "rows": numbers(out.float().reshape(-1, out.shape[-1]))}]}
    return record


def dino(name, **words):
    return Family(name, "Dinov2Model", "Dinov2Config", {**DINO, **words},
                  image(hidden))


def vit(name, what, rows, **words):
    return Family(name, f"ViT{what}", "ViTConfig", {**VIT, **words},
                  image(rows))


def deit(name, what, rows, **words):
    return Family(name, f"DeiT{what}", "DeiTConfig", {**VIT, **words},
                  image(rows))


def finished(pool, normalize=False):
    """What sentence-transformers makes of the rows."""
    def rows(family, out, model):
        x = out.last_hidden_state[0]
        x = {"mean": x.mean(0), "cls": x[0], "max": x.max(0).values,
             "lasttoken": x[-1]}[pool]
        if normalize:
            x = x / x.norm()
        return x[None]
    return rows


def old_names(family, folder):
    """The names of norms in files of before 2020."""
    path = folder / "model.safetensors"
    tensors = {name.replace("LayerNorm.weight", "LayerNorm.gamma")
               .replace("LayerNorm.bias", "LayerNorm.beta"): x
               for name, x in load_file(path).items()}
    save_file(tensors, path, metadata={"format": "pt"})


def prefixed(family, folder):
    """As transformers 4 names them; 5 leaves text_model. out."""
    path = folder / "model.safetensors"
    save_file({f"text_model.{name}": x for name, x in load_file(path).items()},
              path, metadata={"format": "pt"})


DENSE = [dict(in_features=15, out_features=10, bias=True,
              activation_function="torch.nn.modules.activation.Tanh")]
# EmbeddingGemma's: wider and back.
TWO_DENSE = [
    dict(in_features=8, out_features=13, bias=False,
         activation_function="torch.nn.modules.linear.Identity"),
    dict(in_features=13, out_features=8, bias=False,
         activation_function="torch.nn.modules.activation.Tanh")]


def put_dense(layers):
    def put(family, folder):
        g = torch.Generator().manual_seed(5)
        for i, words in enumerate(layers, 2):
            n, m = words["out_features"], words["in_features"]
            parts = {"linear.weight": torch.randn(n, m, generator=g) * 0.3}
            if words["bias"]:
                parts["linear.bias"] = torch.randn(n, generator=g) * 0.3
            (folder / f"{i}_Dense").mkdir(exist_ok=True)
            save_file(parts, folder / f"{i}_Dense" / "model.safetensors")
    return put


def dense_too(pooled, layers):
    """Behind the pooling; the weights are those that put_dense made."""
    def rows(family, out, model):
        row = pooled(family, out, model)
        for i, words in enumerate(layers, 2):
            parts = load_file(pathlib.Path(model.name_or_path) / f"{i}_Dense"
                              / "model.safetensors")
            row = torch.nn.functional.linear(
                row, parts["linear.weight"], parts.get("linear.bias"))
            row = getattr(torch.nn, words["activation_function"].split(".")[
                -1])()(row)
        return row / row.norm(dim=-1, keepdim=True)
    return rows


def sentences(name, model, config, words, pool, normalize=False, types=False,
              dense=(), **more):
    """A folder as sentence-transformers writes it."""
    steps = [("Transformer", ""), ("Pooling", "1_Pooling")]
    if dense:
        steps += [("Dense", f"{i}_Dense") for i, _ in enumerate(dense, 2)]
        more["finish"] = put_dense(dense)
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens",
             "weightedmean_tokens", "lasttoken")
    flag = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens",
            "lasttoken": "lasttoken"}[pool]
    extra = {
        "1_Pooling/config.json": {
            "word_embedding_dimension": words["hidden_size"],
            **{f"pooling_mode_{m}": m == flag for m in modes},
            "include_prompt": True},
        "sentence_bert_config.json": {"max_seq_length": 12,
                                      "do_lower_case": False},
        "config_sentence_transformers.json": {
            "__version__": {"sentence_transformers": "3.0.1",
                            "transformers": "4.41.2", "pytorch": "2.3.0"},
            "prompts": {}, "default_prompt_name": None,
            "similarity_fn_name": "cosine"},
    }
    for i, layer in enumerate(dense, 2):
        extra[f"{i}_Dense/config.json"] = layer
    if normalize:
        steps.append(("Normalize", f"{len(steps)}_Normalize"))
    extra["modules.json"] = [
        {"idx": i, "name": str(i), "path": path,
         "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(steps)]
    rows = finished(pool, normalize and not dense)
    return Family(name, model, config, words,
                  encoder(dense_too(rows, dense) if dense else rows, types),
                  lengths=(1, 7, 12), extra=extra, **more)


def family(name, model, config, words, rows, types=False, ends=None, **more):
    return Family(name, model, config, words, encoder(rows, types, ends),
                  **more)


def bert(name, what, rows, words=BERT, **more):
    return family(name, f"Bert{what}", "BertConfig", words, rows, True, **more)


def distilbert(name, what, rows, **words):
    return family(name, f"DistilBert{what}", "DistilBertConfig",
                  {**DISTILBERT, **words}, rows)


def roberta(name, what, rows, **words):
    return family(name, f"Roberta{what}", "RobertaConfig",
                  {**ROBERTA, **words}, rows)


def electra(name, what, rows, words=ELECTRA, **more):
    return family(name, f"Electra{what}", "ElectraConfig", words, rows, True,
                  **more)


def albert(name, what, rows, **words):
    return family(name, f"Albert{what}", "AlbertConfig",
                  {**ALBERT, **words}, rows, True)


def mpnet(name, what, rows, **words):
    return family(name, f"MPNet{what}", "MPNetConfig",
                  {**MPNET, **words}, rows)


def modern(name, what, rows, drop=(), **words):
    ropes = {"sliding_attention": 20000.0, "full_attention": 90000.0}
    return family(name, f"ModernBert{what}", "ModernBertConfig",
                  {**MODERN, **words}, rows, drop=drop, rope={
                      kind: {"rope_type": "default", "rope_theta": base}
                      for kind, base in ropes.items()},
                  four={"global_rope_theta": 90000.0,
                        "local_rope_theta": 20000.0})


def euro(name, what, rows, **words):
    return family(name, f"EuroBert{what}", "EuroBertConfig",
                  {**EURO, **words}, rows, rope=ROPE)


def jina(name, what, rows, **words):
    return family(name, f"JinaEmbeddingsV3{what}", "JinaEmbeddingsV3Config",
                  {**JINA, **words}, rows, rope=dict(ROPE, rope_theta=20000.0))


def clip(name, what, rows, words=CLIP, **more):
    return family(name, f"CLIPText{what}", "CLIPTextConfig", words, rows,
                  ends=42, **more)


FAMILIES = [
    bert("bert", "Model", hidden),
    bert("bert-mlm", "ForMaskedLM", logits, dict(BERT, hidden_act="gelu_new"),
         dtype="float16"),
    bert("bert-old", "ForPreTraining", lambda f, out, m: out.prediction_logits,
         finish=old_names),
    bert("bert-classify", "ForSequenceClassification", logits,
         dict(BERT, **LABELS)),
    bert("bert-tokens", "ForTokenClassification", logits,
         dict(BERT, num_labels=5, type_vocab_size=3)),
    bert("bert-answers", "ForQuestionAnswering", span, shard="12KB"),
    bert("bert-reranker", "ForSequenceClassification", logits,
         dict(BERT, num_labels=1)),
    distilbert("distilbert", "Model", hidden),
    distilbert("distilbert-mlm", "ForMaskedLM", logits, activation="relu"),
    distilbert("distilbert-classify", "ForSequenceClassification", logits),
    roberta("roberta", "Model", hidden),
    roberta("roberta-mlm", "ForMaskedLM", logits),
    roberta("roberta-classify", "ForSequenceClassification", logits, **LABELS),
    family("xlm-roberta", "XLMRobertaForTokenClassification",
           "XLMRobertaConfig", dict(ROBERTA, **LABELS), logits),
    electra("electra", "Model", hidden),
    electra("electra-discriminator", "ForPreTraining", one_logit,
            lengths=(4, 7, 16)),
    electra("electra-generator", "ForMaskedLM", logits),
    electra("electra-classify", "ForSequenceClassification", logits,
            dict(ELECTRA, embedding_size=15)),
    albert("albert", "Model", hidden, num_hidden_groups=3),
    albert("albert-mlm", "ForMaskedLM", logits),
    albert("albert-classify", "ForSequenceClassification", logits, **LABELS),
    mpnet("mpnet", "Model", hidden),
    mpnet("mpnet-mlm", "ForMaskedLM", logits),
    mpnet("mpnet-classify", "ForSequenceClassification", logits),
    # With a bias of the output's own, which transformers 4 ties all the same.
    *(family(f"{name}-untied", f"{stem}ForMaskedLM", f"{stem}Config",
             dict(words, num_hidden_layers=1, tie_word_embeddings=False),
             logits, only5=True)
      for name, stem, words in (("bert-mlm", "Bert", BERT),
                                ("roberta-mlm", "Roberta", ROBERTA),
                                ("albert-mlm", "Albert", ALBERT),
                                ("mpnet-mlm", "MPNet", MPNET))),
    modern("modernbert", "Model", hidden),
    modern("modernbert-mlm", "ForMaskedLM", logits, mlp_bias=True,
           attention_bias=True, norm_bias=True, drop=("layer_types",),
           global_attn_every_n_layers=2, num_hidden_layers=4),
    modern("modernbert-classify", "ForSequenceClassification", logits,
           classifier_pooling="mean", **LABELS),
    # The heads that no folder above has, on one layer each. In ModernBERT it
    # lacks a norm that all other layers have.
    *(family(f"{name}-{task}", f"{stem}For{what}", f"{stem}Config",
             dict(words, num_hidden_layers=1, **more), rows,
             types=name in ("albert", "electra"))
      for name, stem, words in (("albert", "Albert", ALBERT),
                                ("electra", "Electra", ELECTRA),
                                ("mpnet", "MPNet", MPNET))
      for task, what, rows, more in (
          ("tokens", "TokenClassification", logits, LABELS),
          ("answers", "QuestionAnswering", span, {}))),
    bert("bert-next", "ForNextSentencePrediction", logits,
         dict(BERT, num_hidden_layers=1)),
    distilbert("distilbert-tokens", "ForTokenClassification", logits,
               n_layers=1, **LABELS),
    distilbert("distilbert-answers", "ForQuestionAnswering", span, n_layers=1),
    modern("modernbert-tokens", "ForTokenClassification", logits,
           num_hidden_layers=1, **LABELS),
    modern("modernbert-answers", "ForQuestionAnswering", span,
           num_hidden_layers=1),
    modern("modernbert-choice", "ForMultipleChoice", logits,
           num_hidden_layers=1),
    electra("electra-choice", "ForMultipleChoice", logits,
            dict(ELECTRA, num_hidden_layers=1)),
    mpnet("mpnet-choice", "ForMultipleChoice", logits, num_hidden_layers=1),
    roberta("roberta-choice", "ForMultipleChoice", logits,
            num_hidden_layers=1),
    roberta("roberta-answers", "ForQuestionAnswering", span,
            num_hidden_layers=1),
    jina("jina3", "Model", hidden),
    jina("jina3-mlm", "ForMaskedLM", logits),
    jina("jina3-classify", "ForSequenceClassification", logits, **LABELS),
    jina("jina3-tokens", "ForTokenClassification", logits, **LABELS),
    jina("jina3-answers", "ForQuestionAnswering", span),
    euro("eurobert", "Model", hidden),
    euro("eurobert-mlm", "ForMaskedLM", logits, mlp_bias=True,
         attention_bias=True, head_dim=6),
    euro("eurobert-mlm-tied", "ForMaskedLM", logits, tie_word_embeddings=True),
    euro("eurobert-classify", "ForSequenceClassification", logits,
         classifier_pooling="mean", **LABELS),
    euro("eurobert-first", "ForSequenceClassification", logits,
         classifier_pooling="bos", **LABELS),
    euro("eurobert-late", "ForSequenceClassification", logits, **LABELS),
    euro("eurobert-tokens", "ForTokenClassification", logits, **LABELS),
    family("xlm-roberta-xl", "XLMRobertaXLModel", "XLMRobertaXLConfig", XL,
           hidden),
    family("xlm-roberta-xl-mlm", "XLMRobertaXLForMaskedLM",
           "XLMRobertaXLConfig", XL, logits),
    family("xlm-roberta-xl-classify",
           "XLMRobertaXLForSequenceClassification", "XLMRobertaXLConfig",
           dict(XL, **LABELS), logits),
    # A window that stays as it is, however often the class reads and saves it.
    family("gemma3-both", "Gemma3TextModel", "Gemma3TextConfig", BOTH, hidden,
           **BOTH_ROPE),
    sentences("gemma3-sentences", "Gemma3TextModel", "Gemma3TextConfig", BOTH,
              "mean", normalize=True, dense=TWO_DENSE, **BOTH_ROPE),
    family("siglip-text", "SiglipTextModel", "SiglipTextConfig", SIGLIP,
           hidden, finish=prefixed),
    family("siglip", "SiglipModel", "SiglipConfig",
           dict(text_config=dict(SIGLIP, projection_size=7),
                vision_config=VISION), pooled),
    vit("vit", "Model", hidden),
    vit("vit-classify", "ForImageClassification", logits, qkv_bias=False,
        **LABELS),
    deit("deit", "Model", hidden),
    deit("deit-classify", "ForImageClassification", logits, qkv_bias=False,
         **LABELS),
    dino("dinov2"),
    dino("dinov2-swiglu", use_swiglu_ffn=True, qkv_bias=False),
    clip("clip-text", "Model", hidden, finish=prefixed),
    clip("clip-text-projected", "ModelWithProjection", projected),
    clip("clip-text-legacy", "ModelWithProjection", projected,
         dict(CLIP, eos_token_id=2, hidden_act="gelu")),
    family("clip", "CLIPModel", "CLIPConfig",
           dict(text_config=CLIP, vision_config=VISION, projection_dim=9),
           text_of_clip, ends=42),
    family("nomic-bert", "NomicBertModel", "NomicBertConfig", NOMIC, hidden,
           True, rope={"rope_theta": 500.0, "rope_type": "default"},
           extra={"config4.json": OLD_NOMIC}),
    sentences("sentences-mean", "BertModel", "BertConfig", BERT, "mean",
              normalize=True, types=True),
    sentences("sentences-dense", "BertModel", "BertConfig", BERT, "mean",
              normalize=True, types=True, dense=DENSE),
    sentences("sentences-cls", "XLMRobertaModel", "XLMRobertaConfig", ROBERTA,
              "cls"),
    sentences("sentences-max", "MPNetModel", "MPNetConfig", MPNET, "max"),
]
