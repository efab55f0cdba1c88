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
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.people.experiments import MODEL, SEED, SETTINGS, SLOPE, coverage, data_of, document
from benchmarks.web.record import DOCS, put
from lmgym.models.engine import ScoringPolicy, TokenScores
from lmgym.people.against import against
from lmgym.people.fit_data import Options
from lmgym.people.gains import cross_validated_gains, fit_model
from lmgym.people.observations import Observations
from lmgym.people.simulate import Experiment, simulate
from lmgym.runs.compute import RunResult, evaluate_document
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formats.documents import PredictionDoc

EXPERIMENTS = 1_000
SIZES = ((40, 24, 9), (100, 100, 11), (400, 100, 26))
"""Participants, items, and words of a sentence of the timed fits; each reads every item once."""


TIMED = (Options(language=""), Options(language="", slopes=True))


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
        f"Seconds of processor time on one core of {platform.machine()}, {time.strftime('%Y-%m-%d')}, with "
        "OMP_NUM_THREADS=1, for one model. A comparison is a fit, its cross-validation, and the effects of a "
        "prediction:",
        "",
        "| participants | items | observations | fit (REML and ML) | fit with `slopes` | ten-fold cross-validation | "
        "comparison | … with `slopes` |",
        "| -: | -: | -: | -: | -: | -: | -: | -: |",
    ]
    for n_participants, n_items, words in SIZES:
        suite, people, bits = experiment(n_participants, n_items, words)
        data, sloped = (data_of(suite, people, bits, options) for options in TIMED)
        models = {MODEL: run_of(suite, bits).sentences}
        seconds = [
            timed(fit_model, data, MODEL),
            timed(fit_model, sloped, MODEL),
            timed(cross_validated_gains, data, [MODEL]),
            *(timed(against, people, suite, models, options) for options in TIMED),
        ]
        cells = " | ".join(f"{value:.1f}" for value in seconds)
        lines.append(f"| {n_participants} | {n_items} | {len(data):,} | {cells} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def timed(action: Callable[..., object], *arguments: object) -> float:
    """Return seconds of processor time, which other programs hardly change."""
    start = time.process_time()
    action(*arguments)
    return time.process_time() - start


def experiment(
    n_participants: int, n_items: int, words: int
) -> tuple[SuiteDocument, Observations, np.ndarray]:
    suite = replace(document(n_items, words), predictions=(PredictionDoc("(3;%b%) > (3;%a%)"),))
    bits = np.random.default_rng(SEED).gamma(4.0, 2.0, (len(suite.sentences), words))
    by_sentence = {(s.item, s.condition): bits[k].tolist() for k, s in enumerate(suite.sentences)}
    settings = replace(Experiment(slope=SLOPE), n_participants=n_participants)
    return suite, simulate(suite, by_sentence, settings, seed=SEED), bits


def run_of(suite: SuiteDocument, bits: np.ndarray) -> RunResult:
    """Build the run of a model whose tokens are words."""
    scores = []
    for sentence, values in zip(suite.sentences, bits, strict=True):
        words = sentence.text.split(" ")
        ends = np.cumsum([len(word) + 1 for word in words]) - 1
        offsets = [(int(end) - len(word), int(end)) for word, end in zip(words, ends, strict=True)]
        ids = list(range(len(words)))
        scores.append(TokenScores(words, ids, offsets, values.tolist(), [False] * len(words)))
    return evaluate_document(suite, scores, ScoringPolicy(), left_to_right=False)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=EXPERIMENTS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--times", action="store_true", help="only measure times, and print them")
    options = parser.parse_args()
    if options.times:
        print("\n".join(times_table()))
        return 0
    new_tables = "\n".join([*coverage_table(options.experiments), "", *times_table()])
    print(new_tables)
    if options.write:
        page = DOCS / "statistics.md"
        page.write_text(put(page.read_text(), "people", new_tables))
    return 0


if __name__ == "__main__":
    sys.exit(main())
