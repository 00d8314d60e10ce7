"""minilm_folder.py FOLDER: writes a checkpoint of MiniLM's shape with random
weights, without any package of Python."""

import array
import json
import random
import sys
from pathlib import Path

D, FF, LAYERS, VOCAB, LENGTH = 384, 1536, 6, 30522, 512
to = Path(sys.argv[1])
to.mkdir(parents=True)


def write(name, value):
    text = value if isinstance(value, str) else json.dumps(value)
    (to / name).parent.mkdir(exist_ok=True)
    (to / name).write_text(text)


def tensors():
    def norm(name):
        return [(f"{name}.weight", [D]), (f"{name}.bias", [D])]

    def linear(name, n, k):
        return [(f"{name}.weight", [n, k]), (f"{name}.bias", [n])]

    yield "embeddings.word_embeddings.weight", [VOCAB, D]
    yield "embeddings.position_embeddings.weight", [LENGTH, D]
    yield "embeddings.token_type_embeddings.weight", [2, D]
    yield from norm("embeddings.LayerNorm")
    for i in range(LAYERS):
        at = f"encoder.layer.{i}"
        for one in ("query", "key", "value"):
            yield from linear(f"{at}.attention.self.{one}", D, D)
        yield from linear(f"{at}.attention.output.dense", D, D)
        yield from norm(f"{at}.attention.output.LayerNorm")
        yield from linear(f"{at}.intermediate.dense", FF, D)
        yield from linear(f"{at}.output.dense", D, FF)
        yield from norm(f"{at}.output.LayerNorm")


write("config.json", {
    "architectures": ["BertModel"], "model_type": "bert", "hidden_size": D,
    "num_hidden_layers": LAYERS, "num_attention_heads": 12,
    "intermediate_size": FF, "vocab_size": VOCAB, "type_vocab_size": 2,
    "max_position_embeddings": LENGTH, "hidden_act": "gelu",
    "layer_norm_eps": 1e-12, "pad_token_id": 0})
write("modules.json", [
    {"idx": 0, "name": "0", "path": "",
     "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling",
     "type": "sentence_transformers.models.Pooling"}])
write("1_Pooling/config.json", {
    "word_embedding_dimension": D, "pooling_mode_mean_tokens": True})
first = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "man", "is",
         "eating", "food", "."]
write("vocab.txt", "".join(
    f"{w}\n" for w in first + [f"word{i}" for i in range(VOCAB - len(first))]))
write("tokenizer_config.json", {
    "tokenizer_class": "BertTokenizer", "do_lower_case": True})

# One block of numbers serves all tensors: their values do not matter.
draw = random.Random(1)
block = array.array("f", [draw.uniform(-0.05, 0.05) for _ in range(1 << 16)])
head, at = {}, 0
for name, shape in tensors():
    n = 4 * (shape[0] * shape[1] if len(shape) == 2 else shape[0])
    head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + n]}
    at += n
text = json.dumps(head).encode()
with open(to / "model.safetensors", "wb") as f:
    f.write(len(text).to_bytes(8, "little") + text)
    bytes_ = block.tobytes()
    while at > 0:
        f.write(bytes_[:at])
        at -= len(bytes_)
