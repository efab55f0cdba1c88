"""Tables in Markdown from the recorded results."""

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
    """All parts on disk."""
    found = [one for part in ORDER if (one := record.load(folder, part))]
    if not found:
        return f"No results in {folder}: run `make bench-engine`."
    return "\n\n".join([*(part(one) for one in found), summary(found)])


def part(one: Record) -> str:
    """One part: times, memory, and the difference from float64."""
    facts = one["facts"]
    versions = ", ".join(f"{name} {facts[name]}" for name in facts if name not in ("date", "machine"))
    lines = [
        f"#### {one['part']}: {one['load']}, {one['sentences']:,} sentences, {one['tokens']:,} tokens",
        "",
        f"{facts['date']}, {one['machine']}, {one['dtype']}, {one['clock']} time; {versions}.",
        "",
        "| method | rounds | median s | spread s | tokens/s | vs minicons' best | to the floor | peak MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    medians, ratios = record.medians(one), against_peers(one)
    for name, value in medians.items():
        times, share = one["seconds"][name], one.get("shares", {}).get(name, 1.0)
        mark = "" if share == 1 else "*"
        floor = f"{value / one['floor'][name]:.2f}" if name in one.get("floor", {}) else ""
        spread = f"{min(times) / share:.2f}-{max(times) / share:.2f}"
        ratio = f"{ratios[name]:.2f}" if name in ratios else ""
        lines.append(
            f"| {name}{mark} | {len(times)} | {value:.2f} | {spread} | {one['tokens'] / value:,.0f} "
            f"| {ratio} | {floor} | {one.get('peak_mb', {}).get(name, '')} |"
        )
    return "\n".join([*lines, "", *notes(one)]).rstrip()


def notes(one: Record) -> list[str]:
    """What has to be said below the table."""
    said = [f"* {note}" for note in one.get("notes", [])]
    for name, share in one.get("shares", {}).items():
        if share < 1:
            said.append(f"* \\* {name}: ran {share:.2%} of the tokens; seconds extrapolated.")
    if "planning" in one:
        said.append(
            f"* Tokenizing all sentences takes {one['planning']['tokenize']:.2f} s, planning their prefix trees "
            f"{one['planning']['forest']:.2f} s."
        )
    if "rate" in one:
        said.append(
            f"* Best matrix product on this machine: {one['rate'] / 1e9:,.0f} GFLOP/s. Floor: all tokens "
            f"{one['floor'][ALL]:.2f} s, needed tokens {one['floor'][NEEDED]:.2f} s."
        )
    if "peak_mb" in one and not one["seconds"]:
        peaks = ", ".join(f"{name} {value:,}" for name, value in one["peak_mb"].items())
        said.append(f"* Peak memory in MB, each in a process of its own: {peaks}.")
    if "exact" in one:
        said += exactness(one["exact"])
    return said


def exactness(exact: Record) -> list[str]:
    single, ours, found = exact["single"], exact["ours"], exact["outcomes"]
    return [
        f"* Difference from float64 over {exact['tokens']:,} tokens of {exact['sentences']:,} sentences, in bits: one "
        f"sentence at a time in fp32 {single['max']:.2g} at most, {single['mean']:.2g} in the mean; LM Gym "
        f"{ours['max']:.2g} and {ours['mean']:.2g} ({ours['max'] / single['max']:.2f} times the largest).",
        f"* Of {found['outcomes']:,} outcomes {found['differ_marked'] + found['differ_unmarked']} differ from "
        f"float64, {found['differ_unmarked']} of them not marked too close to call; {found['too_close']} are "
        "marked.",
    ]


def against_peers(one: Record) -> dict[str, float]:
    """How many times as fast as the better of minicons' batch sizes."""
    medians = record.medians(one)
    best = min((value for name, value in medians.items() if name.startswith("minicons")), default=None)
    return {} if best is None else {name: best / value for name, value in medians.items()}


def summary(found: list[Record]) -> str:
    """Our two lines of each part beside the goals, and what the floor allows."""
    lines = [
        "#### Goals",
        "",
        "| part | all tokens | goal | at the floor | needed tokens | goal | at the floor | to the floor "
        f"(goal {FLOOR_GOAL}) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        ratios, medians = against_peers(one), record.medians(one)
        if ALL not in ratios or NEEDED not in ratios:
            continue
        cells = [one["part"]]
        floors = []
        for name, goal in zip((ALL, NEEDED), GOALS.get(one["part"], GOAL), strict=True):
            floor = one.get("floor", {}).get(name)
            best = f"{ratios[name] * medians[name] / floor:.1f}" if floor else ""
            cells += [f"{ratios[name]:.1f}", f"{goal:g}", best]
            floors.append(f"{medians[name] / floor:.2f}" if floor else "")
        lines.append(f"| {' | '.join(cells)} | {', '.join(floors)} |")
    return "\n".join(lines)
