"""Coverage of the intervals of docs/statistics.md, and error rate of the test against chance.

    .venv/bin/python -m benchmarks.intervals             # prints the tables; about 7 minutes on one core
    .venv/bin/python -m benchmarks.intervals --write     # writes them between the marks in docs/statistics.md

Every number is a percentage of the simulated samples; `--samples` sets how many there are. The same seed
gives the same tables.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.intervals.simulate import DIFFERENCES, MEANS, NULLS, differences, errors_at_chance, means
from benchmarks.web.record import DOCS, put

SAMPLES = 2_000


def tables(samples: int) -> str:
    """Return three Markdown tables with percentages of samples."""
    lines = [
        f"{samples:,} samples each, seed 17: `python -m benchmarks.intervals`. “Above” and “below”: the truth is above "
        "the upper limit, or below the lower one; 2.5 each would be ideal.",
        "",
        "SG scores and means over tags:",
        "",
        "| suites and true rates | holds | above | below | MOVER holds |",
        "| :- | -: | -: | -: | -: |",
    ]
    for mean in MEANS:
        ours, mover = means(mean, samples)
        lines.append(
            f"| {mean.name} | {ours.holds:.1f} | {ours.above:.1f} | {ours.below:.1f} | {mover.holds:.1f} |"
        )
    lines += [
        "",
        "Differences of two models on the same items:",
        "",
        "| suites, true rates, correlation of the models | holds | above | below | bootstrap holds |",
        "| :- | -: | -: | -: | -: |",
    ]
    for difference in DIFFERENCES:
        ours, bootstrap = differences(difference, samples)
        lines.append(
            f"| {difference.name} | {ours.holds:.1f} | {ours.above:.1f} | {ours.below:.1f} | {bootstrap.holds:.1f} |"
        )
    lines += [
        "",
        "Verdicts on a rate that is at chance (5 at most in either direction would be ideal):",
        "",
        "| items, predictions, chance, correlation of an item's predictions | “above” | “below” |",
        "| :- | -: | -: |",
    ]
    for null in NULLS:
        above, below = errors_at_chance(null, samples)
        lines.append(f"| {null.name} | {above:.1f} | {below:.1f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    new_tables = tables(options.samples)
    print(new_tables)
    if options.write:
        page = DOCS / "statistics.md"
        page.write_text(put(page.read_text(), "coverage", new_tables))
    return 0


if __name__ == "__main__":
    sys.exit(main())
