"""Holds answers that follow random JSON schemas to a validator.

    draw.py ATTNC FOLDER SCHEMAS LINES

Draws schemas, with fixed seeds, and LINES answers to each from a model with
random weights whose tokens are bytes. Each answer that ended must be JSON that
the schema accepts. Prints TAP.
"""
import datetime
import json
import os
import random
import re
import subprocess
import sys
import uuid

import jsonschema

MODEL = """attnc: 1
name: bytes
kind: decoder
d_model: 16
h: 2
d_ff: 32
N: 1
max_len: 4000
vocab: {file: bytes.json, tokens: {end: 256}}
masking: causal
search: {beam: 1}
"""
MOST = 2000  # tokens of an answer
TEXTS = ["a", "ab", "abc", "b", "é", "日本", "a b", "x/y", "~", "]", "^", "-",
         '"', "\\", "$", "x1", "?", "", "\n", "😀"]


def bytes_vocabulary():
    """A tokenizer.json whose tokens are the bytes, and an end."""
    step = {"type": "ByteLevel", "add_prefix_space": False,
            "trim_offsets": True, "use_regex": False}
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [b for b in range(256) if b not in plain]
    names = {b: chr(b) for b in plain}
    names.update({b: chr(256 + i) for i, b in enumerate(other)})
    vocab = {names[b]: b for b in range(256)}
    vocab["<end>"] = 256
    end = {"id": 256, "content": "<end>", "special": True,
           "single_word": False, "lstrip": False, "rstrip": False,
           "normalized": False}
    return {"version": "1.0", "added_tokens": [end], "normalizer": None,
            "pre_tokenizer": step, "post_processor": None, "decoder": step,
            "model": {"type": "BPE", "vocab": vocab, "merges": []}}


class Drawn:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def number(self):
        r = self.r
        scale = 10 ** r.randrange(0, 5)
        return r.choice([r.randrange(-30, 30), r.randrange(-10**6, 10**6),
                         r.randrange(-10**14, 10**14),
                         r.randrange(-3 * scale, 3 * scale) / scale,
                         r.randrange(-10**9, 10**9) / scale])

    def bounds(self):
        r, to = self.r, {}
        lo, hi = sorted([self.number(), self.number()])
        if r.random() < 0.3:
            hi = lo + r.choice([1, 2, 0.5, 0.125, 10])
        if r.random() < 0.7:
            to[r.choice(["minimum", "exclusiveMinimum"])] = lo
        if r.random() < 0.7:
            to[r.choice(["maximum", "exclusiveMaximum"])] = hi
        return to

    def string(self):
        r, to = self.r, {"type": "string"}
        if r.random() < 0.2:
            return {**to, "format": r.choice(["date", "time", "date-time",
                                              "uuid"])}
        to["maxLength"] = r.randrange(0, 8)
        if r.random() < 0.5:
            to["minLength"] = r.randrange(0, to["maxLength"] + 1)
        return to

    def array(self, depth):
        r, to = self.r, {"type": "array"}
        if r.random() < 0.4:
            to["prefixItems"] = [self.schema(depth + 1)
                                 for _ in range(r.randrange(1, 4))]
        if r.random() < 0.7:
            to["items"] = self.schema(depth + 1)
        most = len(to.get("prefixItems", []))
        if "items" in to or not most:
            to["maxItems"] = most = most + r.randrange(0, 3)
        if "items" not in to and most:
            to["items"] = self.schema(depth + 1)
        if r.random() < 0.5:
            to["minItems"] = r.randrange(0, most + 1)
        return to

    def object(self, depth):
        r, to = self.r, {"type": "object"}
        names = r.sample(TEXTS, r.randrange(1, 5))
        to["properties"] = {n: self.schema(depth + 1) for n in names}
        if r.random() < 0.7:
            to["required"] = r.sample(names, r.randrange(0, len(names) + 1))
        if r.random() < 0.3:
            to["additionalProperties"] = False
        elif r.random() < 0.1:
            to["additionalProperties"] = {"type": "null"}
        return to

    def schema(self, depth=0):
        r = self.r
        kind = r.randrange(0, 12 if depth < 3 else 8)
        if kind == 0:
            return {"type": "integer", **self.bounds()}
        if kind in (1, 2):
            return {"type": "number", **self.bounds()}
        if kind in (3, 4):
            return self.string()
        if kind == 5:
            return {"enum": r.sample([*TEXTS, 1, 2.5, None, True, [1, "a"],
                                      {"a": [1, 2]}], r.randrange(1, 4))}
        if kind == 6:
            return r.choice([{"const": r.choice(TEXTS)}, {"type": "boolean"},
                             {"type": "null"}, {"$ref": "#/$defs/leaf"}])
        if kind == 7:
            types = r.sample(["null", "boolean", "integer", "number",
                              "string"], r.randrange(1, 4))
            return {"type": types, "maxLength": 3, **self.bounds()}
        if kind == 8:
            return {"anyOf": [self.schema(depth + 1)
                              for _ in range(r.randrange(1, 4))]}
        if kind == 9:
            return {"oneOf": [
                {"type": "object", "required": ["kind"], "properties": {
                    "kind": {"const": "k%d" % i}, "x": self.schema(depth + 1)}}
                for i in range(2)]}
        return self.object(depth) if kind == 10 else self.array(depth)

    def top(self):
        to = self.object(0) if self.r.random() < 0.6 else self.schema()
        leaf = self.r.choice([{"type": "integer", "minimum": 3},
                              {"type": "string", "maxLength": 2},
                              {"type": "array", "maxItems": 1,
                               "items": {"$ref": "#/$defs/leaf"}}])
        return {"$defs": {"leaf": leaf}, **to}


def formats():
    check = jsonschema.FormatChecker(formats=())
    check.checks("date", ValueError)(
        lambda x: not isinstance(x, str) or datetime.date.fromisoformat(x))
    zone = re.compile(r"^(\d\d:\d\d:\d\d)([.]\d+)?(Z|([-+]\d\d:\d\d))$")

    def time(x):
        found = zone.match(x)
        if not found:
            raise ValueError(x)
        return datetime.time.fromisoformat(
            found[1] + (found[4] or "+00:00")) is not None

    check.checks("time", ValueError)(
        lambda x: not isinstance(x, str) or time(x))
    check.checks("date-time", ValueError)(
        lambda x: not isinstance(x, str)
        or (bool(datetime.date.fromisoformat(x[:10])) and x[10] == "T"
            and time(x[11:])))
    check.checks("uuid", ValueError)(
        lambda x: not isinstance(x, str) or str(uuid.UUID(x)) == x.lower())
    return check


def answers(attnc, folder, schema, lines, seed):
    """Returns the answers that ended, and the number of all."""
    path = os.path.join(folder, "drawn.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(schema, f)
    got = subprocess.run(
        [attnc, "run", os.path.join(folder, "bytes.yaml"), "--seed=%d" % seed,
         "--json-schema=" + path, "--temperature=4", "--format=json",
         "--max-output=%d" % MOST, "--quiet"],
        input="".join("%d\n" % i for i in range(lines)).encode(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if got.returncode:
        return None, got.stderr.decode().strip()
    rows = [json.loads(x) for x in got.stdout.decode().split("\n")[:-1]]
    found = [x["answers"][0] for x in rows]
    return [x["text"] for x in found if len(x["tokens"]) < MOST], len(rows)


def wrong_with(text, check):
    try:
        value = json.loads(text)
    except ValueError as e:
        return "not JSON: %s" % e
    errors = [e.json_path + ": " + e.message for e in check.iter_errors(value)]
    return "; ".join(errors)


def main():
    attnc, folder, count, lines = (sys.argv[1], sys.argv[2], int(sys.argv[3]),
                                   int(sys.argv[4]))
    with open(os.path.join(folder, "bytes.json"), "w") as f:
        json.dump(bytes_vocabulary(), f)
    with open(os.path.join(folder, "bytes.yaml"), "w") as f:
        f.write(MODEL)
    ended = total = rejected = schemas = refused = other = 0
    before = None
    for seed in range(count):
        schema = Drawn(seed).top()
        jsonschema.Draft202012Validator.check_schema(schema)
        found, n = answers(attnc, folder, schema, lines, seed)
        if found is None:
            refused += 1
            print("#", n)
            continue
        schemas += 1
        ended += len(found)
        total += n
        check = jsonschema.Draft202012Validator(schema,
                                                format_checker=formats())
        for text in found:
            why = wrong_with(text, check)
            other += bool(before and wrong_with(text, before))
            if why:
                rejected += 1
                print("# seed %d: %s\n# %s\n# %s" % (
                    seed, why, text, json.dumps(schema)))
        before = check
    print("%s - %d of %d answers to %d schemas ended, %d were rejected" % (
        "ok 1" if ended >= count * lines * 2 // 3 and not rejected
        else "not ok 1", ended, total, schemas, rejected))
    print("%s - another schema rejects %d of these answers" % (
        "ok 2" if other > ended // 2 else "not ok 2", other))
    print("# %d schemas have a message instead" % refused)
    print("1..2")


main()
