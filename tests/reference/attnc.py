"""attnc as a program that is given a spec, weights and tensors."""
import json
import os
import subprocess

import numpy as np

from weights import load, save

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("B", "build"))
ATTNC = os.path.join(BUILD, "attnc")
FOLDER = os.environ.get("REFERENCE", os.path.join(BUILD, "reference"))


class Refused(Exception):
    """attnc ended with a message and an exit code."""


def yaml(spec):
    """A spec as text: a key a line, values in flow style."""
    return "".join(f"{key}: {json.dumps(value)}\n"
                   for key, value in spec.items())


# A layer's row changes what a default of the spec depends on.
EXPECTED = "but fields that usually follow it stay as written"


def call(*arguments, text=None, warnings=False):
    """What attnc prints; it may not warn unless `warnings` says so."""
    done = subprocess.run([ATTNC, *arguments], input=text, text=True,
                          capture_output=True, check=False)
    warned = any("warning" in line and EXPECTED not in line
                 for line in done.stderr.splitlines())
    if done.returncode or warned and not warnings:
        raise Refused(f"{done.returncode}: {done.stderr.strip()}")
    return done.stdout


class Case:
    """A spec, its weights and its input, as files in a folder."""

    def __init__(self, folder, spec, made, given, files=None):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.spec = self.file("spec.yaml")
        with open(self.spec, "w", encoding="utf-8") as file:
            file.write(yaml(spec))
        for name, mask in (files or {}).items():
            np.savetxt(self.file(name), mask, "%d")
        save(self.file("weights.safetensors"), made)
        save(self.file("input.safetensors"), given)

    def file(self, name):
        return os.path.join(self.folder, name)

    def model(self):
        return [self.spec, "--weights=" + self.file("weights.safetensors")]

    def compute(self, *options):
        """The result of `attnc run --input`."""
        call("run", *self.model(), "--input=" + self.file("input.safetensors"),
             "--output=" + self.file("output.safetensors"), *options)
        result = load(self.file("output.safetensors"))
        return result.get("output", result.get("logits"))
