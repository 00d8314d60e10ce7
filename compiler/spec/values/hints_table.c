/* hints_table.c: other tools' names for fields and their values. To add a word,
 * add a row here and a line to tests/spec/hints-*.yaml. Every key from which
 * models/import sets a field must have a row
 * (tests/import/config_hints_test). */
#include "spec/values/hints.h"

#define TRAINING "attnc does not train models"
#define NOTHING "it does not affect the results"
#define OPTION "it is an option of `attnc run`"

/* clang-format off */
const Hint hints[] = {
    { "model_type architecture architectures arch model type "
      "family", NULL, HintFamily, NULL },
    { "is_encoder_decoder", "kind: encoder-decoder", HintTrue, NULL },
    { "is_decoder decoder_only", "kind: decoder", HintTrue, NULL },

    /* sizes */
    { "n_layers n_layer num_layers num_layer num_hidden_layers depth "
      "n_blocks num_blocks", "N", HintValue, NULL },
    { "encoder_layers num_encoder_layers n_encoder_layers enc_layers",
      "N.encoder", HintValue, NULL },
    { "decoder_layers num_decoder_layers n_decoder_layers dec_layers",
      "N.decoder", HintValue, NULL },
    { "heads n_heads n_head num_heads num_head nhead nheads "
      "num_attention_heads attention_heads", "h", HintValue, NULL },
    { "encoder_attention_heads", "h.encoder", HintValue, NULL },
    { "decoder_attention_heads", "h.decoder", HintValue, NULL },
    { "kv_heads n_kv_heads n_kv_head num_kv_heads num_key_value_heads",
      "h_kv", HintValue, NULL },
    { "head_dim d_kv d_head dim_head head_size", "d_k d_v", HintValue, NULL },
    { "hidden hidden_size dim width n_embd embed_dim embedding_dim emb_dim "
      "model_dim d_embed n_embed", "d_model", HintValue, NULL },
    { "embedding_size word_embed_proj_dim", "embedding.width", HintValue,
      NULL },
    { "ffn mlp d_ffn dim_feedforward intermediate_size n_inner ffn_dim "
      "hidden_dim ffn_hidden_size ffn_size mlp_dim feed_forward "
      "feedforward d_inner", "d_ff", HintValue, NULL },
    { "moe_intermediate_size", NULL, HintNote,
      "set d_ff of the layers with experts to this value" },
    { "num_local_experts num_experts n_routed_experts n_experts",
      "ffn.experts", HintValue, "ffn.type: experts" },
    { "num_experts_per_tok experts_per_token moe_topk", "ffn.chosen", HintValue,
      "ffn.type: experts" },
    { "encoder_ffn_dim", "d_ff.encoder", HintValue, NULL },
    { "decoder_ffn_dim", "d_ff.decoder", HintValue, NULL },
    { "mlp_ratio ffn_ratio mlp_expansion", "d_ff", HintFactor, NULL },
    { "seq_len seq_length sequence_length context context_length "
      "context_size context_window n_ctx n_positions "
      "max_position_embeddings block_size max_seq_len max_seq_length "
      "max_sequence_length max_length model_max_length", "max_len",
      HintValue, NULL },
    { "max_source_positions src_len", "max_len.source", HintValue, NULL },
    { "max_target_positions tgt_len", "max_len.target", HintValue, NULL },

    /* vocabularies */
    { "vocab_size n_vocab vocabulary_size num_embeddings num_tokens "
      "n_tokens", "vocab.size", HintValue, NULL },
    { "src_vocab_size encoder_vocab_size", "vocab.source.size", HintValue,
      NULL },
    { "tgt_vocab_size decoder_vocab_size", "vocab.target.size", HintValue,
      NULL },
    { "vocab_file vocabulary vocab_path", "vocab.file", HintValue, NULL },
    { "decoder_start_token_id", "vocab.tokens.start", HintValue, NULL },
    { "bos_token_id bos bos_id start_token", "vocab.tokens.start", HintBegin,
      NULL },
    { "eos_token_id eos eos_id end_token", "vocab.tokens.end", HintValue,
      NULL },
    { "pad_token_id pad_id pad_token padding_idx", "vocab.tokens.pad",
      HintValue, NULL },
    { "unk_token_id unk unk_id", "vocab.tokens.unknown", HintValue, NULL },

    /* positions, masks and other variants */
    { "rope use_rope rotary use_rotary", "positions: rotary", HintTrue, NULL },
    { "alibi use_alibi", "positions: alibi", HintTrue, NULL },
    { "position_embedding_type positional_encoding positional_embedding "
      "position_embedding position_encoding pos_encoding pos_emb pos_embed "
      "pe", "positions", HintValue, NULL },
    { "rope_theta rotary_emb_base rotary_base rope_base theta",
      "positions.base", HintValue, "positions: rotary" },
    { "rotary_dim rope_dim", "positions.dims", HintValue,
      "positions: rotary" },
    { "partial_rotary_factor rotary_pct", NULL, HintNote,
      "set positions.dims to this value times d_k" },
    { "rope_scaling rope_parameters", NULL, HintNote,
      "rope_theta is positions.base; type linear is positions.scaling: "
      "1 / factor; other types are maps below positions.scaling" },
    { "original_max_position_embeddings",
      "positions.scaling.original_max_len", HintValue, "positions: rotary" },
    { "relative_attention_num_buckets", "positions.buckets", HintValue,
      "positions: relative" },
    { "relative_attention_max_distance", "positions.max_distance", HintValue,
      "positions: relative" },
    { "rmsnorm rms_norm use_rmsnorm use_rms_norm", "norm: rms", HintTrue,
      NULL },
    { "layernorm layer_norm", "norm: layer", HintTrue, NULL },
    { "norm_type normalization norm_layer", "norm", HintValue, NULL },
    { "layer_norm_eps layer_norm_epsilon layernorm_epsilon layernorm_eps "
      "norm_eps norm_epsilon epsilon ln_eps", "norm.eps", HintValue, NULL },
    { "rms_norm_eps", "norm.eps", HintValue, "norm: rms" },
    { "pre_norm prenorm norm_first pre_ln normalize_before "
      "do_layer_norm_before", "norm.place: pre", HintTrue, NULL },
    { "post_norm postnorm post_ln", "norm.place: post", HintTrue, NULL },
    { "norm_bias", "norm.bias", HintValue, NULL },
    { "qk_norm use_qk_norm qk_layernorm", "norm.qk: true", HintTrue, NULL },
    { "activation_function hidden_act hidden_activation act act_fn "
      "activation_fn nonlinearity feed_forward_proj dense_act_fn",
      "activation", HintValue, NULL },
    { "gelu", "activation: gelu", HintTrue, NULL },
    { "swiglu", "activation: swiglu", HintTrue, NULL },
    { "is_gated_act", NULL, HintNone,
      "an activation with glu in its name is gated" },
    { "use_bias add_bias enable_bias", "bias", HintValue, NULL },
    { "attention_bias", "bias.q bias.k bias.v bias.o", HintValue, NULL },
    { "qkv_bias use_qkv_bias", "bias.q bias.k bias.v", HintValue, NULL },
    { "attention_out_bias", "bias.o", HintValue, NULL },
    { "mlp_bias", "bias.ffn", HintValue, NULL },
    { "lm_head_bias", "bias.logits", HintValue, NULL },
    { "causal is_causal", "masking: causal", HintTrue, NULL },
    { "mask attention_mask attn_mask", "masking", HintValue, NULL },
    { "sliding_window window window_size", "masking: [causal, {window: %}]",
      HintFormat, NULL },
    { "tie tied tie_weights tie_word_embeddings tie_embeddings weight_tying "
      "share_embeddings tied_embeddings", "embedding.tie", HintTie, NULL },
    { "type_vocab_size token_types n_types", "embedding.types", HintValue,
      NULL },
    { "scale_embedding scale_embeddings", "embedding.scale: sqrt_d_model",
      HintTrue, "embedding.scale: none" },
    { "embedding_multiplier", "embedding.scale", HintValue, NULL },
    { "kv_lora_rank", "attention.latent.kv_rank", HintValue, NULL },
    { "q_lora_rank", "attention.latent.q_rank", HintValue, NULL },
    { "qk_rope_head_dim", "attention.latent.rope_dims", HintValue, NULL },
    { "v_head_dim", "d_v", HintValue, NULL },
    { "qk_nope_head_dim", NULL, HintNote,
      "d_k is the sum of this and attention.latent.rope_dims" },
    { "attention_multiplier", "attention.scale", HintValue, NULL },
    { "residual_multiplier", "residual.scale", HintValue, NULL },
    { "clip_qkv", "attention.clip", HintValue, NULL },
    { "norm_topk_prob", "ffn.normalize", HintValue, NULL },
    { "scale_attn_weights", NULL, HintNone,
      "scores are scaled by 1 / sqrt(d_k), or by attention.scale" },
    { "logit_scale", "logits.scale", HintValue, NULL },
    { "logits_scaling", NULL, HintNote, "set logits.scale to 1 / this value" },
    { "final_logit_softcapping", "logits.softcap", HintValue, NULL },
    { "attn_logit_softcapping", "attention.softcap", HintValue, NULL },
    { "use_parallel_residual", "parallel: separate", HintTrue, NULL },
    { "parallel_attn", "parallel: shared", HintTrue, NULL },
    { "num_labels num_classes n_classes", "head.classes", HintValue,
      "head: classify" },
    { "pooling pooling_mode", "head.pool", HintValue, "head: pool" },
    { "torch_dtype precision quantization quantize quantized quant_type "
      "weight_dtype weight_type bits n_bits num_bits w_bit wbits", "dtype",
      HintValue, NULL },
    { "load_in_8bit", "dtype: int8", HintTrue, NULL },
    { "load_in_4bit", "dtype: int4", HintTrue, NULL },
    { "quantization_config", NULL, HintNote,
      "write dtype: int8 or int4, or one for each weight, as in dtype: "
      "{default: int4, encoder.0: int8}" },
    { "group_size q_group_size", NULL, HintNone,
      "dtype: int4 has groups of 32, int4g64 has groups of 64" },
    { "compute_type compute_dtype activation_dtype", "arithmetic", HintValue,
      NULL },
    { "kv_cache_dtype cache_dtype cache_type_k cache_type_v kv_type", "cache",
      HintValue, NULL },
    { "checkpoint weights_file weights_path safetensors", "weights",
      HintValue, NULL },
    { "num_beams beam_size beam_width beam", "search.beam", HintValue, NULL },
    { "max_new_tokens", "search.max_output", HintValue, NULL },
    { "min_new_tokens min_tokens", "search.min_length", HintValue, NULL },
    { "repetition_penalty repeat_penalty", "search.repetition_penalty",
      HintValue, NULL },
    { "no_repeat_ngram_size", "search.no_repeat_ngram", HintValue, NULL },

    /* settings that have no field */
    { "*dropout* *_pdrop drop drop_path* layerdrop *layerdrop initializer_* "
      "init_std gradient_checkpointing learning_rate lr batch_size "
      "weight_decay optimizer epochs warmup* label_smoothing*", NULL,
      HintNone, TRAINING },
    { "temperature top_k top_p do_sample seed", NULL,
      HintNone, OPTION },
    { "use_cache", NULL, HintNone, "keys and values are always cached" },
    { "transformers_version _name_or_path output_* return_dict* auto_map "
      "task_specific_params summary_* pretraining_tp torchscript "
      "finetuning_task id2label label2id problem_type n_special "
      "predict_special_tokens pruned_heads chunk_size_feed_forward "
      "directionality pooler_* reorder_and_upcast_attn "
      "scale_attn_by_inverse_layer_idx", NULL, HintNone, NOTHING },
};
const int n_hints = sizeof hints / sizeof *hints;

const WordHint word_hints[] = {
    { "positions.scaling.type", "default", "none" },
    { "positions.scaling.type", "su", "longrope" },
    { "positions.scaling.type", "ntk dynamic_ntk", "dynamic" },
    { "kind", "gpt* llama* mistral* qwen* gemma* causal_lm lm decoder_only "
              "autoregressive generative", "decoder" },
    { "kind", "bert* roberta* distilbert* minilm* vit* encoder_only mlm "
              "masked_lm", "encoder" },
    { "kind", "t5* mt5* bart* mbart* marian* pegasus* seq2seq transformer "
              "encdec enc_dec", "encoder-decoder" },
    { "kind", "mha multi_head_attention", "attention" },
    { "activation", "gelu_new gelu_pytorch_tanh gelu_fast gelu_approximate "
                    "gelutanh tanh_gelu", "gelu_tanh" },
    { "activation", "gelu_python gelu_erf gelu_exact", "gelu" },
    { "activation", "swish", "silu" },
    { "activation", "gated_gelu", "geglu_tanh" },
    { "activation", "gated_silu silu_glu", "swiglu" },
    { "activation", "quickgelu", "quick_gelu" },
    { "activation", "relu2 relu_squared", "squared_relu" },
    { "head.activation", "splade log_relu log1p", "log1p_relu" },
    { "activation", "linear identity", "none" },
    { "norm.type", "rmsnorm rms_norm t5layernorm llamarmsnorm", "rms" },
    { "norm.type", "layernorm layer_norm ln", "layer" },
    { "norm.type", "pre prenorm pre_norm pre_ln", "{place: pre}" },
    { "norm.type", "post postnorm post_norm post_ln", "{place: post}" },
    { "norm.place", "prenorm pre_norm pre_ln before first", "pre" },
    { "norm.place", "postnorm post_norm post_ln after last", "post" },
    { "positions.type", "rope rotary_embedding rotary_embeddings", "rotary" },
    { "positions.type", "absolute learnable learnt trainable embedding",
      "learned" },
    { "positions.type", "sinusoid sine sin sincos fixed", "sinusoidal" },
    { "positions.type", "relative_bias relative_key t5", "relative" },
    { "positions.type", "nope null", "none" },
    { "positions.layout", "neox half", "halves" },
    { "positions.layout", "gptj pairs", "interleaved" },
    /* torch_dtype: float16 becomes f32, but as a value of `dtype` float16 is
     * rejected, by word_choices */
    { "dtype", "float32 fp32 float float16 fp16 f16 half torch.float32 32",
      "f32" },
    { "dtype", "bfloat16 torch.bfloat16 16", "bf16" },
    { "dtype", "8 8bit 8_bit i8 u8 uint8 qint8 q8 q8_* w8a* torch.int8 "
               "torch.qint8", "int8" },
    { "dtype", "4 4bit 4_bit i4 u4 uint4 q4 q4_* w4a* nf4 fp4 awq gptq",
      "int4" },
    { "arithmetic", "float32 fp32 float", "f32" },
    { "arithmetic", "bf16 bfloat16 dpbf16 vdpbf16ps", "bf16_dp" },
    { "arithmetic", "amx tdpbf16ps", "bf16_amx" },
    { "arithmetic", "3xbf16 bf16_3x bf16x9", "bf16x3" },
    { "arithmetic", "8 i8 u8 uint8 dynamic int8_float32 w8a8", "int8" },
    { "arithmetic", "15 16 i16 int16", "int15" },
    { "cache", "float32 fp32 float", "f32" },
    { "cache", "bfloat16 16", "bf16" },
    { "cache", "8 i8 q8 q8_0", "int8" },
    { "masking.encoder", "bidirectional full false", "none" },
    { "masking.encoder", "autoregressive triangular lower true", "causal" },
    { "parallel", "true", "shared" },
    { "embedding.scale", "true sqrt sqrt_d", "sqrt_d_model" },
    { "embedding.scale", "false", "none" },
    { "embedding.tie", "output outputs lm_head softmax", "logits" },
    { "embedding.tie", "input inputs encoder src", "source" },
    { "embedding.tie", "decoder tgt", "target" },
    { "head.type", "lm lm_head mlm language_model", "logits" },
    { "head.type", "pooling sentence pooler", "pool" },
    { "head.type", "classification classifier cls", "classify" },
    { "head.type", "token_classification ner", "token_classify" },
    { "head.pool", "cls first", "class" },
    { "head.pool", "avg average", "mean" },
    { "head.pool", "eos end", "last" },
    { "input.type", "ids text", "tokens" },
    { "input.type", "patches features rows float", "real" },
    { "search.penalty", "google wu", "gnmt" },
    { "search.penalty", "length length_penalty", "power" },
    { "vocab.split.source", "char chars character", "characters" },
    { "vocab.split.source", "space word words whitespace", "spaces" },
};
const int n_word_hints = sizeof word_hints / sizeof *word_hints;

/* Values without an equivalent, and the words to choose from instead. */
const WordHint word_choices[] = {
    { "dtype", "float16 fp16 f16 half torch.float16",
      "f16 is not supported: write bf16 or f32" },
};
const int n_word_choices = sizeof word_choices / sizeof *word_choices;

const Family families[] = {
    { "bert* minilm* distilbert*", false, 0,
      "kind: encoder\n"
      "positions: learned\n"
      "norm.embedding: true\n"
      "norm.eps: 1e-12\n"
      "activation: gelu\n"
      "embedding.scale: none\n" },
    { "roberta* xlm_roberta*", false, 2,
      "kind: encoder\n"
      "positions: learned\n"
      "positions.first: 2\n"
      "norm.embedding: true\n"
      "norm.eps: 1e-12\n"
      "activation: gelu\n"
      "embedding.scale: none\n" },
    { "gpt gpt2*", false, 0,
      "kind: decoder\n"
      "d_ff: 4 d_model\n"
      "positions: learned\n"
      "norm.place: pre\n"
      "norm.eps: 1e-5\n"
      "activation: gelu_tanh\n"
      "embedding.scale: none\n"
      "embedding.tie: [target, logits]\n" },
    { "llama* mistral*", true, 0,
      "kind: decoder\n"
      "positions: rotary\n"
      "positions.layout: halves\n"
      "norm: rms\n"
      "norm.place: pre\n"
      "activation: swiglu\n"
      "bias: false\n"
      "embedding.scale: none\n" },
    { "t5* mt5*", false, 0,
      "kind: encoder-decoder\n"
      "positions: relative\n"
      "norm: rms\n"
      "norm.place: pre\n"
      "activation: relu\n"
      "bias: false\n"
      "attention.scale: 1\n"
      "logits.scale: 1 / sqrt(d_model)\n"
      "embedding.scale: none\n"
      "embedding.tie: [source, target, logits]\n" },
};
const int n_families = sizeof families / sizeof *families;
/* clang-format on */
