"""Checkpoints and texts that the rows of compare.py work on: MiniLM's shape
with random weights, as Hugging Face folders with a tokenizer of 30,522 words.
"""
import os
import random

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SHAPE = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
         "intermediate_size": 1536, "vocab_size": 30522}


def vocabulary():
    """Words of 1 to 9 letters, and a third as many endings."""
    r, tokens = random.Random(1), dict.fromkeys([*SPECIAL, *LETTERS])
    tokens.update(dict.fromkeys("##" + x for x in LETTERS))
    while len(tokens) < SHAPE["vocab_size"]:
        word = "".join(r.choices(LETTERS, k=r.randint(1, 9)))
        tokens["##" + word if r.random() < 0.25 else word] = None
    return list(tokens)


def sentences(count, tokens, characters=122):
    """Texts of some `characters`, most of whose words are one token."""
    r = random.Random(2)
    words = [x for x in tokens if x.isalpha()]
    found = []
    for _ in range(count):
        text = ""
        least = r.randint(characters // 2, characters * 3 // 2)
        while len(text) < least:
            word = r.choice(words)
            text += " " + (word + r.choice(words) if r.random() < 0.1
                           else word)
        found.append(text.strip())
    return found


def pairs(lengths, tokens):
    """Queries of 8 tokens with documents: so many tokens together, of which 3
    are special ones."""
    r = random.Random(3)
    words = [x for x in tokens if x.isalpha()]

    def text(n):
        return " ".join(r.choices(words, k=n))
    query = text(8)
    return [(query, text(n - 3 - 8)) for n in lengths]


def tokenizer(tokens):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from tokenizers.processors import TemplateProcessing
    from transformers import BertTokenizerFast
    made = Tokenizer(models.WordPiece(
        {token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return BertTokenizerFast(tokenizer_object=made, model_max_length=512)


def export(folder, kind):
    """Writes model.onnx: last_hidden_state [n, tokens, d] or logits [n, 1]."""
    import torch
    model = kind.from_pretrained(folder, attn_implementation="eager").eval()
    names = ["input_ids", "attention_mask", "token_type_ids"]
    one = torch.ones(2, 8, dtype=torch.long)
    axes = {name: {0: "n", 1: "tokens"} for name in names}

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask, types):
            return self.model(input_ids=ids, attention_mask=mask,
                              token_type_ids=types)[0]

    output, more = "last_hidden_state", {1: "tokens"}
    if hasattr(model, "classifier"):
        output, more = "logits", {}
    torch.onnx.export(
        First(), (one, one, 0 * one), os.path.join(folder, "model.onnx"),
        input_names=names, output_names=[output], opset_version=17,
        dynamic_axes={**axes, output: {0: "n", **more}}, dynamo=False)


def write(folder):
    """Writes folder/embed, which pools, and folder/rank, a reranker."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import (
        BertConfig, BertForSequenceClassification, BertModel)
    words = tokenizer(vocabulary())
    torch.manual_seed(1)
    for name, kind in (("embed", BertModel),
                       ("rank", BertForSequenceClassification)):
        to = os.path.join(folder, name)
        model = kind(BertConfig(**SHAPE, num_labels=1))
        with torch.no_grad():
            for p in model.parameters():
                if p.dim() == 2:
                    p.mul_(2)    # so that rows differ from each other
        model.save_pretrained(to)
        words.save_pretrained(to)
        export(to, kind)
    to = os.path.join(folder, "embed")
    SentenceTransformer(modules=[
        Transformer(to), Pooling(SHAPE["hidden_size"], "mean")],
        device="cpu").save(to)
    export(to, BertModel)
