"""The tables of the peers in docs/peers.md and README.md, between their
markers, and the charts docs/peers-MARCH-*.svg, a set for each machine, all from
bench/history, which compare.py writes.

usage: build/peers/bin/python bench/peers/report.py"""
import os
import textwrap

import accuracy
import history
from programs import PROGRAMS
from table import WORKLOADS

DOCS = os.path.join(history.HERE, "../../docs")
BEGIN, END = "<!-- peers: begin -->\n", "<!-- peers: end -->\n"

CHARTS = [
    ("encoder", "Encoders", ["encoder"]),
    ("text", "From text to embedding", ["embed"]),
    ("attention", "Attention alone", ["attention"]),
    ("decoding", "Decoding", ["translation", "llama", "story"]),
]
SUMMARY = {                      # README's rows: workload, its name there
    "encoder-128": "encoder of transformer-base, 128 tokens",
    "base-b1-greedy": "transformer-base, source 32, 32 greedy steps",
    "llama-prefill-t1": "Llama's shape, 110M: a prompt of 512",
    "llama-step-t1": "the same: one step after it",
    "g2p-b1-greedy": "g2p-en, source 32, 32 greedy steps",
}
BESIDE = 3                       # of the other programs: the fastest
LONGEST = 4.0                    # a bar's; what is longer is cut


def in_f32(work):
    return [row for row in work.get("rows", [])
            if not PROGRAMS[row["peer"]].of]


def measured(work):
    """In f32: the charts are of that."""
    return [row for row in in_f32(work) if "missing" not in row]


def ratio(work, row):
    return row["p50_ms"] / work["rows"][0]["p50_ms"]


def number(ms):
    """Three digits."""
    return f"{ms:.{3 if ms < 1 else max(0, 3 - len(str(int(ms))))}f}"


def cell(work, row):
    if row is None:
        return ""
    if "missing" in row:
        return row["missing"]
    return f"{number(row['p50_ms'])}, {ratio(work, row):.2f}"


def table(works):
    """A row for each workload, a column for each peer."""
    found = {row["peer"] for w in works for row in in_f32(w)}
    columns = [peer for peer in PROGRAMS if peer in found]
    lines = ["| workload | " + " | ".join(PROGRAMS[p].name for p in columns)
             + " |", "|---" * (1 + len(columns)) + "|"]
    for work in works:
        rows = {row["peer"]: row for row in work.get("rows", [])}
        cells = [cell(work, rows.get(peer)) for peer in columns]
        if "missing" in work:
            cells[0] = f"not measured: {work['missing']}"
        else:
            cells[0] = number(rows["attnc"]["p50_ms"]) + (
                f" ({rate(work):.0f} GFLOP/s)" if "flops" in work else "")
        lines.append(f"| {work['title']} | " + " | ".join(cells) + " |")
    return lines


def fewer_cells(work, row):
    """A line of the table of fewer bits."""
    program = PROGRAMS[row["peer"]]
    cells = [work["title"], program.name, program.format, program.products]
    if "missing" in row:
        return cells + ["", row["missing"], "", "", ""]
    own = {r["peer"]: r["p50_ms"] for r in measured(work)}.get(program.of)
    return cells + [row.get("dot_products") or "", number(row["p50_ms"]),
                    f"{ratio(work, row):.2f}",
                    f"{row['p50_ms'] / own:.2f}" if own else "",
                    accuracy.text(row)]


def fewer_table(report):
    """A line for each workload and program of fewer bits."""
    lines = [" | ".join(fewer_cells(work, row))
             for work in report["workloads"] for row in work.get("rows", [])
             if PROGRAMS[row["peer"]].of]
    if not lines:
        return []
    has = ", ".join(report["machine"]["dot_products"])
    return ["### Fewer bits", "",
            *textwrap.wrap("This CPU has these instructions for dot products:"
                           f" {has}. The column `dot products` has the best"
                           " that the program may use.", 80), "",
            "| workload | program | weights | products in | dot products | ms |"
            " / attnc in f32 | / itself in f32 | loss |",
            "|" + "---|" * 9, *[f"| {line} |" for line in lines], ""]


def rate(work):
    """GFLOP/s of attnc; FLOPs of products, real rows alone."""
    return work["flops"] / work["rows"][0]["p50_ms"] / 1e6


def versions(report):
    found = {}
    for work in report["workloads"]:
        for row in work.get("rows", []):
            if row["version"]:
                name = PROGRAMS[row["peer"]].name.split(",")[0]
                found[name] = row["version"]
    return ", ".join(f"{name} {version}" for name, version in found.items())


def days(report):
    found = sorted({work["day"] for work in report["workloads"]})
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"


def text(march, name, report):
    """The section of a machine."""
    machine = report["machine"]
    about = (f"Measured {days(report)}: {machine['cores']} cores, "
             f"{machine['fma_gflop_per_s']} GFLOP/s of multiply-adds in f32 "
             f"by one core; {machine['compiler']}. {versions(report)}. "
             "Cells have the median in ms, and its ratio to attnc's. "
             "One thread unless stated otherwise.")
    lines = [f"## {name}", "", *textwrap.wrap(about, 80), ""]
    for chart, title, kinds in CHARTS:
        works = [w for w in report["workloads"] if w["kind"] in kinds]
        if works:
            lines += [f"### {title}", "",
                      f"![{title}](peers-{march}-{chart}.svg)", "",
                      *table(works), ""]
    return "\n".join(lines + fewer_table(report))


def best_other(work):
    """How many times attnc's the fastest other program takes."""
    others = [ratio(work, row) for row in measured(work)[1:]]
    return f", {min(others):.2f}" if others else ""


def past(reports):
    """attnc's medians day by day, where there is more than one."""
    if len(reports) < 2:
        return []
    cells = {}
    for report in reports:
        for work in report["workloads"]:
            if measured(work):
                own = number(work["rows"][0]["p50_ms"])
                cells.setdefault(work["title"], {})[report["day"]] = (
                    own + best_other(work))
    seen = [report["day"] for report in reports]
    return ["### Day by day", "",
            "attnc's median in ms, and the ratio of the fastest other program"
            " to it.", "",
            "| workload | " + " | ".join(seen) + " |",
            "|---" * (1 + len(seen)) + "|",
            *[f"| {title} | " + " | ".join(
                by_day.get(day, "") for day in seen) + " |"
              for title, by_day in cells.items()], ""]


def summary_row(report, work, title):
    rows = measured(work)
    own = f"{number(rows[0]['p50_ms'])} ms"
    if "flops" in work:
        peak = report["machine"]["fma_gflop_per_s"]
        own += f", {100 * rate(work) / peak:.0f} % of the core's FMA peak"
    others = sorted(rows[1:], key=lambda row: row["p50_ms"])[:BESIDE]
    beside = "; ".join(
        f"{PROGRAMS[row['peer']].name}: {number(row['p50_ms'])} ms"
        for row in others)
    return f"| {title} | {own} | {beside} |"


def summary(name, report):
    works = {work["name"]: work for work in report["workloads"]}
    about = (f"One thread in f32 on one core of an {name}, each program with"
             " its best settings. `make bench-peers` measures this;"
             " [docs/peers.md](docs/peers.md) has the method and more"
             " workloads:")
    lines = [*textwrap.wrap(about, 80, break_long_words=False,
                            break_on_hyphens=False), "",
             "| work | attnc | the fastest others |", "|---|---|---|"]
    lines += [summary_row(report, works[work], title)
              for work, title in SUMMARY.items()]
    return "\n".join(lines) + "\n"


def is_whole(report):
    """Has it all that README shows?"""
    return set(SUMMARY) <= {work["name"] for work in report["workloads"]
                            if measured(work)}


def write_between(path, text):
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + text + END + rest.split(END)[1])


def break_mark(axes, y):
    """Two strokes across a bar near its end: it is longer than it is drawn."""
    for colour, width in (("white", 3.0), ("#333333", 0.8)):
        for at in (LONGEST - 0.18, LONGEST - 0.08):
            axes.plot([at - 0.03, at + 0.03], [y + 0.5, y - 0.5],
                      color=colour, linewidth=width)


def bars(axes, works):
    """From above: a group for each workload, attnc's bar first."""
    y, ticks = 0, []
    for work in works:
        rows = measured(work)
        rows = rows[:1] + sorted(rows[1:], key=lambda row: row["p50_ms"])
        for i, row in enumerate(rows):
            program, times = PROGRAMS[row["peer"]], ratio(work, row)
            axes.barh(y + i, min(times, LONGEST), 0.86, color=program.colour)
            if times > LONGEST:
                break_mark(axes, y + i)
            label = f"{number(row['p50_ms'])} ms"
            label += f"  {program.name}" + (f", {times:.2f}" if i else "")
            end = max(1, min(times, LONGEST))
            axes.text(end + 0.04, y + i, label, va="center",
                      fontsize=7, color="#333333")
        ticks.append((y + (len(rows) - 1) / 2, work["title"]))
        y += len(rows) + 0.8
    axes.set_yticks([at for at, _ in ticks],
                    [title.replace(", ", ",\n", 1) for _, title in ticks],
                    fontsize=8)
    axes.set_ylim(y - 0.8, -0.8)
    return y


def draw(march, machine, chart, title, works):
    from matplotlib import pyplot
    height = sum(len(measured(w)) + 0.8 for w in works)
    figure, axes = pyplot.subplots(figsize=(8.4, 0.17 * height + 0.9))
    bars(axes, works)
    axes.axvline(1, color="#1f2430", linewidth=0.6)
    axes.set_xlim(0, LONGEST + 1.6)
    axes.set_xticks(range(int(LONGEST) + 1))
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=7)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_title(f"{title}: time, attnc's is 1 (a bar with a "
                   f"break is longer than {LONGEST:.0f}); "
                   f"{machine}",
                   fontsize=9, loc="left")
    figure.tight_layout()
    figure.savefig(os.path.join(DOCS, f"peers-{march}-{chart}.svg"),
                   metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def main():
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "attnc",
                                "svg.fonttype": "none",
                                "font.family": "sans-serif"})
    order, sections, shown = [w["name"] for w in WORKLOADS], [], None
    for march, reports in history.load_all().items():
        name = history.name_of(march, reports)
        report = history.newest(reports, order)
        for chart, title, kinds in CHARTS:
            works = [w for w in report["workloads"]
                     if w["kind"] in kinds and measured(w)]
            if works:
                draw(march, name, chart, title, works)
        sections.append("\n".join([text(march, name, report),
                                   *past(reports)]))
        if not shown and is_whole(report):
            shown = summary(name, report)
    write_between(os.path.join(DOCS, "peers.md"), "\n".join(sections))
    write_between(os.path.join(DOCS, "../README.md"), shown)


if __name__ == "__main__":
    main()
