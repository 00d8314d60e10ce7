"""What was measured, and on which machine: a file a machine and day,
bench/history/DAY-MARCH.json, which compare.py writes and report.py reads. MARCH
is the row of `--march` that the machine's processor has.

A report has the machine and a list of workloads; those that it lacks were not
measured that day."""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "../history")
MACHINES = {                     # in the order of the tables; what has no line
    "znver5": "AMD EPYC (Zen 5)",            # here is called by its processor
    "znver4": "AMD EPYC (Zen 4)",
    "sapphirerapids": "Intel Xeon (Sapphire Rapids)",
}


def name_of(march, reports):
    return MACHINES.get(march) or f"{reports[-1]['machine']['cpu']} ({march})"


def path_of(folder, day, march):
    return os.path.join(folder, f"{day}-{march}.json")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path, report):
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    os.replace(path + ".part", path)


def load_all(folder=FOLDER):
    """{march: its reports, the oldest first}, in the order of MACHINES."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            day, march = name[:10], name[11:-5]
            found.setdefault(march, []).append(
                dict(load(os.path.join(folder, name)), day=day))
    known = list(MACHINES)
    return dict(sorted(found.items(), key=lambda item: (
        known.index(item[0]) if item[0] in known else len(known), item[0])))


def newest(reports, order):
    """One report: each workload as it was measured last, with its day."""
    works = {}
    for report in reports:
        for work in report["workloads"]:
            works[work["name"]] = dict(work, day=report["day"])
    return {"machine": reports[-1]["machine"], "workloads": sorted(
        works.values(), key=lambda work: order.index(work["name"]))}
