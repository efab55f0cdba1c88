"""Porter's stemmer with the extensions that NLTK added to it, applied to whole phrases. Pure.

Algorithm: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980. The extensions, as NLTK documents
them for its default mode: irregular forms; words of one or two letters stay; -ies and -ied keep the e in four-letter
words; y becomes i only after a consonant that is not the first letter; -alli is taken off before the other rules of
step 2; -bli instead of -abli; -fulli; -logi; a vowel and a consonant alone count as "short".

The ProPara evaluator hands over a location as one word, so blanks, digits and commas count as consonants.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_IRREGULAR = {
    form: stem
    for stem, forms in {
        "sky": ("sky", "skies"),
        "die": ("dying",),
        "lie": ("lying",),
        "tie": ("tying",),
        "news": ("news",),
        "inning": ("innings", "inning"),
        "outing": ("outings", "outing"),
        "canning": ("cannings", "canning"),
        "howe": ("howe",),
        "proceed": ("proceed",),
        "exceed": ("exceed",),
        "succeed": ("succeed",),
    }.items()
    for form in forms
}
_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4_TEXT = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"
_STEP_4 = tuple((suffix, "") for suffix in _STEP_4_TEXT.split())
_SUFFIXES = {rules: tuple(suffix for suffix, _ in rules) for rules in (_STEP_2, _STEP_3, _STEP_4)}
"""Most words end with none of them, which is quick to see."""


def _shape(word: str) -> str:
    """One c or v for each letter; y is a vowel after a consonant, everything else but a, e, i, o, u is a consonant."""
    shape: list[str] = []
    for letter in word:
        if letter in "aeiou" or (letter == "y" and shape and shape[-1] == "c"):
            shape.append("v")
        else:
            shape.append("c")
    return "".join(shape)


class TooDeep(Exception):
    """The reference's stemmer would exceed Python's limit of recursion."""


_DEPTH = 1_000
"""Python's limit of calls within calls. The reference asks about a y by asking about the letter before it."""
_STEM = 11
"""Calls that stand, from its script down to its `stem`, when a location is compared. Each step below adds its own."""
_SAFE = 950
"""Words of so many letters hold no run of y that is too long."""


def _check_depth(word: str, calls: int, runs: str) -> None:
    for run in re.finditer(runs, word):
        letters = run.end() - run.start() + (run.start() > 0)
        if _STEM + calls + letters > _DEPTH:
            raise TooDeep


def _measure(stem: str, calls: int) -> int:
    """Porter's m: how often a consonant follows a vowel. `calls` stand between the reference's `stem` and the first
    question about a letter."""
    if len(stem) > _SAFE and "yyyy" in stem:
        _check_depth(stem, calls, "y+")
    return _shape(stem).count("vc")


def _ends_in_consonant(stem: str, calls: int) -> bool:
    if len(stem) > _SAFE and stem.endswith("yyyy"):
        _check_depth(stem, calls, "y+$")
    return _shape(stem)[-1] == "c"


def _short(stem: str) -> bool:
    """Ends consonant, vowel, consonant other than w, x, y (*o); or is just a vowel and a consonant."""
    shape = _shape(stem)
    return (shape[-3:] == "cvc" and stem[-1] not in "wxy") or shape == "vc"


def _first_rule(word: str, rules: tuple[tuple[str, str], ...], holds: Callable[[str, str], bool]) -> str:
    """Only the first suffix that fits counts, whether or not its condition holds."""
    if not word.endswith(_SUFFIXES[rules]):
        return word
    for suffix, replacement in rules:
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            return stem + replacement if holds(stem, suffix) else word
    return word


def _plurals(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_progressive(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3], 2) > 0 else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem != word and "v" in _shape(stem):
            return _tidied(stem)
    return word


def _tidied(stem: str) -> str:
    """What -ed or -ing leave behind."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if len(stem) > 1 and stem[-1] == stem[-2] and _ends_in_consonant(stem, 3):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem, 4) == 1 and _short(stem) else stem


def _final_y(word: str) -> str:
    fits = word.endswith("y") and len(word) > 2 and _ends_in_consonant(word[:-1], 3)
    return word[:-1] + "i" if fits else word


def _double_suffixes(word: str, again: int = 0) -> str:
    if word.endswith("alli") and _measure(word[:-4], 3 + again) > 0:
        return _double_suffixes(word[:-2], again + 1)
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3], 5 + again) > 0 else word
    return _first_rule(word, _STEP_2, lambda stem, _: _measure(stem, 4 + again) > 0)


def _single_suffixes(word: str) -> str:
    word = _first_rule(word, _STEP_3, lambda stem, _: _measure(stem, 4) > 0)
    return _first_rule(
        word, _STEP_4, lambda stem, suffix: _measure(stem, 4) > 1 and (suffix != "ion" or stem[-1] in "st")
    )


def _tail(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        m = _measure(stem, 2)
        if m > 1 or (m == 1 and not _short(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _measure(word[:-1], 4) > 1 else word


def stem(phrase: str) -> str:
    """The stem of a phrase in lower case. Raises TooDeep where a long run of y makes the reference fail."""
    if phrase in _IRREGULAR:
        return _IRREGULAR[phrase]
    if len(phrase) <= 2:
        return phrase
    word = _past_and_progressive(_plurals(phrase))
    return _tail(_single_suffixes(_double_suffixes(_final_y(word))))
