"""Format the recorded results as Markdown tables."""

from __future__ import annotations

from pathlib import Path

from benchmarks.engine import record
from benchmarks.engine.methods import ALL, NEEDED
from benchmarks.engine.record import Record

GOALS = {"bert": (3.0, 15.0), "blimp": (3.0, 3.0)}
GOAL = (5.0, 9.0)
FLOOR_GOAL = 1.5
ORDER = ("gpt2", "llama", "neox", "opt", "bert", "blimp", "gpt2-xl", "llama-7b", "llama-8b", "tiny")


def report(folder: Path) -> str:
    """Format the stored results of all parts, with a summary."""
    records = [data for part in ORDER if (data := record.load(folder, part))]
    if not records:
        return f"No results in {folder}: run `make bench-engine`."
    return "\n\n".join([*(part(data) for data in records), summary(records)])


def part(data: Record) -> str:
    """Format one part: times, memory, and the difference from float64."""
    facts = data["facts"]
    versions = ", ".join(f"{name} {facts[name]}" for name in facts if name not in ("date", "machine"))
    lines = [
        f"#### {data['part']}: {data['load']}, {data['sentences']:,} sentences, {data['tokens']:,} tokens",
        "",
        f"{facts['date']}, {data['machine']}, {data['dtype']}, {data['clock']} time; {versions}.",
        "",
        "| method | rounds | median s | spread s | tokens/s | vs minicons' best | to the floor | peak MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    medians, ratios = record.medians(data), against_peers(data)
    for name, value in medians.items():
        times, share = data["seconds"][name], data.get("shares", {}).get(name, 1.0)
        mark = "" if share == 1 else "*"
        floor = f"{value / data['floor'][name]:.2f}" if name in data.get("floor", {}) else ""
        spread = f"{min(times) / share:.2f}-{max(times) / share:.2f}"
        ratio = f"{ratios[name]:.2f}" if name in ratios else ""
        lines.append(
            f"| {name}{mark} | {len(times)} | {value:.2f} | {spread} | {data['tokens'] / value:,.0f} "
            f"| {ratio} | {floor} | {data.get('peak_mb', {}).get(name, '')} |"
        )
    return "\n".join([*lines, "", *notes(data)]).rstrip()


def notes(data: Record) -> list[str]:
    """Return the notes below the table."""
    lines = [f"* {note}" for note in data.get("notes", [])]
    for name, share in data.get("shares", {}).items():
        if share < 1:
            lines.append(f"* \\* {name}: ran {share:.2%} of the tokens; seconds extrapolated.")
    if "planning" in data:
        lines.append(
            f"* Tokenizing all sentences takes {data['planning']['tokenize']:.2f} s, planning their prefix trees "
            f"{data['planning']['forest']:.2f} s."
        )
    if "rate" in data:
        lines.append(
            f"* Best matrix product on this machine: {data['rate'] / 1e9:,.0f} GFLOP/s. Floor: all tokens "
            f"{data['floor'][ALL]:.2f} s, needed tokens {data['floor'][NEEDED]:.2f} s."
        )
    if "peak_mb" in data and not data["seconds"]:
        peaks = ", ".join(f"{name} {value:,}" for name, value in data["peak_mb"].items())
        lines.append(f"* Peak memory in MB, each in a process of its own: {peaks}.")
    if "exact" in data:
        lines += exactness(data["exact"])
    return lines


def exactness(exact: Record) -> list[str]:
    single, ours, outcomes = exact["single"], exact["ours"], exact["outcomes"]
    return [
        f"* Difference from float64 over {exact['tokens']:,} tokens of {exact['sentences']:,} sentences, in bits: one "
        f"sentence at a time in fp32 {single['max']:.2g} at most, {single['mean']:.2g} on average; LM Gym "
        f"{ours['max']:.2g} and {ours['mean']:.2g} ({ours['max'] / single['max']:.2f} times the largest).",
        f"* {_differing(outcomes)} {outcomes['too_close']} are marked too close to call.",
    ]


def _differing(outcomes: Record) -> str:
    differ = outcomes["differ_marked"] + outcomes["differ_unmarked"]
    if not differ:
        return f"None of {outcomes['outcomes']:,} outcomes differs from float64."
    return (
        f"Outcomes that differ from float64: {differ} of {outcomes['outcomes']:,} ({outcomes['differ_unmarked']} of "
        "them not marked)."
    )


def against_peers(data: Record) -> dict[str, float]:
    """Return each method's speed relative to minicons at its better batch size."""
    medians = record.medians(data)
    best = min((value for name, value in medians.items() if name.startswith("minicons")), default=None)
    return {} if best is None else {name: best / value for name, value in medians.items()}


def summary(records: list[Record]) -> str:
    """Format the speed of our two methods in each part, next to the goals and to the limit that the floor
    sets."""
    lines = [
        "#### Goals",
        "",
        "| part | all tokens | goal | at the floor | needed tokens | goal | at the floor | to the floor "
        f"(goal {FLOOR_GOAL}) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for data in records:
        ratios, medians = against_peers(data), record.medians(data)
        if ALL not in ratios or NEEDED not in ratios:
            continue
        cells = [data["part"]]
        floors = []
        for name, goal in zip((ALL, NEEDED), GOALS.get(data["part"], GOAL), strict=True):
            floor = data.get("floor", {}).get(name)
            best = f"{ratios[name] * medians[name] / floor:.1f}" if floor else ""
            cells += [f"{ratios[name]:.1f}", f"{goal:g}", best]
            floors.append(f"{medians[name] / floor:.2f}" if floor else "")
        lines.append(f"| {' | '.join(cells)} | {', '.join(floors)} |")
    return "\n".join(lines)
