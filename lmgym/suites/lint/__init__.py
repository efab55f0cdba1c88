"""Checks of a suite that need no model. The codes are listed in docs/suite-format.md.

The design is inferred from the suite itself: a pattern that most items share is taken as intended, and items that
deviate are reported with the cells concerned.
"""

from __future__ import annotations

from lmgym.suites.formats.documents import SuiteDocument
from lmgym.suites.lint import patterns, texts, ties
from lmgym.suites.lint.findings import Cell, Design, Finding, Severity

__all__ = ["CODES", "Cell", "Finding", "Severity", "lint"]

CODES = {
    "formula-error": "a prediction's formula cannot be read",
    "dangling-reference": "a formula names a region or condition that does not exist",
    "identical-sentences": "two conditions of an item are the same sentence",
    "tie-risk": "a formula compares regions with the same text after the same preceding text",
    "empty-reference": "a formula refers to a region without text",
    "sum-beside-metric": "a formula has `*`, a sum, but the metric of regions is not sum",
    "empty-sentence": "a sentence has no text at all",
    "swapped-conditions": "the contents of two conditions of an item look swapped",
    "odd-empty-region": "a region is empty in some conditions, unlike in the other items",
    "odd-equality-pattern": "the conditions that share a region's text differ from those in the other items",
    "final-punctuation": "an item's sentences end differently from those of the other items",
    "initial-capital": "an item's sentences begin differently from those of the other items",
    "doubled-word": "a word typed twice",
    "a-or-an": "“a” before a vowel, or “an” before a consonant",
    "relative-agreement": "a noun and the verb after its “who” disagree in number",
    "odd-word": "a region's texts in two conditions begin or end with different words, unlike in other items",
    "number-region": "a region that is a number in most sentences",
    "text-after-end": "text after the end of a sentence, such as questions and answers from a sheet",
    "slash-in-text": "slashes, bars or underscores between words, which other programs use as separators",
    "pre-tokenised": "spaces before punctuation or clitics, as in tokenised text",
    "duplicate-items": "two items are identical in every condition",
    "straddle-risk": "a region border where a space is not natural",
    "invisible-character": "an invisible character",
    "special-token": "text that tokenizers read as a special token, such as <s> or <|endoftext|>",
    "not-nfc": "text that is not in Unicode's composed form",
    "leading-space": "regions with a leading space, which scoring ignores",
    "trailing-space": "regions with a trailing space, which scoring ignores",
    "inner-space": "regions with repeated spaces or line breaks, which scoring reads as one space",
    "unused-condition": "a condition that no prediction uses",
    "few-items": "fewer than ten items",
    "no-predictions": "the suite has no predictions, so runs have no pass rates",
}

SETTINGS = {"straddle-risk": "join"}
"""Setting of the suite that can resolve a finding, by finding code; "join" is the join policy of regions."""

_ORDER = {"error": 0, "warning": 1, "info": 2}


def lint(doc: SuiteDocument, join: str = "space") -> list[Finding]:
    """Check a suite. Deterministic; never raises for a document that `lmgym.suites.formats` has read.

    Args:
        join: join policy of its regions, see `lmgym.suites.regions.join`.

    Returns:
        Findings: errors, then warnings, then information, each in the order of `CODES`.
    """
    design = Design(doc)
    identical, same = ties.check_identical(design)
    odd = list(patterns.check_patterns(design, same))
    swapped = {cell[0] for finding in odd if finding.code == "swapped-conditions" for cell in finding.cells}
    findings = [
        *ties.check_references(design),
        *identical,
        *ties.check_ties(design, same),
        *ties.check_empty_references(design, swapped),
        *ties.check_whole_sentences(design),
        *odd,
        *patterns.check_marks(design),
        *texts.check_strays(design),
        *texts.check_words(design),
        *texts.check_wording(design),
        *texts.check_repeats(design),
        *texts.check_joins(design, join),
        *texts.check_characters(design),
        *texts.check_special_tokens(design),
        *texts.check_blanks(design),
        *texts.check_sizes(design),
    ]
    codes = list(CODES)
    return sorted(findings, key=lambda finding: (_ORDER[finding.severity], codes.index(finding.code)))
