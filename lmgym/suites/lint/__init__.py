"""What a careful reviewer would notice in a suite. Pure: no Django, no model.

The codes are listed in docs/suite-format.md. The method is the suite's own design: what most items do is
taken for the plan, and an item that does otherwise is pointed out with the cells concerned.
"""

from __future__ import annotations

from lmgym.suites.formats.documents import SuiteDocument
from lmgym.suites.lint import patterns, texts, ties
from lmgym.suites.lint.findings import Cell, Design, Finding, Severity

__all__ = ["CODES", "Cell", "Finding", "Severity", "lint"]

CODES = {
    "formula-error": "a prediction's formula cannot be read",
    "dangling-reference": "a formula names a region or condition that is not there",
    "identical-sentences": "two conditions of an item are the same sentence",
    "tie-risk": "a formula compares regions that are the same text after the same text",
    "empty-reference": "a formula refers to a region without text",
    "sum-beside-metric": "a formula has `*`, a sum, but the metric of regions is not sum",
    "empty-sentence": "a sentence has no text at all",
    "swapped-conditions": "the contents of two conditions of an item look exchanged",
    "odd-empty-region": "a region is empty, or is not, unlike in the other items",
    "odd-equality-pattern": "other conditions share a region's text than in the other items",
    "final-punctuation": "an item's sentences end otherwise than the others'",
    "initial-capital": "an item's sentences begin otherwise than the others'",
    "doubled-word": "a word was typed twice",
    "a-or-an": "“a” before a vowel, or “an” before a consonant",
    "relative-agreement": "a noun and the verb after its “who” disagree in number",
    "odd-word": "texts that begin or end with the same word in other items",
    "number-region": "a region that is a number in most sentences",
    "text-after-end": "text after the end of a sentence, such as questions and answers in a sheet",
    "slash-in-text": "slashes, bars or underscores between words, at which other programs cut or join them",
    "pre-tokenised": "blanks before punctuation or clitics, as in text cut into tokens",
    "duplicate-items": "two items are the same in every condition",
    "straddle-risk": "a region border where a blank is not natural",
    "invisible-character": "a character that cannot be seen",
    "special-token": "text that tokenizers read as a special token, such as <s> or <|endoftext|>",
    "not-nfc": "text that is not in Unicode's composed form",
    "leading-space": "regions with a leading blank, which scoring ignores",
    "trailing-space": "regions with a trailing blank, which scoring ignores",
    "inner-space": "regions with repeated spaces or line breaks, which scoring reads as one space",
    "unused-condition": "a condition that no prediction uses",
    "few-items": "fewer than ten items",
    "no-predictions": "nothing to score",
}

SETTINGS = {"straddle-risk": "join"}
"""Findings that another setting of the suite may answer: how its regions are joined."""

_ORDER = {"error": 0, "warning": 1, "info": 2}


def lint(doc: SuiteDocument, join: str = "space") -> list[Finding]:
    """All findings of a document whose regions are joined by this policy: errors first, then warnings, then remarks; in
    each group in the order of `CODES`.

    Never raises for a document that a reader of `lmgym.suites.formats` has made. Deterministic.
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
