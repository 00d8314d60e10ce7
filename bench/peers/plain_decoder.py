"""A trained decoder in attnc and in plain C loops (plain_decoder.c, built by
clang -O3 -march=native, and with -ffast-math, which may reorder sums): the same
weights, the same prompt of one token, 200 greedy steps, one thread, f32.
Answers are compared before times, and the three run in turn, on one core.
Needs the file of weights: ATTNC_STORIES names it."""
import array
import json
import os
import statistics
import struct
import subprocess
import tempfile

STEPS, RUNS, ROUNDS = 200, 20, 7
FLAGS = [["-O3"], ["-O3", "-ffast-math"]]
HERE = os.path.dirname(__file__)
SPEC = os.path.join(HERE, "../../models/stories260K.yaml")
WEIGHTS = os.environ.get("ATTNC_STORIES", "stories260K.safetensors")
SIZES = ["64", "8", "4", "172", "5", "512", "512", "1", "1"]
LAYER = ["input_layernorm", "self_attn.q_proj", "self_attn.k_proj",
         "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm",
         "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]


def write_floats(path):
    """The tensors of a .safetensors file in the order of read_weights."""
    with open(WEIGHTS, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    names = ["embed_tokens", "norm"] + [
        f"layers.{i}.{part}" for i in range(5) for part in LAYER]
    with open(path, "wb") as file:
        for name in names:
            entry = header[f"model.{name}.weight"]
            begin, end = entry["data_offsets"]
            assert entry["dtype"] == "F32"
            array.array("f", data[begin:end]).tofile(file)


def attnc_run(attnc):
    done = subprocess.run(
        [attnc, "bench", SPEC, "--weights", WEIGHTS, "-p", "1", "-n",
         str(STEPS), "-r", str(RUNS), "--format", "json"], check=True,
        stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def search_times(report):
    """Median and best, in ms."""
    row = next(r for r in report["rows"] if r["workload"] == "search")
    return row["p50_ms"], row["best_ms"]


def plain_run(program, floats, first):
    """The answer; median and best, in ms."""
    done = subprocess.run([program, floats, *SIZES, str(first), str(STEPS)],
                          check=True, stdout=subprocess.PIPE)
    answer, times = done.stdout.decode().splitlines()
    return ([int(t) for t in answer.split()],
            tuple(float(t) for t in times.split()))


def summary(rounds):
    """The median of the rounds' medians, and the best of all."""
    return (statistics.median(median for median, _ in rounds),
            min(best for _, best in rounds))


def build(folder, flags):
    program = f"{folder}/plain{len(flags)}"
    subprocess.run(
        [os.environ.get("CC", "clang-19"), *flags, "-march=native", "-o",
         program, os.path.join(HERE, "plain_decoder.c"), "-lm"], check=True)
    return program


def measure(attnc):
    """Rows of the comparison, one for each level."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    report = attnc_run(attnc)
    first, ours = report["source"][0], []
    with tempfile.TemporaryDirectory() as folder:
        floats = folder + "/floats"
        write_floats(floats)
        plain = [(flags, build(folder, flags), []) for flags in FLAGS]
        for flags, program, _ in plain:
            answer, _ = plain_run(program, floats, first)
            if answer != report["answer"]:
                raise SystemExit(f"attnc and plain_decoder {flags} give "
                                 "different outputs: "
                                 f"{report['answer']} {answer}")
        for _ in range(ROUNDS):
            for _, program, times in plain:
                times.append(plain_run(program, floats, first)[1])
            ours.append(search_times(attnc_run(attnc)))
    return [{"workload": f"stories260K, {STEPS} tokens, greedy",
             "attnc": summary(ours),
             "peer": "plain C loops " + " ".join(flags),
             "theirs": summary(times),
             "machine": f"{report['cpu']}, {report['fma_gflop_per_s']} "
                        "GFLOP/s a core"} for flags, _, times in plain]
