"""Time from token bits to outcomes: 100,000 items in two conditions, all at once and one sentence at a time.

    .venv/bin/python -m benchmarks.downstream [--items 100000] [--repeats 5]

Sentences of 6 regions with 10 tokens, from a seeded generator. "One at a time" is the site's former method:
`share_prefix_scores`, then `align` and `region_values` for each sentence, then the formula. Both methods must agree.
Prints the table of docs/performance.md. The time does not include joining the regions' texts or creating database rows.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time

import numpy as np

from lmgym.models.engine import ScoringPolicy, TokenError, TokenScores, share_prefix_scores
from lmgym.runs.compute import Measured, joined_sentences
from lmgym.runs.outcomes import Grid, evaluate_predictions
from lmgym.runs.token_arrays import align_all, columns_of, share_prefixes, values_of
from lmgym.suites.formats import PredictionDoc, SentenceDoc, SuiteDocument
from lmgym.suites.regions import JoinedSentence, align, region_values

FORMULAS = ("(5;%b%) > (5;%a%)", "((4;%b%) + (5;%b%)) - ((4;%a%) + (5;%a%)) > 0.5")
WORDS = [f"{start}{rest}" for start in "bdfgklmnprst" for rest in ("ale", "orin", "ust", "ike", "aner", "ol")]
POLICY = ScoringPolicy()


def load(n_items: int) -> tuple[SuiteDocument, list[JoinedSentence], list[TokenScores]]:
    draw = np.random.default_rng(0)
    picks = draw.integers(0, len(WORDS), (n_items, 11)).tolist()
    sentences = []
    for item, pick in enumerate(picks, start=1):
        words = [WORDS[k] for k in pick]
        for condition, verb in (("a", words[9]), ("b", words[10])):
            contents = (
                words[0],
                " ".join(words[1:3]),
                " ".join(words[3:5]),
                words[5],
                verb,
                " ".join(words[6:9]) + ".",
            )
            sentences.append(SentenceDoc(item, condition, contents))
    document = SuiteDocument(
        name="downstream",
        metric="sum",
        meta={},
        region_names=tuple("123456"),
        conditions=("a", "b"),
        sentences=tuple(sentences),
        predictions=tuple(map(PredictionDoc, FORMULAS)),
    )
    joined = joined_sentences(document, POLICY)
    numbers = {word: number for number, word in enumerate([*WORDS, *(f"{word}." for word in WORDS)])}
    return document, joined, [_score(row.text, numbers, draw) for row in joined]


def _score(text: str, numbers: dict[str, int], draw: np.random.Generator) -> TokenScores:
    tokens = text.split(" ")
    ends = np.cumsum([len(token) + 1 for token in tokens]) - 1
    starts = [0, *ends[:-1].tolist()]
    bits = draw.gamma(2, 4, len(tokens)).astype(np.float32).astype(float).tolist()
    ids = [numbers[token] for token in tokens]
    return TokenScores(
        tokens, ids, list(zip(starts, ends.tolist(), strict=True)), bits, [False] * len(tokens)
    )


def at_once(
    document: SuiteDocument, joined: list[JoinedSentence], scores: list[TokenScores]
) -> list[list[int]]:
    columns = columns_of(scores)
    share_prefixes(columns)
    aligned = align_all(joined, columns, 6)
    values = values_of(columns, aligned, 6)
    grid = Measured(document, joined, scores, POLICY, columns, aligned, values).grid()
    return [row.outcomes for row in evaluate_predictions(document, grid, TokenError(5e-4))]


def one_by_one(
    document: SuiteDocument, joined: list[JoinedSentence], scores: list[TokenScores]
) -> list[list[int]]:
    items = list(dict.fromkeys(row.item for row in document.sentences))
    place = {item: at for at, item in enumerate(items)}
    keys = [(condition, region) for condition in document.conditions for region in (*range(1, 7), "*")]
    bits = {key: np.full(len(items), np.nan) for key in keys}
    tokens = {key: np.ones(len(items), np.int64) for key in keys}
    for sentence, row, score in zip(document.sentences, joined, share_prefix_scores(scores), strict=True):
        values = region_values(align(row, score.offsets, score.special), score.bits, 6)
        for region, value in enumerate(values.values, start=1):
            bits[sentence.condition, region][place[sentence.item]] = value
        bits[sentence.condition, "*"][place[sentence.item]] = values.total
    return [
        row.outcomes for row in evaluate_predictions(document, Grid(items, bits, tokens), TokenError(5e-4))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    case = load(options.items)
    n_tokens = sum(map(len, case[2]))
    print(
        f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, ",
        end="",
    )
    print(
        f"numpy {np.__version__}; {options.items:,} items, {n_tokens:,} tokens, median of {options.repeats}\n"
    )
    times: dict[str, list[float]] = {"one sentence at a time": [], "at once": []}
    outcomes = {}
    for _ in range(options.repeats):
        for name, way in zip(times, (one_by_one, at_once), strict=True):
            start = time.perf_counter()
            outcomes[name] = way(*case)
            times[name].append(time.perf_counter() - start)
    assert outcomes["at once"] == outcomes["one sentence at a time"], "the two ways differ"
    slow, quick = (statistics.median(times[name]) for name in times)
    print("| | s | |\n|---|---|---|")
    print(
        f"| one sentence at a time | {slow:.2f} | 1.0 |\n| at once | {quick:.2f} | {slow / quick:.1f} times faster |"
    )


if __name__ == "__main__":
    main()
