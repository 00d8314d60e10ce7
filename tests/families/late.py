"""Small models of late interaction, and a reranker by the logits of words, with
tokenizers: the rows of queries and documents, and the scores of pairs, by
sentence-transformers.

late.py FOLDER [NAME ..]: makes FOLDER/NAME (tests/families/texts), with
texts.json. sentence-transformers 6.2 and transformers 5.24 recorded it.
"""
import json
import os
import string
import sys

import torch
import transformers as hf
from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoder
from sentence_transformers import multi_vector_encoder as mv
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.cross_encoder.modules.logit_score import LogitScore
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from texts import ENCODER, PROSE, stir, word_pieces

TEXTS = ["what writes a file?", "The compiler, not you, writes one file!",
         "a: b.", "Attention is all you need, and a file of weights beside the "
         "program; the answer comes word by word.", "Numbers 12 ? ' ! ."]
WIDTH = 6
FLOAT = {"dtype": torch.float32}


def bert(path, *more):
    """A BERT, whose vocabulary has these tokens too."""
    names = {**word_pieces().get_vocab()}
    for name in more:
        names[name] = len(names)
    tokenizer = hf.BertTokenizer(vocab=names)
    model = hf.BertModel(hf.BertConfig(vocab_size=len(names), **ENCODER),
                         add_pooling_layer=False)
    return tokenizer, model


def saved(path, tokenizer, model, seed):
    stir(model, seed)
    model.half().save_pretrained(path)
    tokenizer.save_pretrained(path)


def written(path, **files):
    for name, words in files.items():
        name = name.replace("__", "/").replace("_json", ".json")
        file = os.path.join(path, name.replace("_metadata", ".metadata"))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w") as f:
            json.dump(words, f, indent=1)
            f.write("\n")


def product(width):
    g = torch.Generator().manual_seed(7)
    return (torch.randn(WIDTH, width, generator=g) * 0.3).half()


def colbert_first(path):
    """A folder of the first ColBERT: tokens [unused0] and [unused1], queries
    with tokens that no row attends to, documents without punctuation."""
    saved(path, *bert(path, "[unused0]", "[unused1]"), 1)
    file = os.path.join(path, "model.safetensors")
    tensors = {f"bert.{name}": x for name, x in load_file(file).items()}
    tensors["linear.weight"] = product(ENCODER["hidden_size"])
    save_file(tensors, file, metadata={"format": "pt"})
    with open(os.path.join(path, "config.json")) as f:
        words = json.load(f) | {"architectures": ["HF_ColBERT"]}
    written(path, config_json=words, artifact_metadata={
        "dim": WIDTH, "query_maxlen": 12, "doc_maxlen": 16,
        "query_token_id": "[unused0]", "doc_token_id": "[unused1]",
        "mask_punctuation": True, "attend_to_mask_tokens": False})


def pylate(path):
    """A folder of PyLate with layers of a window, and prefixes that are added
    tokens with a space. The window hides all tokens from some that fill."""
    t = bytes_tokenizer(["[PAD]", "[CLS]", "[SEP]", "[MASK]"])
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_object=t, pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]")
    tokenizer.add_tokens(["[Q] ", "[D] "])
    saved(path, tokenizer, hf.ModernBertModel(hf.ModernBertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=12, pad_token_id=0,
        max_position_embeddings=64, cls_token_id=1, sep_token_id=2,
        global_attn_every_n_layers=2, local_attention=8)), 2)
    written(path, modules_json=[
        {"idx": 0, "name": "0", "path": "",
         "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense",
         "type": "pylate.models.Dense.Dense"}],
        **{"1_Dense__config_json": {
            "in_features": 16, "out_features": WIDTH, "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
            "use_residual": False}},
        config_sentence_transformers_json={
            "model_type": "ColBERT", "prompts": {},
            "default_prompt_name": None, "similarity_fn_name": "MaxSim",
            "query_prefix": "[Q] ", "document_prefix": "[D] ",
            "query_length": 20, "document_length": 30,
            "attend_to_expansion_tokens": False,
            "skiplist_words": list(string.punctuation),
            "do_query_expansion": True})
    save_file({"linear.weight": product(16)},
              os.path.join(path, "1_Dense", "model.safetensors"))


def multi_vector(path):
    """What sentence-transformers writes: longer queries are not cut, and all
    rows attend to the tokens that fill others."""
    beside = os.path.join("build", "texts", "multi_vector")
    saved(beside, *bert(path), 3)
    first = Transformer(beside, model_kwargs=FLOAT, document_length=18,
                        query_expansion={"strategy": "min", "length": 10,
                                         "attend": True})
    dense = Dense(16, WIDTH, bias=False, module_input_name="token_embeddings",
                  activation_function=torch.nn.Identity(),
                  init_weight=product(16).float())
    mask = mv.modules.MultiVectorMask(skiplist_words=[".", ","])
    model = mv.MultiVectorEncoder(
        modules=[first, dense, mask,
                 Normalize(module_input_name="token_embeddings")],
        prompts={"query": "what ", "document": ""}, device="cpu")
    model.save_pretrained(path, create_model_card=False)


TEMPLATE = """<|im_start|>system
Judge the Document by the Query and the Instruct.<|im_end|>
<|im_start|>user
{% set system = messages | selectattr('role', 'eq', 'system') | list %}
<Instruct>: {{ system[0].content if system else 'Given a query, find what \
answers it' }}
<Query>: {{ messages | selectattr('role', 'eq', 'query') \
| map(attribute='content') | first }}
<Document>: {{ messages | selectattr('role', 'eq', 'document') \
| map(attribute='content') | first }}<|im_end|>
{% if add_generation_prompt %}<|im_start|>assistant
<think>

</think>

{% endif %}"""
PAIRS = [("what writes a file?", "The compiler writes one file."),
         ("numbers", ""), (" spaces ", " and, more"), ("a file", "a file"),
         ("what is needed", "Attention is all you need! " * 6)]


def bytes_tokenizer(special):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(PROSE, trainers.BpeTrainer(
        vocab_size=290, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def qwen_reranker(path):
    """Pairs in a chat template, with an instruction of their own."""
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_object=bytes_tokenizer(
            ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]),
        pad_token="<|endoftext|>", eos_token="<|im_end|>",
        chat_template=TEMPLATE)
    beside = os.path.join("build", "texts", "qwen_reranker")
    saved(beside, tokenizer, hf.Qwen3ForCausalLM(hf.Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, head_dim=8,
        intermediate_size=12, max_position_embeddings=320, pad_token_id=0,
        eos_token_id=2, tie_word_embeddings=True)), 4)
    first = Transformer(
        beside, transformer_task="text-generation", model_kwargs=FLOAT,
        max_seq_length=320, processing_kwargs={
            "chat_template": {"add_generation_prompt": True}})
    model = CrossEncoder(modules=[first, LogitScore(41, 37)], device="cpu")
    model.save_pretrained(path, create_model_card=False)


def scores(path):
    model = CrossEncoder(path, device="cpu", model_kwargs=FLOAT)
    for text, pair in PAIRS:
        found = model.predict([(text, pair)],
                              activation_fn=torch.nn.Identity())
        yield {"text": text, "pair": pair, "row": [float(found[0])]}


def cases(path):
    model = mv.MultiVectorEncoder(path, device="cpu", model_kwargs=FLOAT)
    for text in TEXTS:
        for task in ("query", "document"):
            rows = getattr(model, f"encode_{task}")(text, convert_to_numpy=True)
            yield {"text": text, "task": task,
                   "rows": [[round(float(x), 7) for x in row] for row in rows]}


def main(folder, *only):
    hf.logging.set_verbosity_error()
    for make in (colbert_first, pylate, multi_vector, qwen_reranker):
        if only and make.__name__ not in only:
            continue
        path = os.path.join(folder, make.__name__)
        make(path)
        found = list((scores if make is qwen_reranker else cases)(path))
        with open(os.path.join(path, "texts.json"), "w") as f:
            json.dump({"steps": 0, "cases": found}, f)
            f.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
