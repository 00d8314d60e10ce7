"""against.py: the tests of bench/against.py, in TAP."""
import contextlib
import io
import json
import math
import os
import random
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bench"))
import against  # noqa: E402

FAKE = """#!/usr/bin/env python3
import json, os, random, sys
place = sys.argv[0] + ".runs"
run = int(open(place).read()) if os.path.exists(place) else 0
open(place, "w").write(str(run + 1))
if FAILS:
    sys.exit("attnc: error: unknown option")
name = os.path.basename(sys.argv[0])
ms = MS * random.Random(name + str(run)).lognormvariate(0, NOISE)
print(json.dumps({"rows": [{"workload": name, "p50_ms": ms, "checksum": "SUM"}
    for name in ("encode", "prefill", "step", "search")]}))
"""


def fake(folder, name, ms=1.0, noise=0.02, fails=False, checksum="1"):
    """An attnc whose bench answers so."""
    path = os.path.join(folder, name)
    text = FAKE.replace("FAILS", str(fails)).replace("SUM", checksum)
    text = text.replace("MS", str(ms)).replace("NOISE", str(noise))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def run(ours, other, *words):
    """(exit code, what was printed, what --json has)"""
    out, path = io.StringIO(), ours + ".json"
    old, sys.argv = sys.argv, ["against.py", "fake", "--attnc", ours, "--other",
                               other, "--seconds", "0", "--json", path, *words]
    try:
        with contextlib.redirect_stdout(out):
            try:
                code = int(against.main())
            except SystemExit as end:
                code = end.code
    finally:
        sys.argv = old
    found = json.load(open(path)) if os.path.exists(path) else None
    return code, out.getvalue(), found


def drawn(seed, n, ratio, noise):
    source = random.Random(seed)
    return [ratio * source.lognormvariate(0, noise) for _ in range(n)]


def exact_skips():
    """Wilcoxon's critical values, two-sided, 5 %, from his table."""
    assert [against.skipped(n) for n in range(6, 13)] == [0, 2, 3, 5, 8, 10, 13]
    assert against.skipped(20) == 52


def equal_builds_are_across_one():
    missed = 0
    for seed in range(400):
        low, ratio, high = against.interval(drawn(seed, 12, 1.0, 0.02))
        assert low <= ratio <= high
        missed += not low <= 1 <= high
    assert missed <= 400 * 0.07, missed


def a_loss_is_found():
    for seed in range(50):
        found = against.interval(drawn(seed, 40, 0.97, 0.02))
        assert against.verdict(*found) == "slower", found
        found = against.interval(drawn(seed, 40, 1.03, 0.02))
        assert against.verdict(*found) == "faster", found


def one_wild_pair_changes_little():
    ratios = drawn(1, 20, 1.0, 0.005)
    ratios[3] = 9.0
    low, ratio, high = against.interval(ratios)
    assert abs(math.log(ratio)) < 0.005 and low < 1 < high < 1.01


def verdicts():
    assert against.verdict(0.995, 1.0, 1.005) == "the same"
    assert against.verdict(0.992, 1.005, 1.02) == "no loss of 1%"
    assert against.verdict(0.9, 1.0, 1.1) == "can't decide"


def every_workload_has_arguments():
    for work in against.WORKLOADS:
        options, row = against.arguments_of(work)
        assert os.path.exists(os.path.join(against.ROOT, options[0])), options
        assert row in ("encode", "prefill", "step", "search"), work["name"]


def whole_run_of_one_revision():
    with tempfile.TemporaryDirectory() as folder:
        code, text, found = run(fake(folder, "a"), fake(folder, "b"),
                                "--only", "encoder,g2p-b1")
        assert code == 0, text
        assert [r["name"] for r in found["results"]] == [
            "encoder-128", "encoder-16", "encoder-ragged", "g2p-b1-greedy",
            "g2p-b1-beam4"]
        for r in found["results"]:
            assert r["low"] <= 1 <= r["high"] and r["same_bits"], r
            assert r["pairs"] >= against.LEAST_PAIRS


def whole_run_of_a_loss():
    with tempfile.TemporaryDirectory() as folder:
        code, text, found = run(fake(folder, "a", ms=1.2),
                                fake(folder, "b", checksum="2"),
                                "--only", "llama-step-t1")
        assert code == 1 and found["results"][0]["verdict"] == "slower", text
        assert text.count("slower, other bits") == 2, text     # looked twice


def a_revision_that_lacks_a_workload():
    with tempfile.TemporaryDirectory() as folder:
        code, text, _ = run(fake(folder, "a"), fake(folder, "b", fails=True),
                            "--only", "small-16")
        assert "attnc: error: unknown option" in text, text
        assert code == "nothing was measured", code
        assert "no workload begins so" in run("a", "b", "--only", "none")[0]


TESTS = [exact_skips, equal_builds_are_across_one, a_loss_is_found,
         one_wild_pair_changes_little, verdicts,
         every_workload_has_arguments, whole_run_of_one_revision,
         whole_run_of_a_loss, a_revision_that_lacks_a_workload]
print(f"1..{len(TESTS)}")
wrong = 0
for at, test in enumerate(TESTS, 1):
    try:
        test()
        print(f"ok {at} - {test.__name__}")
    except AssertionError as why:
        wrong += 1
        print(f"not ok {at} - {test.__name__}\n# {why}")
sys.exit(wrong > 0)
