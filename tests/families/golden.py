"""Makes the folders of this folder: for each family of checkpoints a tiny
model as transformers saves it, and what transformers computes of it.

    make families-golden                    all of them
    make families-golden ONLY='gpt2 phi'    those whose names begin so

config.json            as transformers 5 writes it
config4.json           the same as transformers 4 does
model.safetensors      the weights, or an index and its shards
expected.json          inputs and results; greedy tokens; of a decoder `bare`,
                       its rows without its head

It runs twice: `record` with transformers 5, which writes all but config4.json,
and `config4` with the last transformers 4, which makes the config from the
same words, loads the weights with it and must compute the same.

A family is a row of FAMILIES in decoders.py, encoders.py, seq2seq.py or
retrieval.py: a Family. Its weights are random, far from what a class begins
with: norms about 1, biases about 0, no two alike. The model is saved and loaded
again before anything is recorded, so what a file leaves out is left out of the
results.
"""
import argparse
import dataclasses
import importlib
import json
import pathlib
import shutil
import sys
import tempfile
import zlib

import torch
import transformers

HERE = pathlib.Path(__file__).parent
PARTS = ("decoders", "encoders", "seq2seq", "retrieval")
FIVE = int(transformers.__version__.split(".")[0]) >= 5
SMALL = 100 * 1024
MARGIN = 1e-3  # greedy: the best logit is ahead of the next by this


@dataclasses.dataclass
class Family:
    """name: of the folder. model, config: classes of transformers. words: of
    the config. rope: rope_parameters as transformers 5 has them, which are
    taken apart for 4. record: what gives expected.json of a model; its inputs
    are functions of lengths and vocab. alter: called with the model before it
    is saved. bare: the file is of the model without its head, so names have no
    prefix, as OpenAI's gpt2 has it. attention: which of transformers' forms
    computes it. max_len: a length -> that of the spec it is
    meant for, where another than the config's. old: keys of rope_parameters
    that transformers 4 calls otherwise. four: words that 4 has in the place of
    rope; False: no config4.json, because 4 computes another model and its
    folders are rejected. drop: keys that older folders leave out of
    config.json. extra: files beside, name -> what json writes. only5:
    transformers 4 computes another model of the same config."""
    name: str
    model: str
    config: str
    words: dict
    record: object
    rope: dict | None = None
    lengths: tuple = (1, 7, 16)
    dtype: str = "float32"
    shard: str | None = None
    alter: object = None
    bare: bool = False
    attention: str = "eager"
    max_len: dict = dataclasses.field(default_factory=dict)
    old: dict = dataclasses.field(default_factory=dict)
    four: dict | bool | None = None
    drop: tuple = ()
    extra: dict = dataclasses.field(default_factory=dict)
    finish: object = None
    only5: bool = False


def seed_of(family, what):
    return zlib.crc32(f"{family.name} {what}".encode())


def generator(family, what):
    return torch.Generator().manual_seed(seed_of(family, what))


def config_of(family):
    words = dict(family.words)
    rope = dict(family.rope or {})
    if rope and FIVE:
        words["rope_parameters"] = rope
    elif family.four:
        words.update(family.four)
    elif rope:
        for key in ("rope_theta", "partial_rotary_factor"):
            if key in rope:
                words[family.old.get(key, key)] = rope.pop(key)
        if rope.get("rope_type", "default") != "default":
            words["rope_scaling"] = {family.old.get(k, k): v
                                     for k, v in rope.items()}
    return getattr(transformers, family.config)(**words)


def randomize(family, model):
    """Norms about 1, biases about 0, matrices that keep the size of a row."""
    g = generator(family, "weights")
    tables = {id(p) for m in model.modules()
              if isinstance(m, torch.nn.Embedding) for p in m.parameters()}
    with torch.no_grad():
        for name, x in sorted(model.state_dict(keep_vars=True).items()):
            if not x.is_floating_point():
                continue
            noise = torch.randn(x.shape, generator=g)
            if x.dim() <= 1 and name.endswith("weight"):
                x.copy_(1 + 0.25 * noise)
            elif x.dim() <= 1 or id(x) in tables:
                x.copy_(0.3 * noise)
            else:
                x.copy_(noise * (x.shape[-1] ** -0.5))
    model.tie_weights()


def load(family, folder):
    """As a user does, in f32."""
    words = {"dtype" if FIVE else "torch_dtype": torch.float32}
    if FIVE:  # experts of any width
        words["experts_implementation"] = "eager"
    model = getattr(transformers, family.model).from_pretrained(
        folder, attn_implementation=family.attention, **words)
    return model.eval()


def leave_out(family, path):
    words = json.loads(path.read_text())
    for key in family.drop:
        words.pop(key, None)
    path.write_text(json.dumps(words, indent=2, sort_keys=True) + "\n")


def save(family, folder):
    config = config_of(family)
    cls = getattr(transformers, family.model)
    model = getattr(cls, "from_config", cls)(config)
    randomize(family, model)
    if family.alter:
        family.alter(model)
    model = model.to(getattr(torch, family.dtype)).eval()
    part = model.base_model if family.bare else model
    part.save_pretrained(folder, max_shard_size=family.shard or "1GB")
    if family.bare:
        path = folder / "config.json"
        words = json.loads(path.read_text())
        words["architectures"] = [family.model]
        path.write_text(json.dumps(words, indent=2) + "\n")
    if family.drop:
        leave_out(family, folder / "config.json")
    for name, value in family.extra.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(value, indent=1) + "\n")
    if family.finish:
        family.finish(family, folder)


def ids_of(family, n, what="ids", first=3, vocab=None):
    """`n` ids; those below `first` are special in some families."""
    text = family.words.get("text_config", family.words)
    vocab = vocab or text["vocab_size"]
    g = generator(family, f"{what} {n}")
    return torch.randint(first, vocab, (n,), generator=g).tolist()


def numbers(x):
    """A tensor as lists, with as many digits as f32 has."""
    if x.dim() == 0:
        return float(f"{x.item():.8g}")
    return [numbers(row) for row in x]


def special(config):
    """Ids that attnc writes in no answer, or that end one."""
    found = []
    config = getattr(config, "text_config", config)
    for key in ("bos_token_id", "pad_token_id", "eos_token_id"):
        value = getattr(config, key, None)
        found += value if isinstance(value, list) else [value]
    return found


def greedy(model, step, steps):
    """So many ids, each the one that `step` likes best: step(ids so far) gives
    a row of logits. None where a choice was close or is a special id."""
    ids = []
    for _ in range(steps):
        row = step(ids)
        best = torch.topk(row, 2)
        if best.values[0] - best.values[1] < MARGIN * row.abs().max():
            return None
        if int(best.indices[0]) in special(model.config):
            return None
        ids.append(int(best.indices[0]))
    return ids


def first_greedy(family, model, n, run, what="prompt"):
    """The first prompt of `n` ids with which all choices are clear, and its
    answer: run(prompt) is what greedy() gives."""
    for i in range(100):
        prompt = ids_of(family, n, f"{what} {i}")
        ids = run(prompt)
        if ids:
            return prompt, ids
    sys.exit(f"{family.name}: no prompt has a clear answer")


def decoder(family, model):
    """Logits of prompts of each length; greedy tokens of the second."""
    def logits(ids):
        with torch.no_grad():
            return model(input_ids=torch.tensor([ids]), use_cache=False
                         ).logits[0].float()

    def answer(prompt):
        return greedy(model, lambda ids: logits(prompt + ids)[-1],
                      min(8, max(family.lengths) - n))

    n = family.lengths[1]
    cases = []
    for length in family.lengths:
        ids = ids_of(family, length)
        case = {"ids": ids, "logits": numbers(logits(ids))}
        if length in family.max_len:
            case["max_len"] = family.max_len[length]
        cases.append(case)
    prompt, ids = first_greedy(family, model, n, answer)
    return {"kind": "decoder", "cases": cases,
            "greedy": {"prompt": prompt, "ids": ids},
            "bare": bare(model, cases[1])}


def bare(model, case):
    """The rows of the model without its head, for the ids of a case."""
    part = model.base_model if model.base_model is not model else model.model
    with torch.no_grad():
        out = part(input_ids=torch.tensor([case["ids"]]), use_cache=False)
    case = {key: x for key, x in case.items() if key != "logits"}
    case["rows"] = numbers(out.last_hidden_state[0].float())
    return {"architecture": type(part).__name__, "cases": [case]}


def size_of(folder):
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


def record(family):
    folder = HERE / family.name
    with tempfile.TemporaryDirectory() as name:
        made = pathlib.Path(name) / "model"
        save(family, made)
        (made / "expected.json").write_text(
            compact(family.record(family, load(family, made))))
        if folder.exists():
            shutil.rmtree(folder)
        shutil.copytree(made, folder)


def compact(value, depth=0):
    """JSON with a list of numbers on one line."""
    pad = " " * depth
    if isinstance(value, dict):
        rows = [f'{pad} {json.dumps(k)}: {compact(v, depth + 1).lstrip()}'
                for k, v in value.items()]
        return pad + "{\n" + ",\n".join(rows) + f"\n{pad}}}" + (
            "" if depth else "\n")
    if isinstance(value, list) and any(isinstance(x, (list, dict))
                                       for x in value):
        return (pad + "[\n" + ",\n".join(compact(x, depth + 1)
                                         for x in value) + f"\n{pad}]")
    return pad + json.dumps(value, separators=(",", ":"))


def flat(value):
    if isinstance(value, dict):
        return [x for v in value.values() for x in flat(v)]
    if isinstance(value, list):
        return [x for v in value for x in flat(v)]
    return [value] if isinstance(value, (int, float)) else []


def as_before(path):
    """As nearly all files say it: the last 4 writes dtype, and both names of
    a rope's type."""
    words = json.loads(path.read_text())
    words["torch_dtype"] = words.pop("dtype")
    rope = words.get("rope_scaling") or {}
    if "type" in rope:
        rope.pop("rope_type", None)
    path.write_text(json.dumps(words, indent=2, sort_keys=True) + "\n")


def config4(family):
    """config4.json, which transformers 4 must read as the other."""
    folder = HERE / family.name
    config = config_of(family)
    written = json.loads((folder / "config.json").read_text())
    config.architectures = written["architectures"]
    config.torch_dtype = getattr(torch, family.dtype)
    with tempfile.TemporaryDirectory() as name:
        made = pathlib.Path(name)
        shutil.copytree(folder, made, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("config4.json"))
        config.save_pretrained(made)
        as_before(made / "config.json")
        leave_out(family, made / "config.json")
        found = flat(family.record(family, load(family, made)))
        wanted = flat(json.loads((folder / "expected.json").read_text()))
        shutil.copy(made / "config.json", folder / "config4.json")
    scale = max(abs(x) for x in wanted if isinstance(x, float))
    worst = max(abs(x - y) for x, y in zip(found, wanted, strict=True))
    if worst > 2e-6 * scale and not family.only5:
        sys.exit(f"{family.name}: transformers 4 differs by {worst:.3g} "
                 f"of {scale:.3g}")
    return worst / scale


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("record", "config4"))
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if (args.what == "record") != FIVE:
        sys.exit(f"{args.what}: not by transformers {transformers.__version__}")
    torch.set_num_threads(1)
    sys.path.insert(0, str(HERE))
    for part in PARTS:
        if not (HERE / f"{part}.py").exists():
            continue
        for family in importlib.import_module(part).FAMILIES:
            if args.only and not family.name.startswith(tuple(args.only)):
                continue
            if args.what == "record":
                record(family)
                print(family.name)
                continue
            if not hasattr(transformers, family.model) or family.four is False:
                print(f"{family.name}: config4.json is not made by 4")
                continue
            worst = config4(family)
            size = size_of(HERE / family.name)
            print(f"{family.name}: {size} bytes, 4 and 5 differ by {worst:.1g}")
            if size > SMALL:
                sys.exit(f"{family.name}: more than {SMALL} bytes")


if __name__ == "__main__":
    main()
