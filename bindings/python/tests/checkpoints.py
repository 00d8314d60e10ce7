"""Small checkpoints with random weights, as transformers writes them."""

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, PreTrainedTokenizerFast

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def tokenizer(max_length=64):
    """Returns a tokenizer of BERT's form whose words are letters."""
    tokens = [*SPECIAL, *LETTERS, *("##" + x for x in LETTERS), "the", "cat"]
    made = Tokenizer(models.WordPiece(
        {token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=max_length,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]")


def bert(folder, kind, **config):
    """Writes a model of a class such as BertModel, with its tokenizer."""
    words = tokenizer()
    torch.manual_seed(1)
    model = kind(BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64, **config))
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(4)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return str(folder)
