"""What fuzz.py draws of each family of decoders: a Drawn, whose options are
lists of values, one of which is taken, or functions of the random numbers and
of the words so far.

Not drawn is what transformers cannot run, or computes without sense:

- GPT-J with rotary_dim None: the wavelengths are the model's and not a head's.
- CodeGen with rotary_dim None, which its config rejects, or with a number of
  heads that its four parts do not divide.
- A partial_rotary_factor that turns an odd number of columns.
- Falcon with two norms before layers of the old form, or not parallel ones.
- GPT-2 with attention to an encoder that it does not have.
- truncate in one of two ropes, which transformers 5 does not read there.
- DeepSeek V2 with norm_topk_prob: its class does not read the key, and the code
  of its authors does.
"""
import dataclasses

BOOL = (False, True)
GATED = ("silu", "silu", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu")
PLAIN = ("gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "silu",
         "tanh", "quick_gelu")
UNGATED = ("relu2", "relu2", *PLAIN)
EPS = (1e-6, 1e-5, 1e-3)
TASKS = ("ForSequenceClassification", "ForTokenClassification",
         "ForQuestionAnswering")
LAYERS = (1, 2, 3)
LONGEST = (12, 16, 24)
SPECIAL = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)


@dataclasses.dataclass
class Drawn:
    """name: a model_type. models, config: classes of transformers, of which
    one that import takes is drawn. options:
    key -> values, or a function; drawn in this order. side: which ids attnc
    reads; "both": of an encoder-decoder. reads: ids, an image, or sound.
    longest: the key with the longest input; less: rows of its table that no id
    uses (RoBERTa). ends: the last id of the vocabulary ends an input (CLIP).
    text, vision: model_types inside one of pictures and text."""
    name: str
    models: tuple
    config: str
    options: dict
    side: str = "target"
    longest: str = "max_position_embeddings"
    less: int = 0
    attention: str = "eager"
    reads: str = "ids"
    ends: bool = False
    text: str = ""
    vision: str = ""

    def config_words(self, words):
        return words if not self.text else dict(
            text_config=dict(words, model_type=self.text),
            vision_config=dict(
                model_type=self.vision, hidden_size=8, intermediate_size=9,
                num_hidden_layers=1, num_attention_heads=2, image_size=8,
                patch_size=4), image_token_index=3)

    def draw(self, r):
        words = dict(SPECIAL, vocab_size=r.randint(30, 60))
        if self.reads == "image":
            words = {}
        for key, option in self.options.items():
            value = option(r, words) if callable(option) else r.choice(option)
            if key.startswith("+"):
                words.update(value)
            else:
                words[key] = value
        return words

    def max_len(self, words):
        return words.get(self.longest, 16) - self.less


# ---- what several families have ----
def heads(r, words):
    """Heads, fewer of keys, and widths, of which head_dim may be its own."""
    h, d = r.randint(1, 6), r.choice((4, 6, 8, 10))
    divisors = [k for k in range(1, h + 1) if h % k == 0]
    return dict(num_attention_heads=h, num_key_value_heads=r.choice(divisors),
                hidden_size=h * d)


def own_width(r, words):
    """head_dim beside the model's width."""
    found = heads(r, words)
    found["head_dim"] = r.choice((4, 6, 8, 12))
    return found


def any_width(r, words):
    return own_width(r, words) if r.random() < 0.5 else heads(r, words)


def square(r, words):
    """head_dim, and heads as wide as the model."""
    found = heads(r, words)
    found["head_dim"] = found["hidden_size"] // found["num_attention_heads"]
    return found


def equal_heads(r, words):
    found = heads(r, words)
    del found["num_key_value_heads"]
    return found


def rope_of(*kinds, partial=()):
    def rope(r, words):
        kind = r.choice(kinds)
        found = {"rope_type": kind,
                 "rope_theta": r.choice((500.0, 10000.0, 1000000.0))}
        original = r.choice((4, 6, 8))
        if kind != "default":
            found["factor"] = r.choice((2.0, 4.0, 1.5))
        if kind == "llama3":
            found.update(low_freq_factor=1.0, high_freq_factor=4.0,
                         original_max_position_embeddings=original)
        if kind == "yarn":
            found["original_max_position_embeddings"] = original
            more = dict(beta_fast=r.choice((8.0, 32.0)),
                        beta_slow=r.choice((0.5, 1.0)), attention_factor=1.25,
                        truncate=r.choice(BOOL), mscale=0.75,
                        mscale_all_dim=0.5)
            found.update({k: x for k, x in more.items() if r.random() < 0.4})
        if partial:
            d = words.get("head_dim") or (words["hidden_size"]
                                          // words["num_attention_heads"])
            found["partial_rotary_factor"] = r.choice(
                [p for p in partial if int(d * p) > 0 and int(d * p) % 2 == 0])
        return found
    return rope


ANY_ROPE = rope_of("default", "default", "linear", "dynamic", "llama3", "yarn")


def hunyuan_rope(r, words):
    """alpha changes the wavelengths of texts of any length."""
    found = ANY_ROPE(r, words)
    if found["rope_type"] == "dynamic" and r.random() < 0.5:
        found["alpha"] = r.choice((2.0, 1000.0))
    return found


def growing_rope(r, words):
    """A YaRN that also scales queries with their position. The class reads the
    original length of every rope, and only this one has it."""
    return dict(rope_of("yarn")(r, words),
                llama_4_scaling_beta=r.choice((0.0, 0.1, 0.5)))


def windows(r, words):
    """A window for some layers, by layer_types or by other words."""
    n = words["num_hidden_layers"]
    found = dict(sliding_window=r.choice((3, 5, 8)))
    if r.random() < 0.6:
        found["layer_types"] = r.choices(
            ("sliding_attention", "full_attention"), k=n)
    return found


def some_windows(r, words):
    found = dict(use_sliding_window=r.choice(BOOL),
                 sliding_window=r.choice((3, 5, 8)))
    if r.random() < 0.6 and "no_rope_layer_interval" not in words:
        found["max_window_layers"] = r.randint(0, words["num_hidden_layers"])
    return found


def experts(r, words):
    n = r.choice((2, 4, 5))
    return dict(num_experts=n, num_experts_per_tok=r.randint(1, n),
                moe_intermediate_size=r.choice((7, 8, 11)),
                norm_topk_prob=r.choice(BOOL),
                decoder_sparse_step=r.choice((1, 1, 2)),
                mlp_only_layers=r.choice(([], [], [0])))


def local_experts(r, words):
    n = r.choice((2, 4, 5))
    return dict(num_local_experts=n, num_experts_per_tok=r.randint(1, n))


def causal(name, stem, options, config=None, models=None, **more):
    models = models or (f"{stem}ForCausalLM",) * 6 + (f"{stem}Model",) * 2
    return Drawn(name, models + tuple(stem + task for task in TASKS),
                 config or f"{stem}Config", options, **more)


def llama(name, stem, width=any_width, rope=ANY_ROPE, acts=GATED,
          act="hidden_act", eps="rms_norm_eps", config=None, models=None,
          **options):
    """What has Llama's words for its sizes. eps: "": the norms have none."""
    return causal(name, stem, {
        "num_hidden_layers": LAYERS, "max_position_embeddings": LONGEST,
        "intermediate_size": (11, 16, 33), "+width": width, act: acts,
        **({eps: EPS} if eps else {}), "tie_word_embeddings": BOOL,
        "rope_parameters": rope, **options}, config, models)


def gpt(name, stem, models=None, longest="n_positions", counts=(1, 2, 4),
        **options):
    def width(r, words):
        h = r.choice(counts)
        return dict(n_head=h, n_embd=h * r.choice((4, 6, 8)))
    return causal(name, stem, {
        "n_layer": LAYERS, longest: LONGEST, "+width": width,
        "n_inner": (None, 11, 34), "activation_function": PLAIN,
        "layer_norm_epsilon": EPS, "tie_word_embeddings": BOOL, **options},
        models=models, longest=longest)


def yarn_deep(r, words):
    return rope_of("default", "yarn")(r, words)


def deepseek(r, words):
    h, n = r.choice((1, 2, 3)), words["num_hidden_layers"]
    groups = r.choice((1, 2, 4))
    return dict(
        num_attention_heads=h, num_key_value_heads=h,
        hidden_size=r.choice((12, 18)), q_lora_rank=r.choice((None, 9)),
        kv_lora_rank=12, qk_nope_head_dim=r.choice((4, 6)), qk_rope_head_dim=4,
        v_head_dim=r.choice((4, 5)), n_routed_experts=8,
        n_shared_experts=r.choice((1, 2)), n_group=groups,
        topk_group=r.randint(1, groups), moe_intermediate_size=7,
        num_experts_per_tok=2, first_k_dense_replace=r.randint(0, n),
        norm_topk_prob=r.choice(BOOL), attention_bias=r.choice(BOOL),
        routed_scaling_factor=r.choice((1.0, 2.5)))


def two_ropes(r, words):
    full = rope_of("default", "linear", "yarn")(r, words)
    full.pop("truncate", None)
    return dict(sliding_attention=rope_of("default")(r, words),
                full_attention=full)


def windows_or_none(r, words):
    found = windows(r, words)
    return found if r.random() < 0.7 else dict(
        sliding_window=None,
        layer_types=["full_attention"] * words["num_hidden_layers"])


def glm4_moe(r, words):
    groups = r.choice((1, 2))
    return dict(
        n_routed_experts=r.choice((4, 6)), num_experts_per_tok=2,
        n_shared_experts=r.choice((1, 2)), n_group=groups,
        topk_group=r.randint(1, groups), moe_intermediate_size=7,
        first_k_dense_replace=r.randint(0, words["num_hidden_layers"]),
        norm_topk_prob=r.choice(BOOL), use_qk_norm=r.choice(BOOL),
        routed_scaling_factor=r.choice((1.0, 2.5)))


def gpt_neo(r, words):
    h, n = r.choice((1, 2, 4)), r.choice((1, 2))
    kinds = r.choice((["global", "local"], ["local"], ["global"]))
    return dict(num_heads=h, hidden_size=h * r.choice((4, 6)),
                num_layers=n * len(kinds), attention_types=[[kinds, n]])


def xglm(r, words):
    h = r.choice((1, 2, 3))
    return dict(attention_heads=h, d_model=h * r.choice((4, 6)))


def longrope(r, words):
    """Phi 3's: factors for short and for long texts."""
    d = words.get("head_dim") or (words["hidden_size"]
                                  // words["num_attention_heads"])
    partial = r.choice((1.0, 1.0, 0.5))
    n = int(d * partial) // 2
    if r.random() < 0.5 or n * 2 != d * partial:
        return dict(rope_parameters=rope_of("default")(r, words))
    return dict(
        original_max_position_embeddings=r.choice((8, 40)),
        rope_parameters=dict(
            rope_type="longrope", rope_theta=10000.0,
            partial_rotary_factor=partial,
            short_factor=[1.0 + 0.25 * i for i in range(n)],
            long_factor=[1.5 * (i + 1) for i in range(n)]))


def falcon(r, words):
    h = r.choice((1, 2, 4))
    found = dict(num_attention_heads=h, hidden_size=h * r.choice((4, 6, 8)),
                 new_decoder_architecture=r.choice(BOOL),
                 multi_query=r.choice(BOOL), parallel_attn=r.choice(BOOL),
                 bias=r.choice(BOOL), alibi=r.choice(BOOL))
    if found["new_decoder_architecture"]:
        found["num_ln_in_parallel_attn"] = r.choice((None, 1, 2))
        found["parallel_attn"] = True
        found["num_kv_heads"] = r.choice([k for k in (1, 2, 4) if h % k == 0])
    return found


def mpt(r, words):
    h = r.choice((1, 2, 4, 8))
    return dict(n_heads=h, d_model=h * r.choice((4, 6)), attn_config=dict(
        softmax_scale=r.choice((None, 0.3)), clip_qkv=r.choice((None, 1.5)),
        alibi=True, attn_type="multihead_attention"))


def opt(r, words):
    h = r.choice((1, 2, 3))
    d = h * r.choice((4, 7))
    return dict(num_attention_heads=h, hidden_size=d,
                word_embed_proj_dim=r.choice((d, d, 11)),
                do_layer_norm_before=r.choice(BOOL))


def bloom(r, words):
    h = r.choice((1, 2, 4, 5))
    return dict(n_head=h, hidden_size=h * r.choice((4, 6)))


DECODERS = [
    llama("llama", "Llama", attention_bias=BOOL, mlp_bias=BOOL),
    llama("mistral", "Mistral", sliding_window=(None, 3, 5)),
    llama("mixtral", "Mixtral", own_width, sliding_window=(None, 5),
          **{"+experts": local_experts}),
    llama("qwen2", "Qwen2", heads, **{"+window": some_windows}),
    llama("qwen3", "Qwen3", own_width, attention_bias=BOOL,
          **{"+window": some_windows}),
    llama("qwen2_moe", "Qwen2Moe", heads, qkv_bias=BOOL,
          shared_expert_intermediate_size=(8, 11),
          **{"+window": some_windows, "+experts": experts}),
    llama("qwen3_moe", "Qwen3Moe", own_width, attention_bias=BOOL,
          **{"+experts": experts}),
    llama("gemma", "Gemma", own_width, acts=("gelu_pytorch_tanh", "gelu"),
          attention_bias=BOOL),
    llama("gemma2", "Gemma2", own_width, act="hidden_activation",
          attention_bias=BOOL, query_pre_attn_scalar=(8, 12, 256),
          attn_logit_softcapping=(None, 2.0, 50.0),
          final_logit_softcapping=(None, 1.5, 30.0), **{"+window": windows}),
    llama("gemma3_text", "Gemma3", own_width, two_ropes,
          act="hidden_activation", config="Gemma3TextConfig",
          models=("Gemma3ForCausalLM",) * 6 + ("Gemma3TextModel",) * 2,
          attention_bias=BOOL, query_pre_attn_scalar=(8, 12, 256),
          final_logit_softcapping=(None, 1.5), **{"+window": windows}),
    llama("glm", "Glm", own_width, rope_of("default", "linear",
                                           partial=(0.5, 1.0)),
          attention_bias=BOOL),
    llama("glm4", "Glm4", own_width, rope_of("default", partial=(0.5, 1.0)),
          attention_bias=BOOL),
    llama("granite", "Granite", heads, attention_bias=BOOL, mlp_bias=BOOL,
          embedding_multiplier=(1.0, 3.0), logits_scaling=(1.0, 2.5),
          residual_multiplier=(1.0, 0.375), attention_multiplier=(1.0, 0.4)),
    llama("cohere", "Cohere", heads, eps="layer_norm_eps", attention_bias=BOOL,
          logit_scale=(0.0625, 1.0, 0.25), use_qk_norm=(False, False, True)),
    llama("phi", "Phi", heads, rope_of("default", "linear",
                                       partial=(0.5, 1.0)),
          acts=PLAIN, eps="layer_norm_eps", qk_layernorm=BOOL),
    causal("phi3", "Phi3", {
        "num_hidden_layers": LAYERS, "max_position_embeddings": LONGEST,
        "intermediate_size": (11, 16, 33), "+width": heads,
        "hidden_act": GATED, "rms_norm_eps": EPS, "tie_word_embeddings": BOOL,
        "sliding_window": (None, 5), "+rope": longrope}),
    llama("stablelm", "StableLm", heads, rope_of(
        "default", "linear", partial=(0.25, 0.5, 1.0)), eps="layer_norm_eps",
        use_qkv_bias=BOOL, use_parallel_residual=BOOL,
        qk_layernorm=(False, False, True)),
    llama("starcoder2", "Starcoder2", heads, acts=PLAIN, eps="norm_epsilon",
          use_bias=BOOL, sliding_window=(None, 5)),
    llama("olmo2", "Olmo2", heads, attention_bias=BOOL),
    llama("olmo3", "Olmo3", heads, two_ropes, attention_bias=BOOL,
          **{"+window": windows}),
    llama("smollm3", "SmolLM3", heads, attention_bias=BOOL, mlp_bias=BOOL,
          no_rope_layer_interval=(2, 3, 4), **{"+window": some_windows}),
    llama("gpt_oss", "GptOss", own_width, rope_of("default", "yarn"),
          acts=("silu",), attention_bias=BOOL,
          **{"+window": windows, "+experts": local_experts}),
    llama("deepseek_v2", "DeepseekV2", deepseek, yarn_deep,
          norm_topk_prob=(False,),
          topk_method=("greedy", "group_limited_greedy")),
    llama("deepseek_v3", "DeepseekV3", deepseek, yarn_deep,
          rope_interleave=BOOL),
    gpt("gpt2", "GPT2", ("GPT2LMHeadModel",) * 6 + ("GPT2Model",) * 2,
        scale_attn_weights=BOOL,
        scale_attn_by_inverse_layer_idx=(False, False, False, True)),
    gpt("gpt_bigcode", "GPTBigCode", multi_query=BOOL,
        scale_attn_weights=BOOL),
    gpt("gptj", "GPTJ", rotary_dim=(4, 2)),
    gpt("codegen", "CodeGen", counts=(4, 8), rotary_dim=(4, 2)),
    llama("gpt_neox", "GPTNeoX", equal_heads, rope_of(
        "default", "linear", partial=(0.25, 0.5, 1.0)), acts=PLAIN,
        eps="layer_norm_eps", use_parallel_residual=BOOL, attention_bias=BOOL),
    causal("falcon", "Falcon", {
        "num_hidden_layers": LAYERS, "max_position_embeddings": LONGEST,
        "+width": falcon, "ffn_hidden_size": (None, 33),
        "activation": ("gelu", "gelu_new", "relu", "silu"),
        "layer_norm_epsilon": EPS, "tie_word_embeddings": BOOL,
        "rope_parameters": rope_of("default", "linear")}, attention="sdpa"),
    causal("bloom", "Bloom", {
        "n_layer": LAYERS, "+width": bloom, "layer_norm_epsilon": EPS,
        "tie_word_embeddings": BOOL, "apply_residual_connection_post_layernorm":
        (False, False, False, True)}),
    causal("mpt", "Mpt", {
        "n_layers": LAYERS, "max_seq_len": LONGEST, "+width": mpt,
        "layer_norm_epsilon": EPS, "tie_word_embeddings": BOOL},
        longest="max_seq_len"),
    llama("cohere2", "Cohere2", heads, rope_of("default", "linear"),
          eps="layer_norm_eps", attention_bias=BOOL, logit_scale=(0.0625, 1.0),
          **{"+window": windows}),
    llama("ernie4_5", "Ernie4_5", own_width, use_bias=BOOL),
    llama("exaone", "Exaone", models=("LlamaForCausalLM",) * 6
          + ("LlamaModel",) * 2, attention_bias=BOOL, mlp_bias=BOOL),
    llama("exaone4", "Exaone4", **{"+window": windows_or_none}),
    llama("glm4_moe", "Glm4Moe", own_width, rope_of(
        "default", partial=(0.5, 1.0)), attention_bias=BOOL,
        **{"+experts": glm4_moe}),
    causal("gpt_neo", "GPTNeo", {
        "max_position_embeddings": LONGEST, "+width": gpt_neo,
        "intermediate_size": (None, 11), "window_size": (3, 5),
        "activation_function": PLAIN, "layer_norm_epsilon": EPS,
        "tie_word_embeddings": BOOL}),
    llama("granitemoe", "GraniteMoe", heads, attention_bias=BOOL,
          embedding_multiplier=(1.0, 3.0), logits_scaling=(1.0, 2.5),
          residual_multiplier=(1.0, 0.375), attention_multiplier=(1.0, 0.4),
          **{"+experts": local_experts}),
    llama("helium", "Helium", square, attention_bias=BOOL, mlp_bias=BOOL),
    llama("hunyuan_v1_dense", "HunYuanDenseV1", own_width, hunyuan_rope,
          attention_bias=BOOL),
    llama("hunyuan_v1_moe", "HunYuanMoEV1", own_width, hunyuan_rope,
          attention_bias=BOOL, num_experts=(2, 4, 5), moe_topk=(1, 2)),
    llama("arcee", "Arcee", acts=UNGATED, attention_bias=BOOL, mlp_bias=BOOL),
    llama("nemotron", "Nemotron", rope=rope_of(
        "default", "linear", partial=(0.5, 1.0)), acts=UNGATED, eps="norm_eps",
        attention_bias=BOOL, mlp_bias=BOOL),
    llama("persimmon", "Persimmon", equal_heads, rope_of(
        "default", "linear", partial=(0.5, 1.0)), acts=UNGATED,
        eps="layer_norm_eps", qk_layernorm=BOOL),
    llama("jais2", "Jais2", acts=UNGATED, eps="layer_norm_eps",
          attention_bias=BOOL, mlp_bias=BOOL),
    llama("ministral", "Ministral", own_width, **{"+window": windows}),
    llama("ministral3", "Ministral3", own_width, growing_rope,
          sliding_window=(None, 3, 5)),
    llama("olmo", "Olmo", heads, eps="", attention_bias=BOOL,
          clip_qkv=(None, 1.25)),
    llama("olmoe", "Olmoe", heads, attention_bias=BOOL, num_experts=(2, 5),
          num_experts_per_tok=(1, 2), norm_topk_prob=BOOL,
          clip_qkv=(None, 1.25)),
    llama("seed_oss", "SeedOss", own_width, attention_bias=BOOL,
          attention_out_bias=BOOL, mlp_bias=BOOL),
    causal("xglm", "XGLM", {
        "num_layers": LAYERS, "max_position_embeddings": LONGEST,
        "+width": xglm, "ffn_dim": (11, 26), "activation_function": PLAIN,
        "scale_embedding": BOOL, "tie_word_embeddings": BOOL}),
    causal("opt", "OPT", {
        "num_hidden_layers": LAYERS, "max_position_embeddings": LONGEST,
        "+width": opt, "ffn_dim": (11, 26), "activation_function": PLAIN,
        "enable_bias": BOOL, "tie_word_embeddings": BOOL,
        "layer_norm_elementwise_affine": (True, True, True, False)}),
]


def pictures(name, stem, text, vision):
    """A model of pictures and text, with what is drawn of its text model."""
    family = next(family for family in DECODERS if family.name == text)
    return dataclasses.replace(
        family, name=name, config=f"{stem}Config", text=text, vision=vision,
        models=(f"{stem}ForConditionalGeneration",) * 3 + (f"{stem}Model",))


DECODERS += [
    pictures("gemma3", "Gemma3", "gemma3_text", "siglip_vision_model"),
    pictures("llava", "Llava", "llama", "clip_vision_model"),
    pictures("mistral3", "Mistral3", "mistral", "pixtral"),
    pictures("mistral3-2512", "Mistral3", "ministral3", "pixtral"),
]
