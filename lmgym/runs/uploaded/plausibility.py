"""Detect values that surprisals in bits cannot have: negative ones, and means above any vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

from lmgym.runs.compute import SentenceResult
from lmgym.runs.uploaded.contents import ScorePart
from lmgym.suites.formats import SuiteDocument
from lmgym.text import is_unspaced
from lmgym.text.problems import Report

MOST_MEAN_BITS = 20.0
"""A guess among a million words has 20 bits; vocabularies have up to 262,144 tokens (18 bits). A rare word
may exceed this, but the mean of a suite does not."""
_OF_WORDS = ("sum", "mean", "median", "min")
"""Metrics whose mean over regions is at most the mean over words."""


def check_signs(part: ScorePart, report: Report) -> None:
    """Warn of negative values, since surprisals are positive. If all values are negative, report a problem: they look
    like log probabilities."""
    values = [value for row in part.sentences for value in row.regions.values() if value]
    values += [token.bits for row in part.sentences for token in row.tokens if token.bits]
    negative = sum(value < 0 for value in values)
    if negative and negative == len(values):
        hint = "Upload surprisals: −log₂ of the probability. Or name the column logprob and choose its unit."
        report.problem("file", "every value is negative, so these look like log probabilities", hint)
    elif negative:
        message = f"some values are negative ({negative:,} of {len(values):,}), which surprisals cannot be"
        report.warning("file", f"{message}; stored unchanged")


def check_mean(rows: Sequence[SentenceResult], document: SuiteDocument, metric: str, report: Report) -> None:
    """Warn of a mean that is too high for bits: over tokens, or over words if there are no tokens."""
    tokens = [bits for row in rows for token in row.tokens if isinstance(bits := token[4], float)]
    if tokens:
        total, n, what = sum(tokens), len(tokens), "token"
    elif metric in _OF_WORDS:
        cells = [
            (bits, _words(content) if metric == "sum" else 1)
            for row in rows
            for bits, content in zip(row.regions, document.sentences[row.position].contents, strict=True)
            if bits is not None and content
        ]
        total, n, what = sum(bits for bits, _ in cells), sum(words for _, words in cells), "word"
    else:
        return
    if n and total / n > MOST_MEAN_BITS:
        mean = f"the mean is {total / n:.1f} bits per {what}; a guess among a million words has {MOST_MEAN_BITS:g}"
        report.warning("file", f"{mean}: these are probably not surprisals in bits")


def _words(content: str) -> int:
    """Count words; in scripts without spaces, characters."""
    words = content.split()
    if content.isascii():
        return len(words)
    return sum(max(1, sum(map(is_unspaced, word))) for word in words)
