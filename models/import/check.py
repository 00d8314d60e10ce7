"""What transformers computes of a checkpoint, for attnc import --check=PYTHON.

    python check.py KIND FOLDER WEIGHTS INPUTS ANSWERS

KIND      of the spec: encoder, decoder, encoder-decoder
FOLDER    the checkpoint
WEIGHTS   a file that stands for the folder's; "": none
INPUTS    .safetensors: i.source, i.target, i.types are the ids of input i, and
          their types
ANSWERS   .safetensors: i is its result, a row an id, or one row

Prints the versions and the class: one line. The last line of stderr says what
is wrong, where the exit code is not 0.
"""
import os
import sys

SAID = os.dup(1)
os.dup2(2, 1)  # what libraries print is not in our line
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"


def packages():
    try:
        import torch
        import transformers
        import safetensors.torch
    except ImportError as why:
        sys.exit(f"{why}: {sys.executable} -m pip install torch transformers")
    return torch, transformers, safetensors.torch


torch, transformers, tensors = packages()
FIVE = int(transformers.__version__.split(".")[0]) >= 5


def json_of(*path):
    import json
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)


def class_of(kind, folder, config):
    """The class that computes what a spec of this kind does."""
    name = (config.architectures or ["AutoModel"])[0]
    if kind == "decoder" and not name.endswith("ForConditionalGeneration"):
        return transformers.AutoModelForCausalLM
    if kind == "encoder-decoder":
        return transformers.AutoModelForSeq2SeqLM
    if os.path.exists(os.path.join(folder, "modules.json")):
        t5 = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel"}
        name = t5.get(config.model_type, "AutoModel")
    if not hasattr(transformers, name):
        sys.exit(f"transformers {transformers.__version__} has no {name}: "
                 f"{sys.executable} -m pip install -U transformers")
    return getattr(transformers, name)


def untie(config, weights):
    """An adapter may give a decoder's output a table of its own."""
    made = tensors.load_file(os.path.join(weights, "model.safetensors"))
    for name in ("lm_head.weight", "embed_out.weight"):
        if name in made and not any(
                torch.equal(made[name], x) for n, x in made.items()
                if n != name):
            config.tie_word_embeddings = False


def load(kind, folder, weights):
    config = transformers.AutoConfig.from_pretrained(folder)
    if weights:
        untie(config, weights)
    words = {"config": config, "dtype" if FIVE else "torch_dtype":
             torch.float32}
    if FIVE and hasattr(config, "num_experts_per_tok"):
        words["experts_implementation"] = "eager"  # of any width
    cls = class_of(kind, folder, config)
    return cls.from_pretrained(weights or folder, **words).float().eval()


def with_weights(folder, weights, to):
    """A folder that has these weights, and all else of another one."""
    os.mkdir(to)
    for name in os.listdir(folder):
        if ".safetensors" not in name and name.endswith(".json"):
            os.symlink(os.path.join(folder, name), os.path.join(to, name))
    tensors.save_file(tensors.load_file(weights),
                      os.path.join(to, "model.safetensors"), {"format": "pt"})
    return to


def finished(folder, rows):
    """What sentence-transformers makes of the rows of a text."""
    path = os.path.join(folder, "modules.json")
    for step in json_of(path) if os.path.exists(path) else []:
        kind = step["type"].split(".")[-1]
        if kind == "Pooling":
            config = json_of(folder, step["path"], "config.json")
            modes = ("cls_token", "max_tokens", "lasttoken", "mean_tokens")
            on = [m for m in modes if config.get(f"pooling_mode_{m}")]
            mode = config.get("pooling_mode") or (on or ["mean_tokens"])[0]
            rows = {"cls": rows[:1], "las": rows[-1:], "mea": rows.mean(
                0, True), "max": rows.max(0, True).values}[mode[:3]]
        elif kind == "Dense":
            config = json_of(folder, step["path"], "config.json")
            parts = tensors.load_file(os.path.join(
                folder, step["path"], "model.safetensors"))
            rows = torch.nn.functional.linear(
                rows, parts["linear.weight"].float(),
                parts["linear.bias"].float() if config["bias"] else None)
            name = config["activation_function"].split(".")[-1]
            rows = getattr(torch.nn, name)()(rows)
        elif kind == "Normalize":
            rows = rows / rows.norm(dim=-1, keepdim=True)
    return rows


def result(model, folder, words):
    if hasattr(model, "vision_model"):  # CLIP, SigLIP: their side of texts
        out = model.text_model(**words)
        project = getattr(model, "text_projection", torch.nn.Identity())
        return project(out.pooler_output)
    if type(model).__name__.endswith("ForMultipleChoice"):
        words = {key: x[None] for key, x in words.items()}
    out = model(**words)
    if hasattr(out, "start_logits"):
        return torch.stack([out.start_logits, out.end_logits], dim=-1)
    for name in ("logits", "prediction_logits", "text_embeds"):
        if hasattr(out, name):
            return getattr(out, name)
    return finished(folder, out.last_hidden_state[0])


def answer(model, folder, inputs, i):
    given = {key: inputs[f"{i}.{key}"].long()[None]
             for key in ("source", "target", "types")
             if f"{i}.{key}" in inputs}
    ids = given.get("source", given.get("target"))
    words = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if "source" in given and "target" in given:
        words["decoder_input_ids"] = given["target"]
    if "types" in given:
        words["token_type_ids"] = given["types"]
    rows = result(model, folder, words).float()
    return rows.reshape(-1, rows.shape[-1]).contiguous()


def main(kind, folder, weights, inputs, answers):
    folder = os.path.abspath(folder)
    torch.manual_seed(0)
    if weights:
        weights = with_weights(folder, weights, answers + ".model")
    model = load(kind, folder, weights)
    given = tensors.load_file(inputs)
    count = len({name.split(".")[0] for name in given})
    if not count:
        sys.exit("the model reads numbers, and inputs here are ids: it is not "
                 "compared")
    with torch.no_grad():
        found = {str(i): answer(model, folder, given, i)
                 for i in range(count)}
    tensors.save_file(found, answers)
    line = (f"transformers {transformers.__version__}, torch "
            f"{torch.__version__}: {type(model).__name__}\n")
    os.write(SAID, line.encode())


main(*sys.argv[1:])
