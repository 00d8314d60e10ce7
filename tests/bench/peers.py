"""peers.py: the tests of bench/peers, in TAP."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "../../bench/peers")
sys.path.insert(0, PEERS)
import accuracy  # noqa: E402
import history  # noqa: E402
import instructions  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
from programs import PROGRAMS  # noqa: E402
from table import WORKLOADS  # noqa: E402

# A worker whose numbers depend on the program's name.
FAKE = """import json, os, sys
import numpy as np
name, path = sys.argv[1:]
work = json.load(open(path))
if name == "attnc-int8":
    sys.exit("--set:1:1: error: unknown key 'arithmetic'")
if name == "attnc-int8-int15":
    os.kill(os.getpid(), 11)
y = np.array(work["own"], np.dtype(work["type"]))
y[0] += work["off"].get(name, 0)
np.save(os.path.join(os.path.dirname(path), name + ".npy"), y)
print(json.dumps({"version": "1.0", "dot_products": "AVX2"}), flush=True)
for line in sys.stdin:
    print(json.dumps([2.0 if name == "attnc" else 1.0]), flush=True)
"""

# Which registers the system keeps.
XGETBV = """unsigned registers(void)
{
    unsigned kept;
    __asm__ volatile("xor %%ecx, %%ecx; xgetbv"
                     : "=a"(kept) : : "ecx", "edx");
    return kept;
}
"""


def skips_without(module):
    try:
        __import__(module)
    except ImportError:
        return f"there is no {module}"
    return None


def every_program_has_its_f32():
    for name, program in PROGRAMS.items():
        own = PROGRAMS[program.of or name]
        assert own.format == own.products == "f32" and not own.amx, name
        assert own.module == program.module and own.colour, name
        assert os.path.exists(os.path.join(PEERS, program.module + ".py"))
        assert program.of or not program.amx, name
    assert len({p[:2] + p[-1:] for p in PROGRAMS.values()}) == len(PROGRAMS)


def every_workload_names_programs():
    for work in WORKLOADS:
        assert len(set(work["peers"])) == len(work["peers"]), work["name"]
        for name in work["peers"]:
            assert name in PROGRAMS and not PROGRAMS[name].amx, name
        assert work.get("isa", "x86-64-v3") in instructions.ONEDNN, work
    assert len({w["name"] for w in WORKLOADS}) == len(WORKLOADS)


def what_is_measured():
    assert programs.measured(["iree"], True) == ["attnc", "iree"]
    assert programs.measured(
        ["onnxruntime-int8", "openvino", "openvino-int8"], False) == [
        "attnc", "onnxruntime", "onnxruntime-int8", "openvino",
        "openvino-int8"]
    assert programs.measured(["attnc-int8", "llamacpp-q8_0"], True) == [
        "attnc", "attnc-int8", "attnc-int8-amx", "llamacpp", "llamacpp-q8_0",
        "llamacpp-q8_0-amx"]
    assert programs.measured(["attnc-bf16-dp", "openvino-bf16"], True) == [
        "attnc", "attnc-bf16-dp", "openvino", "openvino-bf16",
        "openvino-bf16-amx"]


def losses():
    assert accuracy.of([1.0, 2.0, 2.0], [1.0, 2.0, 2.0]) == {"loss": 0}
    found = accuracy.of([3.3, 4.4], [3.0, 4.0])
    assert abs(found["loss"] - 0.1) < 1e-12, found
    assert accuracy.text(found) == "10.00 %" and not accuracy.wrong(found)
    assert accuracy.of([7, 8, 9, 1], [7, 8, 8, 1]) == {"equal": 0.75}
    assert accuracy.text({"equal": 0.75}) == "75.0 % of tokens equal"
    assert not accuracy.wrong({"equal": 0.0})
    for y in ([-3.0, -4.0], [3.0, float("nan")]):
        assert accuracy.wrong(accuracy.of(y, [3.0, 4.0])), y


def amx_is_denied():
    """To a child, by the kernel, where there is any to deny."""
    code = ("import ctypes, instructions as i; i.deny_amx(); "
            "r = ctypes.CDLL(None).syscall(i.ARCH_PRCTL, i.ARCH_REQUEST_PERM,"
            " i.TILES) if i.of_cpu()[:1] == [i.AMX] else -1; "
            "print(r, i.amx_permitted(), i.usable() != i.AMX)")
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=PEERS,
                          check=True, capture_output=True, text=True)
    assert done.stdout == "-1 False True\n", done.stdout
    for kind in (instructions.INT, instructions.BF16):
        assert instructions.usable(kind) in [None,
                                             *instructions.of_cpu([kind])]


def avx512_is_denied():
    """To a library that is loaded, and to no other."""
    code = ("import ctypes, sys, instructions as i\n"
            "asked = [ctypes.CDLL(path).registers for path in sys.argv[1:]]\n"
            "print(i.deny_avx512('denied'), asked[0]() == 7,"
            " asked[1]() & 7 == 7, i.deny_avx512('denied'))")
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("denied.so", "b.so")]
        for path in paths:
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o",
                            path], input=XGETBV, text=True, check=True)
        done = subprocess.run([sys.executable, "-B", "-c", code, *paths],
                              cwd=PEERS, check=True, capture_output=True,
                              text=True)
    assert done.stdout == "1 True True 0\n", done.stdout


def table_of_fewer_bits():
    rows = [{"peer": "attnc", "version": "1", "p50_ms": 8.0},
            {"peer": "attnc-int8", "version": None, "missing": "no such key"},
            {"peer": "openvino", "version": "2", "p50_ms": 10.0},
            {"peer": "openvino-int8", "version": "2", "p50_ms": 4.0,
             "loss": 0.0123, "dot_products": "AVX-512 VNNI"},
            {"peer": "openvino-int8-amx", "version": "2", "p50_ms": 2.0,
             "loss": 0.0123, "dot_products": "AMX"}]
    work = {"name": "w", "title": "W", "kind": "encoder", "rows": rows}
    made = {"machine": {"dot_products": ["AMX", "AVX2"]}, "workloads": [work]}
    lines = report.fewer_table(made)
    assert "AMX, AVX2" in lines[2], lines
    assert [line for line in lines if "W |" in line] == [
        "| W | attnc | int8 | int8 |  | no such key |  |  |  |",
        "| W | OpenVINO | int8 | int8, scales from samples | AVX-512 VNNI |"
        " 4.00 | 0.50 | 0.40 | 1.23 % |",
        "| W | OpenVINO | int8 | int8, scales from samples | AMX | 2.00 | 0.25"
        " | 0.20 | 1.23 % |"], lines
    assert report.measured(work) == [rows[0], rows[2]]
    assert "int8" not in "".join(report.table([work]))
    work["rows"] = rows[:1]
    assert report.fewer_table(made) == []


def reports_by_machine_and_day():
    """Each workload as it was measured last; what has no name has its CPU's."""
    def row(ms):
        return [{"peer": "attnc", "version": "1", "p50_ms": ms},
                {"peer": "openvino", "version": "2", "p50_ms": 3.0}]

    def work(name, ms):
        return {"name": name, "title": name.upper(), "kind": "encoder",
                "rows": row(ms)}
    here = {"cpu": "Some CPU", "cores": 2}
    with tempfile.TemporaryDirectory() as folder:
        for day, march, works in (
                ("2001-02-03", "zoo1", [work("b", 2.0), work("a", 8.0)]),
                ("2001-02-04", "zoo1", [work("b", 1.0)]),
                ("2001-02-04", "znver4", [])):
            history.save(history.path_of(folder, day, march),
                         {"machine": here, "workloads": works})
        found = history.load_all(folder)
        assert sorted(os.listdir(folder)) == [
            "2001-02-03-zoo1.json", "2001-02-04-znver4.json",
            "2001-02-04-zoo1.json"]
    assert list(found) == ["znver4", "zoo1"], found
    assert history.name_of("zoo1", found["zoo1"]) == "Some CPU (zoo1)"
    assert history.name_of("znver4", found["znver4"]) == "AMD EPYC (Zen 4)"
    newest = history.newest(found["zoo1"], ["a", "b"])
    assert [(w["name"], w["day"], w["rows"][0]["p50_ms"])
            for w in newest["workloads"]] == [
        ("a", "2001-02-03", 8.0), ("b", "2001-02-04", 1.0)], newest
    assert report.days(newest) == "2001-02-03 to 2001-02-04"
    assert report.past(found["zoo1"])[6:8] == [
        "| B | 2.00, 1.50 | 1.00, 3.00 |", "| A | 8.00, 0.38 |  |"]
    assert report.past(found["znver4"]) == []
    assert not report.is_whole(newest)


def compared(folder, work):
    """{program: its row}, by workers that are FAKE."""
    import compare
    import workloads
    compare.WORKER = os.path.join(folder, "fake.py")
    path = os.path.join(folder, "work.json")
    with open(compare.WORKER, "w", encoding="utf-8") as file:
        file.write(FAKE)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(work, file)
    workloads.write = lambda work, attnc: path
    instructions.of_cpu = lambda: ["AVX2"]
    found = compare.compare(
        dict(work, name="w", title="W", kind="encoder", threads=1),
        ["attnc-int8", "attnc-int8-int15", "openvino-int8",
         "onnxruntime-int8", "ctranslate2-int8"],
        argparse.Namespace(attnc="attnc", seconds=0.01))
    return {row["peer"]: row for row in found["rows"]}


def whole_comparison():
    """Its own f32 is what counts; what is not there is told."""
    work = {"own": [3.0, 4.0], "type": "float32", "tolerance": 0.1,
            "off": {"openvino": 0.05, "openvino-int8": 0.05,
                    "onnxruntime-int8": 0.5, "ctranslate2": 1,
                    "ctranslate2-int8": 1}}
    with tempfile.TemporaryDirectory() as folder:
        rows = compared(folder, work)
    assert rows["openvino-int8"]["loss"] == 0, rows
    assert rows["onnxruntime-int8"]["loss"] == 0.1, rows
    assert rows["onnxruntime-int8"]["dot_products"] == "AVX2", rows
    assert rows["onnxruntime-int8"]["p50_ms"] == 1 and \
        rows["attnc"]["p50_ms"] == 2, rows
    assert "unknown key 'arithmetic'" in rows["attnc-int8"]["missing"], rows
    assert rows["attnc-int8-int15"]["missing"] == "ended by SIGSEGV", rows
    assert rows["ctranslate2"]["missing"] == "other outputs, by 1", rows
    assert rows["ctranslate2-int8"]["missing"] == \
        "ctranslate2: other outputs, by 1", rows


def comparison_of_tokens():
    work = {"own": [5, 6, 7, 8], "type": "int32", "off": {"openvino-int8": 1}}
    with tempfile.TemporaryDirectory() as folder:
        rows = compared(folder, work)
    assert rows["openvino-int8"]["equal"] == 0.75, rows
    assert rows["onnxruntime-int8"]["equal"] == 1, rows


NUMPY = skips_without("numpy")
AVX = None if "AVX2" in instructions.of_cpu() else "this CPU has no AVX2"
TESTS = [(every_program_has_its_f32, None),
         (every_workload_names_programs, None), (what_is_measured, None),
         (losses, None), (amx_is_denied, None), (avx512_is_denied, AVX),
         (table_of_fewer_bits, None),
         (reports_by_machine_and_day, None),
         (whole_comparison, NUMPY), (comparison_of_tokens, NUMPY)]
print(f"1..{len(TESTS)}")
wrong = 0
for at, (test, skip) in enumerate(TESTS, 1):
    if skip:
        print(f"ok {at} - {test.__name__} # SKIP {skip}")
        continue
    try:
        test()
        print(f"ok {at} - {test.__name__}")
    except AssertionError as why:
        wrong += 1
        print(f"not ok {at} - {test.__name__}\n# {why}")
sys.exit(wrong > 0)
