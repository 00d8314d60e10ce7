"""Compares attnc with transformers on random configurations of each family.

    make check-families                          5 of each family
    make check-families N=20 FAMILIES='llama gpt2'

For a family, N configurations are drawn over the options of its config class:
activations, ties, biases, key heads, widths of heads, rotary types, windows,
kinds of layers, experts. Each becomes a tiny random model in f32, bf16 or f16,
of one file or of shards, with its head or bare, as transformers saves it. Then
`attnc import` reads the folder, and `attnc run` must give the results of
transformers within 1e-4 of their scale and, of a decoder, the ids of
generate(). What import rejects with exit code 3 and a reason counts as
refused. The table counts the rest as right or wrong; a wrong one exits with 1.

A seed, a family and a number give the same configuration on each run:
--only=NUMBER repeats one, --keep=FOLDER keeps its files, and --verbose prints
the reasons of what is refused.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import types
import warnings

import torch
import transformers
from safetensors.torch import load_file, save_file

import golden
from fuzz_families import FAMILIES

STEPS = 6
CLOSE = 1e-4


class Wrong(Exception):
    """attnc and transformers disagree, or a message is not what it must be."""


def attnc(args, *words, text=""):
    try:
        return subprocess.run([args.attnc, *map(str, words)], input=text,
                              capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired as late:
        raise Wrong(f"attnc {words[0]} runs for {late.timeout} s") from late


# ---- the model ----
def drawn(args, family, i):
    """The configuration of a number: its class of models, its words, how it
    is saved."""
    r = random.Random(f"{args.seed} {family.name} {i}")
    model, words = r.choice(family.models), family.draw(r)
    if model.endswith("QuestionAnswering"):
        words["num_labels"] = 2
    how = types.SimpleNamespace(
        name=f"{family.name} {i}", model=model,
        dtype=r.choice(("float32", "float32", "bfloat16", "float16")),
        shard=r.choice((None, None, "8KB")), words=words)
    return r, how


def make(family, how, folder):
    """Saves the model. Returns why transformers cannot build or run it."""
    try:
        config = getattr(transformers, family.config)(**how.words)
        model = getattr(transformers, how.model)(config)
        golden.randomize(how, model)
        model = model.to(getattr(torch, how.dtype)).eval()
        model.save_pretrained(folder, max_shard_size=how.shard or "1GB")
        model, ids = load(family, how, folder), torch.tensor([[3, 4, 5]])
        both = family.side == "both" and not how.model.endswith("EncoderModel")
        model(input_ids=ids, **({"decoder_input_ids": ids} if both else {}))
    except Exception as why:  # its own checks, or none
        return str(why)
    return None


def one_table(config, max_len):
    """A spec has the frequencies of its max_len; longrope has two tables."""
    rope = getattr(config, "rope_parameters", None) or {}
    original = rope.get("original_max_position_embeddings",
                        getattr(config, "original_max_position_embeddings", 0))
    if "long_factor" in rope and max_len > (original or max_len):
        rope["short_factor"] = rope["long_factor"]


def load(family, how, folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    one_table(config, family.max_len(how.words))
    more = {}
    if hasattr(config, "num_experts_per_tok"):
        more["experts_implementation"] = "eager"  # of any width
    return getattr(transformers, how.model).from_pretrained(
        folder, config=config, dtype=torch.float32,
        attn_implementation=family.attention, **more).eval()


# ---- results ----
def rows_of(out):
    if hasattr(out, "start_logits"):
        x = torch.stack([out.start_logits, out.end_logits], dim=-1)
    else:
        x = next(getattr(out, name) for name in (
            "logits", "prediction_logits", "text_embeds", "last_hidden_state")
            if getattr(out, name, None) is not None)
    return x.float().reshape(-1, x.shape[-1])


def inputs_of(family, r, how):
    """Two inputs: of one or a few ids, and of the most."""
    most = family.max_len(how.words)
    vocab = how.words["vocab_size"]
    for n in (r.randint(1, most // 2), most):
        ids = [r.randrange(3, vocab) for _ in range(n)]
        if family.side == "both" and not how.model.endswith("EncoderModel"):
            target = [r.randrange(3, vocab) for _ in range(max(1, n // 2))]
            yield {"input_ids": ids, "decoder_input_ids": target}
        elif how.words.get("type_vocab_size", 1) > 1 and n > 2:
            yield {"input_ids": ids, "token_type_ids": [0] * (n // 2)
                   + [1] * (n - n // 2)}
        else:
            yield {"input_ids": ids}


def is_causal(family, how):
    """It has logits of next tokens, and a bare decoder has none."""
    return family.side == "target" and how.model.endswith(
        ("ForCausalLM", "LMHeadModel"))


def sides(family, how, given):
    """The same input by attnc's names of tensors."""
    first = "target" if is_causal(family, how) else "source"
    names = {"input_ids": f"{first}.ids", "decoder_input_ids": "target.ids",
             "token_type_ids": "source.types"}
    return {names[key]: torch.tensor(x, dtype=torch.int32)
            for key, x in given.items()}


def compare(args, family, how, model, spec, given):
    with torch.no_grad():
        more = {} if family.side != "target" else {"use_cache": False}
        wanted = rows_of(model(**{k: torch.tensor([x])
                                  for k, x in given.items()}, **more))
    into, out = spec.with_name("in.safetensors"), spec.with_name("out")
    save_file(sides(family, how, given), into)
    ran = attnc(args, "run", spec, "--backend=jit", "--force",
                f"--input={into}", f"--output={out}.safetensors")
    if ran.returncode:
        raise Wrong(f"attnc run exits with {ran.returncode}: {ran.stderr}")
    found = next(iter(load_file(f"{out}.safetensors").values())).float()
    found = found.reshape(-1, found.shape[-1])
    if found.shape != wanted.shape:
        raise Wrong(f"{tuple(found.shape)} numbers, not {tuple(wanted.shape)}")
    scale = wanted.abs().max().item()
    worst = (found - wanted).abs().max().item()
    if not worst <= CLOSE * scale:
        raise Wrong(f"{len(given['input_ids'])} ids differ by {worst:.3g} of "
                    f"{scale:.3g}")


def answer(model, prompt):
    """The ids of generate() as far as each choice is clear and no special id,
    and whether the last of them ends the answer."""
    out = model.generate(torch.tensor([prompt]), do_sample=False,
                         max_new_tokens=STEPS, num_beams=1, output_logits=True,
                         return_dict_in_generate=True)
    ids = []
    for row, token in zip(out.logits, out.sequences[0, len(prompt):].tolist()):
        best = torch.topk(row[0], 2).values
        if (best[0] - best[1] < golden.MARGIN * row.abs().max()
                or token in golden.special(model.config)):
            break
        ids.append(token)
    return ids


def compare_answer(args, family, how, model, spec, given):
    if not is_causal(family, how):
        return
    prompt = given["input_ids"]
    if len(prompt) + STEPS > family.max_len(how.words):
        prompt = prompt[:family.max_len(how.words) - STEPS]
    wanted = answer(model, prompt)
    ran = attnc(args, "run", spec, "--ids", "--beam=1", "--backend=jit",
                f"--max-output={STEPS}", text=" ".join(map(str, prompt)) + "\n")
    if ran.returncode:
        raise Wrong(f"attnc run exits with {ran.returncode}: {ran.stderr}")
    found = [int(x) for x in ran.stdout.split()]
    if found[:len(wanted)] != wanted:
        raise Wrong(f"{found} follow {prompt}, not {wanted}")


# ---- counts ----
def trial(args, family, r, how, folder):
    """One configuration. Returns what it counts as, and the reason."""
    why = make(family, how, folder)
    if why is not None:
        return "no model", why
    spec = folder / "m.yaml"
    done = attnc(args, "import", folder, "-o", spec, "--quiet")
    if done.returncode:
        error = done.stderr.splitlines()[0] if done.stderr else ""
        blames_spec = f"{spec}:" in done.stderr
        if done.returncode != 3 or blames_spec or " error: " not in error:
            raise Wrong(f"attnc import exits with {done.returncode}: "
                        f"{done.stderr}")
        return "refused", error.split(" error: ", 1)[1]
    model = load(family, how, folder)
    for given in inputs_of(family, r, how):
        compare(args, family, how, model, spec, given)
    compare_answer(args, family, how, model, spec, given)
    return "right", None


def count(args, family):
    counts, reasons = collections.Counter(), collections.Counter()
    for i in range(args.n) if args.only is None else [args.only]:
        r, how = drawn(args, family, i)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(args.keep or name) / "model"
            folder.mkdir(parents=True, exist_ok=True)
            try:
                kind, why = trial(args, family, r, how, folder)
            except Wrong as wrong:
                kind, why = "wrong", str(wrong)
                print(f"{how.name}: {why.strip()}\n  {how.model}, {how.dtype}, "
                      f"{json.dumps(how.words)}", flush=True)
        counts[kind] += 1
        if why:
            reasons[f"{kind}: {why}"] += 1
    return counts, reasons


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attnc")
    parser.add_argument("families", nargs="*")
    parser.add_argument("-n", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    unknown = set(args.families) - {f.name for f in FAMILIES}
    if unknown:
        sys.exit(f"unknown families: {' '.join(sorted(unknown))}")
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    kinds = ("right", "refused", "wrong", "no model")
    total = collections.Counter()
    print(f"{'family':16}" + "".join(f"{kind:>10}" for kind in kinds))
    for family in FAMILIES:
        if args.families and family.name not in args.families:
            continue
        counts, reasons = count(args, family)
        total += counts
        print(f"{family.name:16}" + "".join(f"{counts[k]:>10}" for k in kinds),
              flush=True)
        if args.verbose:
            for why, n in reasons.most_common():
                print(f"  {n} {why.splitlines()[0][:150]}")
    print(f"{'all':16}" + "".join(f"{total[k]:>10}" for k in kinds))
    sys.exit(int(total["wrong"] > 0))


if __name__ == "__main__":
    main()
