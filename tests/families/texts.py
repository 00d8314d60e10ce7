"""Small models with tokenizers: texts and their answers, by transformers.

texts.py FOLDER [NAME ..]: makes FOLDER/NAME (tests/families/texts), with
texts.json; of pairs of texts, for those that take them.
"""
import json
import os
import sys

import sentencepiece
import torch
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

PROSE = """The compiler reads a description of a model and writes one file.
Attention is all you need, and a file of weights beside the program.
Every word of the source is looked up, and the answer comes word by word.
A tokenizer takes a text apart; its pieces have numbers, which a model reads.
What is not known becomes one piece, or bytes, or nothing at all.
The encoder sees all words at once; the decoder sees those before it.
Numbers such as 12, 345 and 6789 stand in texts too, as do marks: ! ? '.
""".splitlines()
SIZE = dict(d_model=16, encoder_layers=1, decoder_layers=1,
            encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=64)
TEXTS = ["The compiler writes a file.", "a  b   c", " spaces, and more ",
         "Attention is all you need!", "two pieces</s> and an end",
         "unknown: \u00e9\u4e2d \U0001F600"]
PAIRS = [("what writes a file?", "The compiler writes one file."),
         ("what is needed", "Attention is all you need!"),
         ("numbers", ""), ("", "a second text alone"), ("", ""),
         ("  Spaces ", " and, commas  "),
         ("\u00e9\u4e2d", "not known: \U0001F600"),
         ("a file", "a file")]
STEPS, MARGIN = 8, 1e-3


def stir(model, seed):
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if not p.requires_grad:  # sines, which are not saved
                continue
            x = torch.randn(p.shape, generator=g)
            if p.dim() == 1:
                p.add_(x * .2)
                if name.endswith(("ln_f.weight", "layer_norm.weight")):
                    p[::2] *= -1
            else:
                p.copy_(x * p.shape[-1] ** -.5)


def pieces(path, size, **more):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(PROSE), model_prefix=path, vocab_size=size,
        model_type="unigram", minloglevel=2, hard_vocab_limit=False,
        normalization_rule_name="identity", **more)
    p = sentencepiece.SentencePieceProcessor(path + ".model")
    return [(p.id_to_piece(i), p.get_score(i)) for i in range(len(p))]


def t5(path):
    vocab = pieces(path, 80, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    tokenizer = hf.T5Tokenizer(vocab=vocab, extra_ids=4)
    return tokenizer, hf.T5ForConditionalGeneration(hf.T5Config(
        vocab_size=len(vocab) + 8, d_model=16, d_kv=8, d_ff=24, num_layers=1,
        num_decoder_layers=1, num_heads=2, decoder_start_token_id=0))


def marian(path):
    a, b = pieces(path + "a", 80), pieces(path + "b", 70)
    names = ["</s>", "<unk>"] + sorted({x for x, _ in a + b} - {
        "</s>", "<unk>", "<s>"}) + ["<pad>"]
    with open(path + ".json", "w") as f:
        json.dump({n: i for i, n in enumerate(names)}, f)
    pad = len(names) - 1
    tokenizer = hf.MarianTokenizer(path + "a.model", path + "b.model",
                                   path + ".json")
    return tokenizer, hf.MarianMTModel(hf.MarianConfig(
        vocab_size=len(names), **SIZE, pad_token_id=pad, eos_token_id=0,
        decoder_start_token_id=pad, forced_eos_token_id=None))


def mbart50(path):
    tokenizer = hf.MBart50Tokenizer(vocab=pieces(path, 80), src_lang="en_XX",
                                    tgt_lang="de_DE")
    return tokenizer, hf.MBartForConditionalGeneration(hf.MBartConfig(
        vocab_size=len(tokenizer), **SIZE, decoder_start_token_id=2,
        forced_eos_token_id=None,
        forced_bos_token_id=tokenizer.convert_tokens_to_ids("de_DE")))


def gpt2(path):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(PROSE, trainers.BpeTrainer(
        vocab_size=300, special_tokens=["</s>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(t.to_str())["model"]
    tokenizer = hf.GPT2Tokenizer(
        vocab=model["vocab"], merges=[tuple(m) for m in model["merges"]],
        unk_token="</s>", bos_token="</s>", eos_token="</s>")
    return tokenizer, hf.GPT2LMHeadModel(hf.GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2,
        n_positions=64, bos_token_id=0, eos_token_id=0))


def word_pieces():
    words = sorted({w.strip(".,;:!?'").lower() for line in PROSE
                    for w in line.split()} - {""})
    letters = "abcdefghijklmnopqrstuvwxyz.,:!?'"
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + list(letters)
    names += ["##" + x for x in letters[:26]]
    names += [w for w in words if w not in names]
    return hf.BertTokenizer(vocab={n: i for i, n in enumerate(names)})


ENCODER = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
               intermediate_size=24, max_position_embeddings=64)


def bert(path):
    tokenizer = word_pieces()
    return tokenizer, hf.BertModel(hf.BertConfig(
        vocab_size=len(tokenizer), **ENCODER), add_pooling_layer=False)


def reranker(path):
    tokenizer = word_pieces()
    return tokenizer, hf.BertForSequenceClassification(hf.BertConfig(
        vocab_size=len(tokenizer), num_labels=1, **ENCODER))


def reranker_xlm(path):
    tokenizer = hf.XLMRobertaTokenizer(vocab=pieces(
        path, 80, bos_id=0, pad_id=1, eos_id=2, unk_id=3))
    return tokenizer, hf.XLMRobertaForSequenceClassification(
        hf.XLMRobertaConfig(vocab_size=len(tokenizer), num_labels=2,
                            type_vocab_size=1, **ENCODER))


def answer(model, tokenizer, text):
    """None where a choice is not clear or the answer has padding."""
    if isinstance(text, tuple):
        # of a list of pairs: of one whose second text is empty, alone, the
        # tokenizer makes the template of one text
        words = tokenizer([text[0]], [text[1]], return_tensors="pt")
        with torch.no_grad():
            row = model(**words).logits[0]
        return {"text": text[0], "pair": text[1],
                "ids": words["input_ids"][0].tolist(), "row": row.tolist()}
    ids = tokenizer(text)["input_ids"]
    if not hasattr(model, "lm_head"):
        with torch.no_grad():
            row = model(torch.tensor([ids])).last_hidden_state[0, 0]
        return {"text": text, "ids": ids, "row": row.tolist()}
    out = model.generate(
        torch.tensor([ids]), num_beams=1, do_sample=False, output_scores=True,
        max_new_tokens=STEPS, max_length=None, return_dict_in_generate=True)
    found = out.sequences[0].tolist()[
        1 if model.config.is_encoder_decoder else len(ids):]
    for row in out.scores:
        best = torch.topk(row[0], 2).values
        if best[0] - best[1] < MARGIN * best[0].abs():
            return None
    if model.config.pad_token_id in found:
        return None
    return {"text": text, "ids": ids, "answer": tokenizer.decode(
        found, skip_special_tokens=True, clean_up_tokenization_spaces=False)}


def clear(model, tokenizer):
    """The first weights with which all choices are clear, and differ."""
    for seed in range(1000):
        stir(model, seed)
        model = model.half().float().eval()
        pairs = hasattr(model, "classifier")
        cases = [answer(model, tokenizer, text)
                 for text in (PAIRS if pairs else TEXTS)]
        if all(cases) and len({str(c.get("answer", c["ids"]))
                               for c in cases}) > 3:
            return cases
    raise SystemExit("no weights have clear answers")


def main(folder, *only):
    os.makedirs("build/texts", exist_ok=True)
    for make in (t5, marian, mbart50, gpt2, bert, reranker, reranker_xlm):
        if only and make.__name__ not in only:
            continue
        path = os.path.join(folder, make.__name__)
        tokenizer, model = make("build/texts/" + make.__name__)
        cases = clear(model, tokenizer)
        model.half().save_pretrained(path)
        tokenizer.save_pretrained(path)
        with open(os.path.join(path, "texts.json"), "w") as f:
            json.dump({"steps": STEPS, "cases": cases}, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
