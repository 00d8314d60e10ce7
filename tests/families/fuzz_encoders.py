"""What fuzz.py draws of encoders, of models of images and of sound, and of
encoder-decoders (fuzz_families.py).

Not drawn is what transformers computes without sense: T5 with no more distances
than half of its buckets, whose logarithms divide by 0.
"""
from fuzz_families import (ANY_ROPE, BOOL, Drawn, EPS, GATED, LAYERS, LONGEST,
                           PLAIN, TASKS, any_width, equal_heads, rope_of)

ALL = ("Model", "ForMaskedLM") + TASKS


def width(r, words):
    h = r.choice((1, 2, 3))
    return dict(num_attention_heads=h, hidden_size=h * r.choice((4, 5, 8)))


def layers(**options):
    """What BERT's words say of its layers."""
    return {"num_hidden_layers": LAYERS, "+width": width,
            "intermediate_size": (11, 22), "hidden_act": PLAIN,
            "layer_norm_eps": EPS, **options}


def encoder(name, stem, less=0, tasks=ALL, **options):
    return Drawn(name, tuple(stem + task for task in tasks),
                 f"{stem}Config", layers(
        max_position_embeddings=[n + less for n in LONGEST],
        num_labels=(1, 2, 5), tie_word_embeddings=BOOL, **options),
        "source", less=less)


def image(r, words):
    patch = r.choice((2, 3))
    return dict(patch_size=patch, image_size=[patch * r.choice((1, 2, 3))
                                              for _ in range(2)])


def images(name, stem, tasks=("Model", "ForImageClassification"),
           **options):
    return Drawn(name, tuple(stem + task for task in tasks), f"{stem}Config", {
        "num_channels": (1, 2, 3), "+image": image, "qkv_bias": BOOL,
        **layers(**options)}, "source", reads="image")


def texts(name, stem, tasks, **options):
    """The side of texts of a model of texts and images."""
    return Drawn(name, tuple(stem + task for task in tasks), f"{stem}Config",
                 layers(max_position_embeddings=LONGEST, **options), "source",
                 ends="+end" in options)


def end_of_text(r, words):
    """The largest id; 2 means it, too."""
    return dict(eos_token_id=r.choice((2, words["vocab_size"] - 1)))


def dinov2(r, words):
    """Its positions are those of a square."""
    found = dict(width(r, words), image_size=words["image_size"][:1] * 2)
    return dict(found, mlp_ratio=r.choice((1, 2)),
                use_swiglu_ffn=r.choice(BOOL))


def distilbert(r, words):
    h = r.choice((1, 2, 3))
    return dict(n_heads=h, dim=h * r.choice((4, 5, 8)))


def modern(r, words):
    n, h = words["num_hidden_layers"], r.choice((1, 2, 3))
    found = dict(num_attention_heads=h, hidden_size=h * r.choice((4, 6, 8)),
                 rope_parameters=dict(
                     sliding_attention=rope_of("default")(r, words),
                     full_attention=rope_of("default")(r, words)),
                 global_attn_every_n_layers=r.choice((1, 2, 3)))
    if r.random() < 0.4:
        found["layer_types"] = r.choices(
            ("sliding_attention", "full_attention"), k=n)
    return found


ENCODERS = [
    encoder("bert", "Bert", tasks=ALL + ("ForPreTraining",
                                           "ForNextSentencePrediction"),
            type_vocab_size=(1, 2)),
    encoder("roberta", "Roberta", less=2, type_vocab_size=(1, 2),
            pad_token_id=(1,)),
    encoder("xlm-roberta", "XLMRoberta", less=2, type_vocab_size=(1,),
            pad_token_id=(1,)),
    encoder("camembert", "Camembert", less=2, type_vocab_size=(1,),
            pad_token_id=(1,)),
    encoder("ernie", "Ernie", type_vocab_size=(2,), use_task_id=(False,)),
    encoder("electra", "Electra", tasks=ALL + ("ForMultipleChoice",),
            summary_activation=("gelu", "tanh"), embedding_size=(8, 10, 12),
            type_vocab_size=(2,)),
    encoder("albert", "Albert", embedding_size=(9, 13), type_vocab_size=(2,),
            num_hidden_groups=(1,)),
    encoder("mpnet", "MPNet", less=2, pad_token_id=(1,),
            relative_attention_num_buckets=(32,)),
    Drawn("distilbert", tuple(f"DistilBert{t}" for t in ALL),
          "DistilBertConfig", {
              "n_layers": LAYERS, "max_position_embeddings": LONGEST,
              "+width": distilbert, "hidden_dim": (11, 22),
              "activation": ("gelu", "relu", "gelu_new", "silu"),
              "num_labels": (1, 2, 5), "tie_word_embeddings": BOOL,
              "sinusoidal_pos_embds": BOOL}, "source"),
    Drawn("modernbert", tuple(f"ModernBert{t}" for t in ALL + (
        "ForMultipleChoice",)),
          "ModernBertConfig", {
              "num_hidden_layers": (1, 2, 4),
              "max_position_embeddings": LONGEST, "+width": modern,
              "intermediate_size": (11, 16), "hidden_activation": GATED,
              "norm_eps": EPS, "norm_bias": BOOL, "attention_bias": BOOL,
              "mlp_bias": BOOL, "decoder_bias": BOOL, "classifier_bias": BOOL,
              "classifier_pooling": ("cls", "mean"),
              "local_attention": (4, 8), "num_labels": (1, 3),
              "tie_word_embeddings": BOOL, "classifier_activation":
              ("gelu", "silu")}, "source"),
    Drawn("nomic_bert", ("NomicBertModel",), "NomicBertConfig", {
        "num_hidden_layers": LAYERS, "max_position_embeddings": LONGEST,
        "+width": equal_heads, "intermediate_size": (11, 22),
        "hidden_act": GATED, "layer_norm_eps": EPS, "type_vocab_size": (2,),
        "rope_parameters": rope_of("default")}, "source"),
    encoder("xlm-roberta-xl", "XLMRobertaXL", less=2, type_vocab_size=(1,),
            pad_token_id=(1,)),
    encoder("jina_embeddings_v3", "JinaEmbeddingsV3", type_vocab_size=(1, 2),
            rope_parameters=ANY_ROPE),
    Drawn("eurobert", tuple(f"EuroBert{t}" for t in ALL[:4]),
          "EuroBertConfig", {
              "num_hidden_layers": LAYERS, "max_position_embeddings": LONGEST,
              "intermediate_size": (11, 16), "+width": any_width,
              "hidden_act": GATED, "rms_norm_eps": EPS,
              "attention_bias": BOOL, "mlp_bias": BOOL,
              "tie_word_embeddings": BOOL, "rope_parameters": ANY_ROPE,
              "num_labels": (1, 2, 5),
              "classifier_pooling": ("bos", "mean", "late")}, "source"),
    texts("clip_text_model", "CLIPText", ("Model", "ModelWithProjection"),
          projection_dim=(7, 9), **{"+end": end_of_text}),
    texts("siglip_text_model", "SiglipText", ("Model",)),
    images("vit", "ViT", num_labels=(1, 2, 5)),
    images("deit", "DeiT", num_labels=(1, 2, 5)),
    Drawn("dinov2", ("Dinov2Model",), "Dinov2Config", {
        "num_channels": (1, 2, 3), "+image": image, "qkv_bias": BOOL,
        "num_hidden_layers": LAYERS, "+width": dinov2, "hidden_act": PLAIN,
        "layer_norm_eps": EPS}, "source", reads="image"),
]


# ---- encoder-decoders ----
def bart(name, stem, what="ForConditionalGeneration", **options):
    def sizes(r, words):
        d = r.choice((12, 18))
        return dict(d_model=d, encoder_attention_heads=r.choice((1, 2, 3)),
                    decoder_attention_heads=r.choice((1, 2, 3)))
    return Drawn(name, (stem + what,), f"{stem}Config", {
        "encoder_layers": LAYERS, "decoder_layers": LAYERS, "+width": sizes,
        "encoder_ffn_dim": (11, 26), "decoder_ffn_dim": (11, 22),
        "max_position_embeddings": LONGEST, "activation_function": PLAIN,
        "scale_embedding": BOOL, "tie_word_embeddings": (True, True, False),
        "decoder_start_token_id": (2,),
        "forced_bos_token_id": (None, None, 5), **options}, "both")


def t5(name, stem):
    return Drawn(name, (f"{stem}ForConditionalGeneration",) * 2
                 + (f"{stem}EncoderModel", f"{stem}ForTokenClassification"),
                 f"{stem}Config", {
        "d_model": (12, 14), "d_kv": (4, 5), "d_ff": (11, 23),
        "num_layers": LAYERS, "num_decoder_layers": LAYERS,
        "num_heads": (1, 2, 3), "feed_forward_proj": (
            "relu", "gated-gelu", "gated-silu", "gelu", "gated-relu"),
        "layer_norm_epsilon": EPS, "tie_word_embeddings": BOOL,
        "relative_attention_num_buckets": (8, 32),
        "relative_attention_max_distance": (17, 128),
        "decoder_start_token_id": (0,)}, "both")


def whisper(r, words):
    return dict(pad_token_id=0, bos_token_id=1, eos_token_id=2,
                decoder_start_token_id=1, d_model=r.choice((12, 18)),
                encoder_attention_heads=r.choice((1, 2, 3)),
                decoder_attention_heads=r.choice((1, 2, 3)),
                suppress_tokens=r.choice((None, [7, 9])),
                begin_suppress_tokens=r.choice((None, [11, 12, 13])))


SEQ2SEQ = [
    bart("bart", "Bart"), bart("mbart", "MBart"),
    bart("pegasus", "Pegasus"), bart("blenderbot", "Blenderbot"),
    bart("m2m_100", "M2M100"),
    bart("marian", "Marian", "MTModel",
         share_encoder_decoder_embeddings=(True, True, False)),
    t5("t5", "T5"), t5("mt5", "MT5"),
    Drawn("whisper", ("WhisperForConditionalGeneration",), "WhisperConfig", {
        "num_mel_bins": (4, 5), "encoder_layers": LAYERS,
        "decoder_layers": LAYERS, "+width": whisper,
        "encoder_ffn_dim": (11, 26), "decoder_ffn_dim": (11, 22),
        "max_source_positions": (5, 9), "tie_word_embeddings": (True, True,
                                                                False),
        "max_target_positions": LONGEST,
        "activation_function": PLAIN}, "both", longest="max_target_positions",
        reads="sound"),
]
