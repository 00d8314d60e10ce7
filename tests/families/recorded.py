"""Records random configurations of fuzz.py for tests/import/recorded_test.c.

    python recorded.py ATTNC                    those of the folder `recorded`
    python recorded.py ATTNC llama-3 bart-0     these: a family and a number

recorded/NAME.json has the model as transformers saved it, without its weights,
which seeded.py computes, and one of two:

cases, greedy   inputs and results as in expected.json (golden.py)
refused         the first line of the message with which attnc rejects it

A result that attnc does not give is an error, and is not recorded.
"""
import argparse
import json
import math
import pathlib
import sys
import tempfile

import torch

import fuzz
from golden import compact

FOLDER = pathlib.Path(__file__).parent / "recorded"
BEFORE = " error: "


def rounded(x):
    """Lists of numbers with seven digits of the largest."""
    digits = 6 - math.floor(math.log10(x.abs().max().item() or 1))
    return [[round(y, digits) for y in row] for row in x.tolist()]


def case_of(family, how, given, wanted):
    """By the names of expected.json."""
    key = "logits" if fuzz.writes(family, how) else "rows"
    names = {"source.types": "types", "target.ids": "target",
             "source.ids": "source"}
    if not fuzz.has_target(family, how):
        names.update({"source.ids": "ids", "target.ids": "ids"})
    case = {}
    for name, x in fuzz.sides(family, how, given).items():
        if name != "source.values":
            case[names[name]] = x.tolist()
            continue
        if family.reads == "image":  # in rows as wide as those of its patches
            patch = how.words["patch_size"] ** 2 * x.shape[0]
            x = x.reshape(-1, patch)
        case["input"] = [[float(f"{y:.9g}") for y in row] for row in x.tolist()]
    length = fuzz.max_len_for(family, how, given)
    if length:
        case["max_len"] = length
    return dict(case, **{key: rounded(wanted)})


def results(family, r, how, folder):
    model = fuzz.load(family, how, folder)
    cases = []
    for given in fuzz.inputs_of(family, r, how):
        cases.append(case_of(family, how, given,
                             fuzz.result(family, model, given)))
    found = {"cases": cases}
    if fuzz.writes(family, how):
        prompt, steps = fuzz.prompt_of(family, how, given)
        ids, _ = fuzz.answer(model, prompt, steps)
        prompt = case_of(family, how, prompt, torch.zeros(1, 1))
        key = next(k for k in ("input", "source", "ids") if k in prompt)
        if ids:
            found["greedy"] = {"prompt" if key == "ids" else key: prompt[key],
                               "ids": ids}
    return found


def record(args, family, number):
    r, how = fuzz.drawn(args, family, number)
    state = r.getstate()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "model"
        folder.mkdir()
        kind, why = fuzz.trial(args, family, r, how, folder)
        if kind == "no model":
            sys.exit(f"{how.name}: {why}")
        files = {path.name: json.loads(path.read_text())
                 for path in sorted(folder.glob("*config.json"))}
        found = {"model": how.model, "seed": fuzz.seed_of(how), "files": files,
                 "weights": how.weights}
        if kind == "refused":
            return dict(found, refused=why)
        r.setstate(state)
        return dict(found, **results(family, r, how, folder))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attnc")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.seed, args.only = 1, None
    fuzz.quiet()
    fuzz.read_taken(args)
    families = {family.name: family for family in fuzz.FAMILIES}
    names = args.names or sorted(path.stem for path in FOLDER.glob("*.json"))
    for name in names:
        family, number = name.rsplit("-", 1)
        found = record(args, families[family], int(number))
        (FOLDER / f"{name}.json").write_text(compact(found))
        print(name, found.get("refused", ""), flush=True)


if __name__ == "__main__":
    main()
