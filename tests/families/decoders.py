"""Families of decoders (golden.py)."""
import torch

from golden import Family, decoder, ids_of, numbers

LLAMA = dict(vocab_size=43, hidden_size=24, intermediate_size=33,
             num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=16,
             bos_token_id=1, eos_token_id=2, pad_token_id=None)
GPT2 = dict(vocab_size=43, n_positions=16, n_embd=21, n_layer=2, n_head=3,
            n_inner=34, bos_token_id=1, eos_token_id=2)
NEOX = dict(vocab_size=43, hidden_size=24, intermediate_size=33,
            num_hidden_layers=2, num_attention_heads=3,
            max_position_embeddings=16, bos_token_id=0, eos_token_id=2)
OPT = dict(vocab_size=43, hidden_size=21, ffn_dim=34, num_hidden_layers=2,
           num_attention_heads=3, max_position_embeddings=16)
BLOOM = dict(vocab_size=43, hidden_size=24, n_layer=2, n_head=4)
FALCON = dict(vocab_size=43, hidden_size=24, num_hidden_layers=2,
              num_attention_heads=4, max_position_embeddings=16,
              ffn_hidden_size=33, bos_token_id=1, eos_token_id=2)

TINY = dict(LLAMA, vocab_size=29, hidden_size=8, num_attention_heads=2,
            num_key_value_heads=1, intermediate_size=9)
GPT_NEO = dict(vocab_size=29, max_position_embeddings=16, hidden_size=8,
               num_layers=3, num_heads=2, window_size=5, bos_token_id=1,
               eos_token_id=2, attention_types=[[["global", "local"], 1],
                                                [["local"], 1]])
GLM_MOE = dict(n_routed_experts=5, n_shared_experts=2, num_experts_per_tok=2,
               moe_intermediate_size=5, routed_scaling_factor=1.5, head_dim=6)

QWEN2_MOE = dict(num_experts=5, num_experts_per_tok=2,
                 moe_intermediate_size=7, shared_expert_intermediate_size=11)


DEEPSEEK = dict(
    hidden_size=18, num_attention_heads=3, num_key_value_heads=3,
    num_hidden_layers=3, first_k_dense_replace=1, intermediate_size=19,
    q_lora_rank=9, kv_lora_rank=12, qk_nope_head_dim=6, qk_rope_head_dim=4,
    v_head_dim=5, n_routed_experts=8, n_shared_experts=2,
    num_experts_per_tok=3, n_group=4, topk_group=2, moe_intermediate_size=7)


PERSIMMON = {k: v for k, v in TINY.items() if k != "num_key_value_heads"}


def theta(base=10000.0, kind="default", **more):
    return {"rope_theta": base, "rope_type": kind, **more}


FAR = theta(10000.0, "yarn", factor=4.0, beta_fast=8.0, beta_slow=0.5,
            mscale=0.7, mscale_all_dim=0.9,
            original_max_position_embeddings=4)


def rms_eps(words, **more):
    """An eps that matters."""
    return {**words, "rms_norm_eps": 1e-3, **more}


def causal(name, stem, words, rope=None, config=None, **more):
    return Family(name, f"{stem}ForCausalLM", config or f"{stem}Config", words,
                  decoder, rope, **more)


def gpt2(name, words=GPT2, **more):
    return Family(name, "GPT2LMHeadModel", "GPT2Config", words, decoder, **more)


def gemma3(name, words, rope, four, **more):
    return causal(name, "Gemma3", rms_eps_small(
        head_dim=8, sliding_window=5, **words),
        dict(sliding_attention=theta(), full_attention=rope),
        "Gemma3TextConfig", four=four, **more)


def neox(name, rope, **words):
    return causal(name, "GPTNeoX", {**NEOX, **words}, rope,
                  old={"rope_theta": "rotary_emb_base",
                       "partial_rotary_factor": "rotary_pct"})


def falcon(name, rope=theta(), **words):
    return causal(name, "Falcon", {**FALCON, **words}, rope)


def llama(name, rope=theta(), words=None, **more):
    return causal(name, "Llama", rms_eps(LLAMA, **(words or {})), rope, **more)


def rms_eps_small(**more):
    """Of several layers, which differ."""
    return rms_eps(LLAMA, hidden_size=16, num_attention_heads=2,
                   num_key_value_heads=1, intermediate_size=19, **more)


def tiny(**more):
    return rms_eps(TINY, **more)


def moe(name, stem, rope=theta(), words=None, **more):
    return causal(name, stem, rms_eps_small(**(words or {})), rope, **more)


def deepseek(name, stem, rope=theta(), words=None, **more):
    return causal(name, stem, rms_eps({**LLAMA, **DEEPSEEK}, **(words or {})),
                  rope, **more)


def beside_pictures(name, stem, kind, words, vision, four=None, **more):
    """A model of text in one of pictures and text."""
    return Family(
        name, f"{stem}ForConditionalGeneration", f"{stem}Config", dict(
            text_config=dict(words, model_type=kind),
            vision_config=dict(
                model_type=vision, hidden_size=8, intermediate_size=9,
                num_hidden_layers=1, num_attention_heads=2, image_size=8,
                patch_size=4), **more), decoder, four=four)


def loud(model):
    """Some gates and values are clamped."""
    with torch.no_grad():
        for layer in model.model.layers:
            layer.mlp.experts.gate_up_proj.mul_(6)


def corrected(model):
    """Sums that the choice of experts alone has."""
    with torch.no_grad():
        for layer in model.model.layers:
            if hasattr(layer.mlp, "gate"):
                layer.mlp.gate.e_score_correction_bias.normal_(0, 0.2)


def rows(family, model):
    """Rows of the last layer, behind its norm."""
    cases = []
    for n in family.lengths:
        ids = ids_of(family, n)
        with torch.no_grad():
            out = model(input_ids=torch.tensor([ids]), use_cache=False)
        cases.append({"ids": ids,
                      "rows": numbers(out.last_hidden_state[0].float())})
    return {"kind": "encoder", "cases": cases}


def last(family, model):
    """The last row of each, of length 1: sentence-transformers' lasttoken."""
    found = rows(family, model)
    for case in found["cases"]:
        row = torch.tensor(case["rows"][-1])
        case["rows"] = [numbers(row / row.norm())]
    return found


def classified(family, model):
    """What a head of classes gives: one row, or a row an id."""
    cases = []
    for n in family.lengths:
        ids = ids_of(family, n)
        with torch.no_grad():
            out = model(input_ids=torch.tensor([ids]), use_cache=False)
        found = out.logits if hasattr(out, "logits") else torch.stack(
            [out.start_logits, out.end_logits], dim=-1)
        cases.append({"ids": ids, "rows": numbers(
            found.reshape(-1, found.shape[-1]).float())})
    return {"kind": "encoder", "cases": cases}


MODULES = {
    "modules.json": [
        {"idx": i, "name": str(i), "path": path,
         "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate((
            ("", "Transformer"), ("1_Pooling", "Pooling"),
            ("2_Normalize", "Normalize")))],
    "1_Pooling/config.json": {
        "word_embedding_dimension": 24, "pooling_mode_cls_token": False,
        "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": False,
        "pooling_mode_lasttoken": True, "include_prompt": True},
}


FAMILIES = [
    Family("llama-classify", "LlamaForSequenceClassification", "LlamaConfig",
           tiny(num_labels=3), classified, theta()),
    Family("llama-tokens", "LlamaForTokenClassification", "LlamaConfig",
           tiny(num_labels=3), classified, theta()),
    Family("llama-answers", "LlamaForQuestionAnswering", "LlamaConfig",
           tiny(), classified, theta()),
    Family("gpt2-tokens", "GPT2ForTokenClassification", "GPT2Config",
           dict(GPT2, vocab_size=29, n_embd=8, n_head=2, n_inner=11,
                num_labels=3), classified),
    gpt2("gpt2"),
    gpt2("gpt2-bare", dict(GPT2, n_inner=None, activation_function="gelu",
                           scale_attn_weights=False), bare=True),
    neox("gpt-neox", theta(partial_rotary_factor=0.5)),
    neox("gpt-neox-serial", theta(500.0, partial_rotary_factor=1.0),
         use_parallel_residual=False, hidden_act="gelu_fast"),
    causal("gpt-j", "GPTJ", dict(GPT2, n_embd=24, rotary_dim=4)),
    causal("opt", "OPT", OPT),
    causal("opt-350m", "OPT", dict(OPT, do_layer_norm_before=False,
                                   word_embed_proj_dim=11)),
    causal("bloom", "Bloom", BLOOM),
    causal("bloom-heads", "Bloom", dict(BLOOM, hidden_size=25, n_head=5,
                                        vocab_size=31), bare=True),
    falcon("falcon"),
    falcon("falcon-40b", new_decoder_architecture=True, num_kv_heads=2),
    falcon("falcon-11b", new_decoder_architecture=True, num_kv_heads=2,
           num_ln_in_parallel_attn=1, bias=True, rope=theta(500042.0)),
    # Its eager form adds the biases twice.
    causal("falcon-rw", "Falcon", dict(
        FALCON, alibi=True, multi_query=False, parallel_attn=False, bias=True),
        attention="sdpa"),
    causal("phi", "Phi", dict(LLAMA, hidden_size=32, intermediate_size=29,
                              layer_norm_eps=1e-3),
           theta(partial_rotary_factor=0.5), dtype="float16"),
    causal("phi3", "Phi3", rms_eps(LLAMA), theta()),
    causal("phi3-longrope", "Phi3", rms_eps(
        LLAMA, max_position_embeddings=24,
        original_max_position_embeddings=8, sliding_window=11),
        theta(kind="longrope", short_factor=[1.0, 1.25, 1.5],
              long_factor=[1.5, 3.0, 6.25]),
        lengths=(1, 12, 8, 24), max_len={1: 8, 8: 8},
        old={"rope_type": "type"}),
    causal("stablelm", "StableLm",
           dict(LLAMA, hidden_size=32, intermediate_size=29,
                layer_norm_eps=1e-3, use_qkv_bias=True),
           theta(partial_rotary_factor=0.25)),
    causal("stablelm-parallel", "StableLm",
           dict(LLAMA, use_parallel_residual=True, tie_word_embeddings=True),
           theta(partial_rotary_factor=0.34)),
    causal("stablelm-norms", "StableLm", dict(
        TINY, layer_norm_eps=1e-3, qk_layernorm=True, num_attention_heads=4,
        num_key_value_heads=2, hidden_size=16), theta(
        partial_rotary_factor=0.5)),
    causal("hunyuan", "HunYuanDenseV1", tiny(
        head_dim=6, attention_bias=True), theta(
        kind="dynamic", alpha=50.0, factor=1.0)),
    causal("hunyuan-moe", "HunYuanMoEV1", tiny(
        head_dim=6, num_experts=5, moe_topk=2), theta(30000.0), four=False),
    causal("starcoder2", "Starcoder2",
           dict(LLAMA, hidden_size=16, intermediate_size=17,
                sliding_window=5), theta(999999.0), dtype="float64"),
    causal("cohere", "Cohere", dict(LLAMA, layer_norm_eps=1e-3,
                                    logit_scale=0.25), theta(500000.0)),
    causal("cohere-norms", "Cohere", dict(
        TINY, layer_norm_eps=1e-3, use_qk_norm=True, num_attention_heads=4,
        num_key_value_heads=2, hidden_size=16), theta(500000.0)),
    llama("llama"),
    llama("llama-3", theta(500000.0, "llama3", factor=8.0, low_freq_factor=1.0,
                           high_freq_factor=4.0,
                           original_max_position_embeddings=8),
          dict(tie_word_embeddings=True, eos_token_id=[2, 0], head_dim=8,
               num_key_value_heads=1), shard="12KB", dtype="bfloat16"),
    llama("llama-linear", theta(kind="linear", factor=4.0),
          dict(attention_bias=True, mlp_bias=True),
          old={"rope_type": "type"}),
    llama("llama-dynamic", theta(kind="dynamic", factor=2.0),
          lengths=(1, 7, 16, 24), max_len={24: 24}),
    llama("llama-yarn", theta(kind="yarn", factor=4.0, beta_fast=8.0,
                              beta_slow=0.5,
                              original_max_position_embeddings=4)),
    causal("mistral", "Mistral", rms_eps(LLAMA, sliding_window=5, head_dim=10),
           theta(), dtype="bfloat16"),
    causal("qwen2", "Qwen2", rms_eps(LLAMA), theta(1000000.0)),
    causal("qwen2-window", "Qwen2", rms_eps(
        LLAMA, use_sliding_window=True, sliding_window=6, max_window_layers=0,
        tie_word_embeddings=True), theta()),
    causal("qwen3", "Qwen3", rms_eps(LLAMA, head_dim=8), theta(1000000.0)),
    causal("gemma", "Gemma", rms_eps(LLAMA, head_dim=10), theta()),
    causal("phi-norms", "Phi", dict(LLAMA, layer_norm_eps=1e-3,
                                    qk_layernorm=True, hidden_size=32,
                                    intermediate_size=29),
           theta(partial_rotary_factor=0.5)),
    causal("gpt-bigcode", "GPTBigCode", GPT2),
    causal("mpt", "Mpt", dict(d_model=24, n_heads=4, n_layers=2,
                              max_seq_len=16, vocab_size=43)),
    causal("codegen", "CodeGen", dict(GPT2, n_embd=32, n_head=4,
                                      rotary_dim=4)),
    causal("glm", "Glm", rms_eps(LLAMA, head_dim=8), theta(
        partial_rotary_factor=0.5)),
    causal("glm4", "Glm4", rms_eps(LLAMA, head_dim=8), theta(
        partial_rotary_factor=0.5)),
    causal("granite", "Granite", rms_eps(
        LLAMA, embedding_multiplier=3.0, logits_scaling=2.5,
        residual_multiplier=0.375, attention_multiplier=0.4), theta()),
    causal("olmo2", "Olmo2", rms_eps(LLAMA), theta(500000.0)),
    causal("olmo3", "Olmo3", rms_eps_small(num_hidden_layers=5,
                                           sliding_window=5),
           dict(sliding_attention=theta(500000.0), full_attention=theta(
               500000.0, "yarn", factor=2.0,
               original_max_position_embeddings=8)),
           four=dict(rope_theta=500000.0, rope_scaling=dict(
               rope_type="yarn", factor=2.0,
               original_max_position_embeddings=8))),
    causal("gemma2", "Gemma2", rms_eps_small(
        num_hidden_layers=5, head_dim=10, sliding_window=5,
        query_pre_attn_scalar=12, attn_logit_softcapping=2.0,
        final_logit_softcapping=1.5), theta()),
    causal("gemma2-old", "Gemma2", rms_eps_small(
        num_hidden_layers=3, head_dim=8, sliding_window=5), theta(),
        drop=("layer_types",)),
    gemma3("gemma3", dict(num_hidden_layers=7, query_pre_attn_scalar=12),
           theta(1000000.0, "linear", factor=4.0),
           dict(rope_theta=1000000.0, rope_scaling=dict(rope_type="linear",
                                                        factor=4.0))),
    gemma3("gemma3-old", dict(num_hidden_layers=4, sliding_window_pattern=3,
                              final_logit_softcapping=1.5,
                              attn_logit_softcapping=0.5),
           theta(500000.0), dict(rope_theta=500000.0), drop=("layer_types",)),
    causal("smollm3", "SmolLM3", rms_eps_small(
        num_hidden_layers=6, no_rope_layer_interval=3, mlp_bias=True),
        theta(500000.0)),
    causal("smollm3-window", "SmolLM3", rms_eps_small(
        num_hidden_layers=5, use_sliding_window=True, sliding_window=5),
        theta(500000.0), drop=("layer_types", "no_rope_layers")),
    causal("qwen2-some", "Qwen2", rms_eps_small(
        num_hidden_layers=4, use_sliding_window=True, sliding_window=5,
        max_window_layers=1), theta(), drop=("layer_types",)),
    causal("helium", "Helium", tiny(
        head_dim=4, attention_bias=True, mlp_bias=True), theta(100000.0)),
    causal("ernie4_5", "Ernie4_5", tiny(
        head_dim=6, use_bias=True, tie_word_embeddings=False),
        theta(500000.0)),
    # Transformers computes it with Llama's class.
    Family("exaone", "AutoModelForCausalLM", "ExaoneConfig", tiny(
        head_dim=6, attention_bias=True, mlp_bias=True), decoder,
        theta(500000.0), four=False),
    causal("exaone4", "Exaone4", tiny(num_hidden_layers=5, sliding_window=5),
           theta(1000000.0)),
    causal("exaone4-full", "Exaone4", tiny(
        sliding_window=None, head_dim=6,
        layer_types=["full_attention"] * 2), theta(
        1000000.0, "llama3", factor=8.0, low_freq_factor=1.0,
        high_freq_factor=4.0, original_max_position_embeddings=8)),
    causal("seed-oss", "SeedOss", tiny(
        head_dim=6, attention_bias=True, attention_out_bias=True,
        mlp_bias=True), theta()),
    causal("arcee", "Arcee", tiny(head_dim=6, attention_bias=True,
                                  mlp_bias=True), theta()),
    causal("jais2", "Jais2", dict(TINY, layer_norm_eps=1e-3), theta(500000.0)),
    causal("nemotron", "Nemotron", dict(
        TINY, norm_eps=1e-3, head_dim=8, attention_bias=True, mlp_bias=True),
        theta(partial_rotary_factor=0.5)),
    causal("persimmon", "Persimmon", dict(PERSIMMON, layer_norm_eps=1e-3),
           theta(25000.0, partial_rotary_factor=0.5)),
    causal("persimmon-bare", "Persimmon", dict(
        PERSIMMON, qk_layernorm=False, hidden_act="gelu",
        tie_word_embeddings=True), theta(partial_rotary_factor=1.0)),
    causal("olmo", "Olmo", dict(TINY, clip_qkv=1.25, attention_bias=True),
           theta()),
    causal("cohere2", "Cohere2", dict(
        TINY, layer_norm_eps=1e-3, logit_scale=0.25, num_hidden_layers=5,
        sliding_window=5, attention_bias=True), theta(50000.0)),
    causal("ministral", "Ministral", tiny(
        num_hidden_layers=3, sliding_window=5, head_dim=6,
        layer_types=["full_attention", "sliding_attention",
                     "full_attention"]), theta()),
    # Transformers 4 lacks the class.
    causal("ministral3", "Ministral3", tiny(head_dim=6), theta(
        1000000.0, "yarn", factor=4.0, beta_fast=8.0, beta_slow=0.5,
        mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.6,
        original_max_position_embeddings=4), four=False),
    # tied by the key at the top, which transformers 4 does not read
    beside_pictures("mistral3", "Mistral3", "mistral", tiny(
        head_dim=6, tie_word_embeddings=False), "pixtral", four=False,
        image_token_index=28),
    beside_pictures("llava", "Llava", "llama", tiny(), "clip_vision_model",
                    image_token_index=28),
    beside_pictures("gemma3-pictures", "Gemma3", "gemma3_text", rms_eps_small(
        head_dim=8, sliding_window=5, sliding_window_pattern=2,
        final_logit_softcapping=1.5), "siglip_vision_model",
        mm_tokens_per_image=1, boi_token_index=26, eoi_token_index=27,
        image_token_index=28),
    causal("gpt-neo", "GPTNeo", GPT_NEO),
    causal("gpt-neo-old", "GPTNeo", dict(
        GPT_NEO, attention_types=[[["local", "global"], 1]], num_layers=2,
        intermediate_size=11, activation_function="relu"),
        drop=("attention_layers",)),
    causal("xglm", "XGLM", dict(
        vocab_size=29, max_position_embeddings=16, d_model=8, ffn_dim=11,
        num_layers=2, attention_heads=2)),
    gpt2("gpt2-inverse", dict(GPT2, vocab_size=29, n_embd=8, n_head=2,
                              n_inner=11, scale_attn_by_inverse_layer_idx=True,
                              reorder_and_upcast_attn=True)),
    causal("olmoe", "Olmoe", tiny(num_experts=5, num_experts_per_tok=2,
                                  intermediate_size=7),
           theta()),
    causal("olmoe-clip", "Olmoe", tiny(
        num_experts=3, num_experts_per_tok=2, intermediate_size=5,
        clip_qkv=0.8), theta()),
    causal("granitemoe", "GraniteMoe", tiny(
        num_local_experts=4, intermediate_size=5, embedding_multiplier=3.0,
        logits_scaling=2.5, residual_multiplier=0.375,
        attention_multiplier=0.4, attention_bias=True), theta()),
    causal("glm4-moe", "Glm4Moe", tiny(**GLM_MOE), theta(
        partial_rotary_factor=0.5), alter=corrected),
    causal("glm4-moe-groups", "Glm4Moe", tiny(**dict(
        GLM_MOE, n_group=2, topk_group=1, n_routed_experts=8, use_qk_norm=True,
        attention_bias=True, norm_topk_prob=False, first_k_dense_replace=0,
        num_hidden_layers=1)), theta(
        partial_rotary_factor=1.0), alter=corrected, dtype="bfloat16"),
    moe("mixtral", "Mixtral", words=dict(num_local_experts=4)),
    moe("qwen2-moe", "Qwen2Moe", words=QWEN2_MOE),
    moe("qwen2-moe-dense", "Qwen2Moe", words=dict(
        QWEN2_MOE, num_hidden_layers=3, mlp_only_layers=[1])),
    moe("qwen3-moe", "Qwen3Moe", words=dict(
        num_experts=6, num_experts_per_tok=3, moe_intermediate_size=7,
        norm_topk_prob=True, head_dim=8)),
    moe("gpt-oss", "GptOss", theta(
        150000.0, "yarn", factor=2.0, beta_fast=8.0, beta_slow=0.5,
        truncate=False, original_max_position_embeddings=8), dict(
            num_local_experts=4, num_experts_per_tok=2, head_dim=8,
            num_hidden_layers=3, sliding_window=5), alter=loud),
    # What a folder has that says nothing of `truncate`.
    moe("gpt-oss-truncated", "GptOss", theta(
        150000.0, "yarn", factor=2.0, beta_fast=8.0, beta_slow=0.5,
        original_max_position_embeddings=8), dict(
            num_local_experts=2, num_experts_per_tok=1, head_dim=8,
            num_hidden_layers=1)),
    # Version 4 leaves mscale_all_dim out of the scale of the scores.
    deepseek("deepseek-v2", "DeepseekV2", FAR, dict(
        topk_method="group_limited_greedy", routed_scaling_factor=1.5),
        only5=True),
    deepseek("deepseek-v2-lite", "DeepseekV2", words=dict(
        q_lora_rank=None, n_group=1, topk_group=1, attention_bias=True)),
    deepseek("deepseek-v3", "DeepseekV3", FAR, alter=corrected),
    deepseek("deepseek-v3-halves", "DeepseekV3", words=dict(
        rope_interleave=False, attention_bias=True, tie_word_embeddings=True,
        first_k_dense_replace=0, norm_topk_prob=False),
        alter=corrected, dtype="bfloat16"),
    Family("llama-rows", "LlamaModel", "LlamaConfig", rms_eps(LLAMA), rows,
           theta()),
    Family("qwen3-sentences", "Qwen3Model", "Qwen3Config",
           rms_eps(LLAMA, head_dim=8, tie_word_embeddings=True), last, theta(),
           extra=MODULES),
]
