"""How often the interval of a slope of surprisal contains it, and how long crossed fits take.

    .venv/bin/python -m benchmarks.people             # prints the tables; about 10 minutes on one core
    .venv/bin/python -m benchmarks.people --write     # writes them between the marks in docs/statistics.md

Percentages are of `--experiments` simulated experiments. The same seed gives the same coverage.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from dataclasses import replace

import numpy as np

from benchmarks.people.experiments import MODEL, SEED, SETTINGS, SLOPE, coverage, data_of, document
from benchmarks.web.record import DOCS, put
from lmgym.people.fit_data import FitData, Options
from lmgym.people.gains import cross_validated_gains, fit_model
from lmgym.people.simulate import Experiment, simulate

EXPERIMENTS = 1_000
SIZES = ((40, 24, 9), (100, 100, 11), (400, 100, 26))
"""Participants, items, and words of a sentence of the timed fits; each reads every item once."""


def coverage_table(experiments: int) -> list[str]:
    lines = [
        f"{experiments:,} experiments each, seed {SEED}, true slope {SLOPE:g} ms a bit and 2 ms a bit of spill-over: "
        "`python -m benchmarks.people`. “Above” and “below”: the slope is above or below the interval; 2.5 each would "
        "be ideal.",
        "",
        "| experiment | holds | above | below | mean slope | sd of slopes | mean standard error |",
        "| :- | -: | -: | -: | -: | -: | -: |",
    ]
    for setting in SETTINGS:
        row = coverage(setting, experiments)
        lines.append(
            f"| {setting.name} | {row.holds:.1f} | {row.too_low:.1f} | {row.too_high:.1f} | {row.mean:.3f} | "
            f"{row.sd:.3f} | {row.standard_error:.3f} |"
        )
        print(lines[-1], f"{row.seconds * 1000:.0f} ms each", file=sys.stderr, flush=True)
    return lines


def times_table() -> list[str]:
    lines = [
        f"Times on one core of {platform.machine()}, {time.strftime('%Y-%m-%d')}, with OMP_NUM_THREADS=1:",
        "",
        "| participants | items | observations | fit (REML and ML) | ten-fold cross-validation of one model |",
        "| -: | -: | -: | -: | -: |",
    ]
    for n_participants, n_items, words in SIZES:
        data = timed_data(n_participants, n_items, words)
        start = time.perf_counter()
        fit_model(data, MODEL)
        fitted = time.perf_counter()
        cross_validated_gains(data, [MODEL])
        end = time.perf_counter()
        lines.append(
            f"| {n_participants} | {n_items} | {len(data):,} | {fitted - start:.1f} s | {end - fitted:.1f} s |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def timed_data(n_participants: int, n_items: int, words: int) -> FitData:
    suite = document(n_items, words)
    bits = np.random.default_rng(SEED).gamma(4.0, 2.0, (len(suite.sentences), words))
    by_sentence = {(s.item, s.condition): bits[k].tolist() for k, s in enumerate(suite.sentences)}
    experiment = replace(Experiment(slope=SLOPE), n_participants=n_participants)
    return data_of(suite, simulate(suite, by_sentence, experiment, seed=SEED), bits, Options(language=""))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=EXPERIMENTS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    new_tables = "\n".join([*coverage_table(options.experiments), "", *times_table()])
    print(new_tables)
    if options.write:
        page = DOCS / "statistics.md"
        page.write_text(put(page.read_text(), "people", new_tables))
    return 0


if __name__ == "__main__":
    sys.exit(main())
