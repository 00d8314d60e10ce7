"""Families of encoder-decoders (golden.py)."""
import torch
import transformers

from golden import Family, first_greedy, ids_of, numbers, special, MARGIN

BART = dict(vocab_size=43, d_model=18, encoder_layers=2, decoder_layers=1,
            encoder_attention_heads=3, decoder_attention_heads=2,
            encoder_ffn_dim=26, decoder_ffn_dim=22, max_position_embeddings=16)
DEEP = dict(BART, encoder_layers=1, decoder_layers=2)
MARIAN = dict(DEEP, pad_token_id=42, decoder_start_token_id=42, eos_token_id=0,
              forced_eos_token_id=0, scale_embedding=True,
              activation_function="swish")
T5 = dict(vocab_size=43, d_model=14, d_kv=5, d_ff=23, num_layers=2,
          num_decoder_layers=1, num_heads=3, decoder_start_token_id=0,
          layer_norm_epsilon=1e-3)


def answer(model, source, steps, forced):
    """As generate() does it with one beam, where every choice is clear and
    some differ."""
    first = [] if forced is None else [forced]

    def logits(ids):
        with torch.no_grad():
            return model(input_ids=torch.tensor([source]),
                         decoder_input_ids=torch.tensor([ids]),
                         use_cache=False).logits[0, -1]
    return clear(model, steps, logits, first)


def check(model, source, ids, forced):
    """generate() must say the same."""
    model.generation_config.forced_eos_token_id = None
    found = model.generate(torch.tensor([source]), num_beams=1,
                           do_sample=False, max_new_tokens=len(ids),
                           forced_bos_token_id=forced)[0].tolist()[1:]
    assert found == ids, (found, ids)


def seq2seq(forced=None):
    """Logits of pairs of each length; greedy tokens behind the second."""
    def record(family, model):
        cases = []
        for n in family.lengths:
            source = ids_of(family, n)
            target = [model.config.decoder_start_token_id
                      ] + ids_of(family, max(n // 2, 1), "target", vocab=41)
            with torch.no_grad():
                out = model(input_ids=torch.tensor([source]),
                            decoder_input_ids=torch.tensor([target]),
                            use_cache=False)
            cases.append({"source": source, "target": target,
                          "logits": numbers(out.logits[0].float())})
        source, ids = first_greedy(
            family, model, family.lengths[1],
            lambda source: answer(model, source, 8, forced))
        check(model, source, ids, forced)
        return {"kind": "encoder-decoder", "cases": cases,
                "greedy": {"source": source, "ids": ids}}
    return record


def clear(model, steps, logits, first=()):
    """Greedy tokens behind the first; logits(ids so far) are those of the
    next one. None: some choice is not clear, or all tokens are alike."""
    config = model.config
    ids = [config.decoder_start_token_id, *first]
    while len(ids) <= steps:
        row = logits(ids)
        best = torch.topk(row, 2)
        token = int(best.indices[0])
        if best.values[0] - best.values[1] < MARGIN * row.abs().max():
            return None
        if token == config.eos_token_id:
            break
        if token in special(config):
            return None
        ids.append(token)
    return ids[1:] if len(set(ids)) > 2 else None


def heard(model, generator):
    """The first frames with a clear answer, and it."""
    config = model.config
    for _ in range(200):
        frames = torch.randn(1, config.num_mel_bins,
                             2 * config.max_source_positions,
                             generator=generator)

        def logits(ids):
            with torch.no_grad():
                return model(input_features=frames,
                             decoder_input_ids=torch.tensor([ids]),
                             use_cache=False).logits[0, -1]
        ids = clear(model, 8, logits)
        if ids:
            return frames, ids
    raise SystemExit("no frames have a clear answer")


def pairs_of(frames):
    return numbers(frames[0].T.reshape(frames.shape[2] // 2, -1))


def sound(family, model):
    """Logits of pairs of frames, as many as the encoder has rows for."""
    config = model.config
    g = torch.Generator().manual_seed(7)
    cases = []
    for n in family.lengths[:2]:
        frames = torch.randn(1, config.num_mel_bins,
                             2 * config.max_source_positions, generator=g)
        target = ids_of(family, n, "target", vocab=41)
        with torch.no_grad():
            out = model(input_features=frames,
                        decoder_input_ids=torch.tensor([target]),
                        use_cache=False)
        cases.append({"input": pairs_of(frames), "target": target,
                      "logits": numbers(out.logits[0].float())})
    frames, ids = heard(model, g)
    return {"kind": "encoder-decoder", "cases": cases,
            "greedy": {"input": pairs_of(frames), "ids": ids}}


def stack(family, model):
    """Rows of the encoder alone."""
    cases = []
    for n in family.lengths:
        ids = ids_of(family, n)
        with torch.no_grad():
            out = model(input_ids=torch.tensor([ids]))
        rows = out.logits if "logits" in out else out.last_hidden_state
        cases.append({"ids": ids, "rows": numbers(rows[0])})
    return {"kind": "encoder", "cases": cases}


def generation(stem, words, **more):
    """generation_config.json, with what config.json does not say."""
    config = getattr(transformers, f"{stem}Config")(**words)
    return {key: getattr(config, key) for key in (
        "bos_token_id", "decoder_start_token_id", "eos_token_id",
        "pad_token_id")} | more | {"transformers_version": "4.41.2"}


def family(name, stem, words, what="ForConditionalGeneration", forced=None,
           **more):
    if forced is not None:
        more["extra"] = {"generation_config.json": generation(
            stem, words, forced_bos_token_id=forced)}
    more.setdefault("alter", stir)
    return Family(name, f"{stem}{what}", f"{stem}Config", words,
                  seq2seq(forced), **more)


def stir(model):
    """A decoder whose table is that of the logits would answer with the token
    that it read: half of its last norm has the other sign, and what it reads
    of the source weighs more."""
    decoder = model.get_decoder()
    inside = decoder if hasattr(decoder, "block") else decoder.layers[-1]
    norm = getattr(decoder, "layer_norm", inside.final_layer_norm)
    with torch.no_grad():
        norm.weight[::2] *= -1
        for name, x in decoder.named_parameters():
            if name.endswith(("encoder_attn.out_proj.weight",
                              "EncDecAttention.o.weight",
                              "embed_positions.weight")):
                x.mul_(3)


def untied(model):
    """A product of the logits that is a tensor of its own, as in v1.1."""
    stir(model)
    g = torch.Generator().manual_seed(7)
    w = model.lm_head.weight
    model.lm_head.weight = torch.nn.Parameter(
        torch.randn(w.shape, generator=g) * w.shape[-1] ** -0.5)


WHISPER = dict(vocab_size=43, num_mel_bins=5, d_model=18, encoder_layers=2,
               decoder_layers=1, encoder_attention_heads=3,
               decoder_attention_heads=2, encoder_ffn_dim=26,
               decoder_ffn_dim=22, max_source_positions=9,
               max_target_positions=16, pad_token_id=0, bos_token_id=1,
               eos_token_id=2, decoder_start_token_id=1,
               begin_suppress_tokens=None)

FAMILIES = [
    Family("whisper", "WhisperForConditionalGeneration", "WhisperConfig",
           WHISPER, sound, alter=stir),
    family("bart", "Bart", dict(BART, scale_embedding=True)),
    family("bart-forced", "Bart", DEEP, forced=0, dtype="float16"),
    family("mbart", "MBart", dict(BART, decoder_start_token_id=2,
                                  scale_embedding=True), forced=41),
    family("pegasus", "Pegasus", dict(DEEP, scale_embedding=True,
                                      activation_function="relu")),
    family("marian", "Marian", MARIAN, "MTModel", extra={
        "generation_config.json": generation(
            "Marian", MARIAN, bad_words_ids=[[42]], num_beams=1,
            max_length=16)}),
    family("marian-pair", "Marian", dict(
        MARIAN, decoder_vocab_size=43, share_encoder_decoder_embeddings=False,
        activation_function="relu"), "MTModel"),
    family("blenderbot", "Blenderbot", DEEP),
    family("m2m100", "M2M100", BART, forced=40),
    family("nllb", "M2M100", dict(DEEP, max_position_embeddings=16), forced=39,
           shard="20KB"),
    family("t5", "T5", T5),
    family("t5-v1.1", "T5", dict(T5, feed_forward_proj="gated-gelu",
                                 tie_word_embeddings=False), alter=untied),
    family("flan-t5", "T5", dict(T5, feed_forward_proj="gated-gelu",
                                 tie_word_embeddings=False,
                                 num_decoder_layers=2),
           alter=untied, dtype="bfloat16"),
    family("mt5", "MT5", dict(T5, feed_forward_proj="gated-gelu",
                              tie_word_embeddings=False), alter=untied),
    # Which version 4 scales, and 5 does not.
    family("mt5-tied", "MT5", dict(T5, d_model=8, d_ff=11, num_layers=1,
                                   num_heads=2), four=False),
    Family("t5-encoder", "T5EncoderModel", "T5Config",
           dict(T5, feed_forward_proj="gated-silu"), stack),
    Family("t5-tokens", "T5ForTokenClassification", "T5Config",
           dict(T5, num_layers=1, num_labels=3), stack),
]
