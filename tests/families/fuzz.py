"""Compares attnc with transformers on random configurations of each family.

    make check-families                          5 of each family
    make check-families N=20 FAMILIES='llama gpt2'

For a family, N configurations are drawn over the options of its config class:
activations, ties, biases, key heads, widths of heads, rotary types, windows,
kinds of layers, experts. Each becomes a tiny random model in f32, bf16 or f16,
of one file or of shards, with its head or bare, as transformers saves it. Then
`attnc import` reads the folder, and `attnc run` must give the results of
transformers within 1e-4 of their scale and, if the model writes tokens, the ids
of generate(). What import rejects with exit code 3 and a reason counts as
refused. The table counts the rest as right or wrong; a wrong one exits with 1.
A family of `attnc import --families` that nothing draws is an error.

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
import zlib

import torch
import transformers
from safetensors.torch import load_file, save_file

import golden
import seeded
from fuzz_encoders import ENCODERS, SEQ2SEQ
from fuzz_families import DECODERS

FAMILIES = DECODERS + ENCODERS + SEQ2SEQ

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
    """The configuration of a number: its class of models, one that import
    takes; its words; how it is saved."""
    r = random.Random(f"{args.seed} {family.name} {i}")
    model = r.choice([m for m in family.models if m in args.taken])
    words = family.draw(r)
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
        config = getattr(transformers, family.config)(
            **family.config_words(how.words))
        model = getattr(transformers, how.model)(config)
        model = model.to(getattr(torch, how.dtype))
        model.save_pretrained(folder, max_shard_size=how.shard or "1GB")
        how.weights = seeded.fill(folder, seed_of(how))
        result(family, load(family, how, folder), next(inputs_of(
            family, random.Random(1), how)))
    except Exception as why:  # its own checks, or none
        return str(why)
    return None


def seed_of(how):
    return zlib.crc32(how.name.encode())


def load(family, how, folder):
    more = {}
    if hasattr(transformers.AutoConfig.from_pretrained(folder),
               "num_experts_per_tok"):
        more["experts_implementation"] = "eager"  # of any width
    return getattr(transformers, how.model).from_pretrained(
        folder, dtype=torch.float32, attn_implementation=family.attention,
        **more).eval()


# ---- results ----
def rows_of(out):
    if hasattr(out, "start_logits"):
        x = torch.stack([out.start_logits, out.end_logits], dim=-1)
    else:
        x = next(getattr(out, name) for name in (
            "logits", "prediction_logits", "text_embeds", "last_hidden_state")
            if getattr(out, name, None) is not None)
    return x.float().reshape(-1, x.shape[-1])


def has_target(family, how):
    return family.side == "both" and not how.model.endswith(
        ("EncoderModel", "ForTokenClassification"))


def writes(family, how):
    """It has logits of next tokens, which a bare decoder has not."""
    return has_target(family, how) or is_causal(family, how)


def is_causal(family, how):
    return family.side == "target" and how.model.endswith(
        ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration"))


def random_numbers(r, *shape):
    return torch.randn(1, *shape, generator=torch.Generator().manual_seed(
        r.randrange(1 << 30)))


def inputs_of(family, r, how):
    """Two inputs of a model: of one or a few ids, and of the most. An image has
    one size."""
    most, words = family.max_len(how.words), how.words
    if family.reads == "image":
        yield {"pixel_values": random_numbers(r, words["num_channels"],
                                              *words["image_size"])}
        return
    for n in (r.randint(1, most // 2), most):
        ids = [r.randrange(3, words["vocab_size"] - family.ends)
               for _ in range(n)]
        if family.reads == "sound":
            given = {"input_features": random_numbers(
                r, words["num_mel_bins"], 2 * words["max_source_positions"])}
        else:
            if family.ends:
                ids[-1] = words["vocab_size"] - 1
            given = {"input_ids": torch.tensor([ids])}
        if has_target(family, how):
            given["decoder_input_ids"] = torch.tensor([
                [r.randrange(3, words["vocab_size"])
                 for _ in range(max(1, n // 2))]])
        elif words.get("type_vocab_size", 1) > 1 and n > 2:
            given["token_type_ids"] = torch.tensor([
                [0] * (n // 2) + [1] * (n - n // 2)])
        yield given


def sides(family, how, given):
    """The same input by attnc's names of tensors."""
    first = "target" if is_causal(family, how) else "source"
    names = {"input_ids": f"{first}.ids", "decoder_input_ids": "target.ids",
             "token_type_ids": "source.types",
             "pixel_values": "source.values", "input_features": "source.values"}
    found = {names[key]: x[0].int() if x.dtype == torch.int64 else x[0]
             for key, x in given.items()}
    if "input_features" in given:  # two frames a row
        x = found["source.values"].T
        found["source.values"] = x.reshape(x.shape[0] // 2, -1).contiguous()
    return found


def result(family, model, given):
    more = {} if family.side != "target" else {"use_cache": False}
    if type(model).__name__.endswith("ForMultipleChoice"):
        given = {key: x[None] for key, x in given.items()}
    with torch.no_grad():
        return rows_of(model(**given, **more))


def max_len_for(family, how, given):
    """Of longrope, a spec has the table of its max_len, and transformers takes
    the one of the input's length. None: that of the spec."""
    short = how.words.get("original_max_position_embeddings", 0)
    if "input_ids" in given and (
            given["input_ids"].shape[1] <= short < family.max_len(how.words)):
        return short
    return None


def run_attnc(args, spec, *words, **more):
    ran = attnc(args, "run", spec, "--backend=jit", *words, **more)
    if ran.returncode:
        raise Wrong(f"attnc run exits with {ran.returncode}: {ran.stderr}")
    return ran.stdout


def compare(args, family, how, wanted, spec, given):
    into, out = spec.with_name("in.safetensors"), spec.with_name("out")
    save_file(sides(family, how, given), into)
    length = max_len_for(family, how, given)
    run_attnc(args, spec, "--force", f"--input={into}",
              f"--output={out}.safetensors",
              *([f"--set=max_len={length}"] if length else []))
    found = next(iter(load_file(f"{out}.safetensors").values())).float()
    found = found.reshape(-1, found.shape[-1])
    if found.shape != wanted.shape:
        raise Wrong(f"{tuple(found.shape)} numbers, not {tuple(wanted.shape)}")
    scale = wanted.abs().max().item()
    worst = (found - wanted).abs().max().item()
    if not worst <= CLOSE * scale:
        raise Wrong(f"an input {[tuple(x.shape) for x in given.values()]} "
                    f"differs by {worst:.3g} of {scale:.3g}")


def prompt_of(family, how, given):
    """What an answer follows, and how many ids it has at most. The ids of a
    decoder count with the answer's, and all need the same table of longrope."""
    prompt = {key: x for key, x in given.items()
              if key in ("input_ids", "input_features")}
    if not is_causal(family, how):
        return prompt, STEPS
    most = family.max_len(how.words)
    short = how.words.get("original_max_position_embeddings", 0)
    n = max(most - STEPS, short + 1 if short < most else 0)
    return {"input_ids": prompt["input_ids"][:, :n]}, min(STEPS, most - n)


def answer(model, prompt, steps):
    """The ids of generate() as far as each choice is clear and no special id,
    and whether a clear choice ends them."""
    first = prompt["input_ids"].shape[1] if "input_ids" in prompt else 0
    if model.config.is_encoder_decoder:
        first = 1
        prompt = dict(prompt, use_cache=False)  # T5's needs as many layers
        # Ends an answer of any length, which says nothing of the model.
        model.generation_config.forced_eos_token_id = None
    out = transformers.GenerationMixin.generate(
        model, **prompt, do_sample=False, max_new_tokens=steps, num_beams=1,
        output_logits=True, output_scores=True, return_dict_in_generate=True)
    ids = []
    for row, score, token in zip(out.logits, out.scores,
                                 out.sequences[0, first:].tolist()):
        best = torch.topk(score[0], 2).values
        if best[0] - best[1] < golden.MARGIN * row.abs().max():
            break
        if token in golden.special(model.config):
            ends = model.generation_config.eos_token_id
            return ids, token in (ends if isinstance(ends, list) else [ends])
        ids.append(token)
    return ids, False


def lines_of(rows):
    return "".join(" ".join(f"{x:.9g}" for x in row) + "\n"
                   for row in rows.tolist())


def compare_answer(args, family, how, wanted, spec, given, steps):
    given = sides(family, how, given)
    x = next(iter(given.values()))
    text = lines_of(x) + "\n" if x.dim() == 2 else lines_of(x[None])
    found = [int(id) for id in run_attnc(
        args, spec, "--ids", "--beam=1", f"--max-output={steps}",
        text=text).split()]
    ids, ended = wanted
    if found[:len(ids)] != ids or ended and len(found) > len(ids):
        raise Wrong(f"{found} follow {text.strip()[:80]}, not {ids}"
                    + (" and the end" if ended else ""))


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
        compare(args, family, how, result(family, model, given), spec, given)
    if writes(family, how):
        prompt, steps = prompt_of(family, how, given)
        wanted = answer(model, prompt, steps)
        compare_answer(args, family, how, wanted, spec, prompt, steps)
    return "right", None


def read_taken(args):
    """The classes that import takes; every family of them is drawn."""
    drawn = {family.name for family in FAMILIES}
    listed = json.loads(attnc(args, "import", "--families",
                              "--format=json").stdout)
    missing = [row["family"] for row in listed
               if not row["missing"] and not drawn & set(row["model_type"])]
    if missing:
        sys.exit(f"nothing draws: {' '.join(missing)}")
    args.taken = {name for row in listed for name in row["architectures"]}


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


def quiet():
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)


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
    read_taken(args)
    quiet()
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
