"""Compare bfloat16 with float32 on suites: token errors, outcomes that flip, and outcomes too close to call.

    python -m benchmarks.half SmolLM2-135M-Instruct.Q4_1.gguf gym/demo/data/suites/*.json

Needs a processor that multiplies in bfloat16. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lmgym.models.backends import Backend, load_backend
from lmgym.models.engine import ScoringPolicy, TokenError
from lmgym.runs.compute import RunResult, evaluate_document, joined_sentences, token_bits
from lmgym.runs.provenance import error_of
from lmgym.runs.token_arrays import Scores
from lmgym.suites.formats import SuiteDocument, read_suite

POLICY = ScoringPolicy(bos="<|endoftext|>")


class Row(NamedTuple):
    """Counts of one suite. `by_bound`, `by_sd`: outcomes marked too close to call, and flips left unmarked."""

    name: str
    outcomes: int
    flips: int
    by_bound: tuple[int, int]
    by_sd: tuple[int, int]


def open_model(path: Path, **settings: Any) -> Backend:
    """Load a model file or folder on the CPU."""
    config = {"source": "directory", "path": path.name, "device": "cpu", **settings}
    return load_backend("causal", config, model_dir=path.parent, hub_allowed=False)


def scored(backend: Backend, documents: list[SuiteDocument]) -> list[list[Scores]]:
    return [
        list(backend.score([row.text for row in joined_sentences(document, POLICY)], POLICY))
        for document in documents
    ]


def compared(
    document: SuiteDocument, exact: list[Scores], half: list[Scores], error: TokenError
) -> tuple[Row, list[float]]:
    """Compare outcomes of one suite. Returns the counts and the errors of all tokens in bits."""

    def result(scores: list[Scores], error: TokenError) -> RunResult:
        return evaluate_document(document, scores, POLICY, error, left_to_right=True)

    true = result(exact, error)
    flips = flags(true, result(half, error), "outcomes")
    marks = [result(half, rule) for rule in (TokenError(error.bound), error)]
    close = [np.concatenate([one.close for one in found.predictions]).astype(bool) for found in marks]
    by_bound, by_sd = ((int(mark.sum()), int((flips & ~mark).sum())) for mark in close)
    errors = list(token_errors(true, marks[1]))
    return Row(document.name, len(flips), int(flips.sum()), by_bound, by_sd), errors


def flags(a: RunResult, b: RunResult, name: str) -> Any:
    """Flag the items and predictions in which two results differ."""
    columns = (np.concatenate([getattr(one, name) for one in result.predictions]) for result in (a, b))
    return np.not_equal(*columns)


def token_errors(a: RunResult, b: RunResult) -> Iterator[float]:
    """Yield the difference of every scored token in bits."""
    for row, other in zip(a.sentences, b.sentences, strict=True):
        for token, twin in zip(token_bits(row), token_bits(other), strict=True):
            if token.surprisal is not None and twin.surprisal is not None:
                yield twin.surprisal - token.surprisal


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.half", description=__doc__)
    parser.add_argument("model", type=Path, help="model file or folder")
    parser.add_argument("suites", type=Path, nargs="+", help="suites in JSON")
    options = parser.parse_args()
    documents = [read_suite(path.read_bytes(), path.name) for path in options.suites]
    backend = open_model(options.model, dtype="bfloat16", cpu_bfloat16=True)
    error = error_of(backend.facts)
    print(*(f"* {note}" for note in backend.facts.notes), sep="\n", flush=True)
    half = scored(backend, documents)
    del backend
    exact = scored(open_model(options.model, dtype="float32"), documents)
    pairs = zip(documents, exact, half, strict=True)
    found = [compared(document, true, half, error) for document, true, half in pairs]
    errors = np.abs(np.concatenate([values for _, values in found]))
    print(
        f"* Suites, {len(errors):,} tokens: standard deviation {np.sqrt(np.mean(errors**2)):.3f}, "
        f"99% {np.quantile(errors, 0.99):.2f}, largest {errors.max():.2f} bits.\n"
    )
    print("| suite | outcomes | flips | marked by bound | unmarked flips | marked by sd | unmarked flips |")
    print("|---|---|---|---|---|---|---|")
    for row in [*(row for row, _ in found), total([row for row, _ in found])]:
        print(
            f"| {row.name} | {row.outcomes} | {row.flips} | {cells(row.by_bound, row)} | {cells(row.by_sd, row)} |"
        )


def cells(counts: tuple[int, int], row: Row) -> str:
    """Format a rule's two columns: outcomes marked as too close to call, and flips left unmarked."""
    marked, unmarked = counts
    return f"{marked} ({marked / row.outcomes:.0%}) | {unmarked}"


def total(rows: list[Row]) -> Row:
    by_bound, by_sd = (
        (sum(counts[0] for counts in column), sum(counts[1] for counts in column))
        for column in ([row.by_bound for row in rows], [row.by_sd for row in rows])
    )
    return Row("all", sum(row.outcomes for row in rows), sum(row.flips for row in rows), by_bound, by_sd)


if __name__ == "__main__":
    main()
