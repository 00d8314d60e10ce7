"""Holds specs to the schema that `attnc fields --format=schema` prints.

    check_schema.py SCHEMA SPEC ...

A spec without a file of messages beside it (.err) is right, and the schema
says so. One whose messages are about the value or the place of one key is
wrong by the schema too. All other messages are about what a schema can't know:
how fields fit together, files, YAML itself. Prints TAP.
"""
import json
import os
import re
import sys

import jsonschema
import yaml

# What a schema knows: one key, one value, the kind.
KNOWN = re.compile(
    r"error: (unknown key|.* must be (a|an|one|true|1) |.* must be a map"
    r"|.* does not apply to this kind|(attnc|name|kind|d_model) is missing)")


class Loader(yaml.SafeLoader):
    """YAML 1.2, as editors read it: yes is a word, 1e-5 a number."""


Loader.yaml_implicit_resolvers = {
    first: [r for r in rules if r[0] not in ("tag:yaml.org,2002:bool",
                                             "tag:yaml.org,2002:timestamp")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool",
                             re.compile("^(true|false)$"), list("tf"))
Loader.add_implicit_resolver("tag:yaml.org,2002:float",
                             re.compile("^-?[0-9]+([.][0-9]+)?e[-+]?[0-9]+$"),
                             list("-0123456789"))


def messages(path):
    try:
        with open(os.path.splitext(path)[0] + ".err") as f:
            return [line for line in f if " error: " in line]
    except FileNotFoundError:
        return []


def load(path):
    try:
        with open(path, "rb") as f:
            return yaml.load(f, Loader)
    except (yaml.YAMLError, ValueError):
        return None


def main():
    with open(sys.argv[1]) as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    n, held = 1, 0  # the first test is schema_test's
    for path in sys.argv[2:]:
        spec, said = load(path), messages(path)
        if spec is None and said:
            continue
        wrong = [e.json_path + ": " + e.message[:200]
                 for e in check.iter_errors(spec)]
        known = any(KNOWN.search(line) for line in said)
        if "extends" in (spec or {}) and "kind" not in spec:
            known = False  # the other file has it
        if said and not known and not wrong:
            continue
        n += 1
        held += bool(wrong)
        bad = bool(wrong) != bool(said)
        print(f"{'not ok' if bad else 'ok'} {n} - {path}")
        if bad:
            for line in wrong or said:
                print("#", line.strip())
    print(f"{'ok' if held >= 20 else 'not ok'} {n + 1} - "
          f"it refuses {held} specs")
    print(f"1..{n + 1}")


main()
