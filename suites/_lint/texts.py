"""Checks of the text itself: blanks, joins between regions, odd characters, doubled words, repeated items."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator

from gym.lib.text import BLANKS
from suites.regions import ATTACHED

from .findings import Cell, Design, Finding, items_phrase, quoted

FEW_ITEMS = 10
_INNER = re.compile(f"[{BLANKS}]{{2}}|[{BLANKS[1:]}]")
_CLITIC = re.compile(r"(?:['’ʼ](?:s|re|ve|ll|d|m|t)\b|n['’]t\b|[-‐‑]\w)", re.IGNORECASE)
_PUNCTUATION = ".,;:!?…)]}”»%"
# French sets no-break spaces inside « » and before double marks; those are no accidents.
_INVISIBLE = re.compile(
    "(?<!«)\u00a0(?![;:!?»%])|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd]"
)
# Words that never stand twice in a row in well-formed English; "that that" and "had had" do.
_DOUBLED = re.compile(
    r"\b(the|a|an|of|at|with|and|or|but|as|were|are|be|been|these|those|my|our|their|who|which|will|would)\s+\1\b",
    re.IGNORECASE,
)


def check_sizes(design: Design) -> Iterator[Finding]:
    """Few items, no predictions, conditions that no prediction uses, sentences without any text."""
    number = len(design.items)
    if number < FEW_ITEMS:
        message = f"the suite has {number} item{'' if number == 1 else 's'}: pass rates will be coarse"
        yield Finding("few-items", "info", "suite", message, f"{FEW_ITEMS} or more items are usual.")
    if not design.doc.predictions:
        hint = "Add a formula such as (2;%mismatch%) > (2;%match%)."
        yield Finding(
            "no-predictions", "info", "suite", "the suite predicts nothing: there is nothing to score", hint
        )
    elif not design.unreadable:
        used = {condition for _, formula in design.formulas for condition in formula.conditions}
        unused = [condition for condition in design.conditions if condition not in used]
        if unused:
            message = f"no prediction uses {', '.join(unused)}"
            yield Finding(
                "unused-condition", "info", "suite", message, "Fine if it is there for exploration."
            )
    for (item, condition), sentence in design.table.items():
        if not sentence.text:
            where = f"item {item}, condition {condition}"
            yield Finding("empty-sentence", "error", where, "the sentence has no text at all", "Fill it in.")


def check_blanks(design: Design) -> Iterator[Finding]:
    """Blanks that the import trimmed: harmless, but other tools refuse such files."""
    kinds: dict[str, list[Cell]] = defaultdict(list)
    for sentence in design.doc.sentences:
        for number, raw in enumerate(sentence.raw or (), start=1):
            cell = (sentence.item, sentence.condition, number)
            if raw[:1] and raw[0] in BLANKS:
                kinds["leading"].append(cell)
            if raw[:1] and raw[-1] in BLANKS:
                kinds["trailing"].append(cell)
            if _INNER.search(raw.strip(BLANKS)):
                kinds["inner"].append(cell)
    for kind, cells in kinds.items():
        what = "repeated blanks, a tab or a line break inside" if kind == "inner" else f"a {kind} blank"
        effect = "scoring reads one blank" if kind == "inner" else "scoring ignores it"
        message = f"{len(cells)} region{'' if len(cells) == 1 else 's'} with {what}; {effect}"
        hint = "Export with trimmed whitespace: some tools refuse files with such blanks."
        yield Finding(f"{kind}-space", "info", _regions_of(design, cells), message, hint, tuple(cells))


def _regions_of(design: Design, cells: list[Cell]) -> str:
    numbers = sorted({number for _, _, number in cells})
    return ", ".join(design.region(number) for number in numbers)


def check_joins(design: Design) -> Iterator[Finding]:
    """Region borders at which a blank is not natural: clitics, hyphens, punctuation, Chinese and the like."""
    clitics: dict[int, list[Cell]] = defaultdict(list)
    marks: dict[int, list[Cell]] = defaultdict(list)
    unspaced: list[Cell] = []
    for sentence in design.doc.sentences:
        before = ""
        for number, content in enumerate(sentence.contents, start=1):
            cell = (sentence.item, sentence.condition, number)
            if content and before:
                if _CLITIC.match(content):
                    clitics[number].append(cell)
                elif content[0] in _PUNCTUATION:
                    marks[number].append(cell)
                elif _is_unspaced(before[-1]) and _is_unspaced(content[0]):
                    unspaced.append(cell)
            before = content or before
    total = len(design.doc.sentences)
    for number, cells in clitics.items():
        example = design.table[cells[0][:2]].contents[number - 1]
        message = (
            f"begins with a clitic or hyphen in {len(cells)} of {total} sentences, such as {quoted(example)}"
        )
        hint = (
            "With the join policy “space” models read it as a word of its own; join it to the region before."
        )
        yield Finding("straddle-risk", "warning", design.region(number), message, hint, tuple(cells))
    for number, cells in marks.items():
        example = design.table[cells[0][:2]].contents[number - 1]
        message = (
            f"begins with punctuation in {len(cells)} of {total} sentences, such as {quoted(example, 30)}"
        )
        found = dict.fromkeys(design.table[cell[:2]].contents[number - 1][0] for cell in cells)
        natural = all(mark in ATTACHED for mark in found)
        spelled = " or ".join(f"“ {mark}”" for mark in found)
        remedy = "“natural” leaves the blank out" if natural else "join it to the region before"
        hint = f"With the join policy “space” models read {spelled}; {remedy}."
        yield Finding("straddle-risk", "info", design.region(number), message, hint, tuple(cells))
    if unspaced:
        number = len({cell[:2] for cell in unspaced})
        message = f"{number} of {total} sentences are in a script without blanks between words"
        hint = "Use the join policy “none”; “space” would put blanks between the regions."
        yield Finding("straddle-risk", "warning", "suite", message, hint, tuple(unspaced))


def _is_unspaced(character: str) -> bool:
    """Chinese characters, kana, Thai, Lao, Khmer, Burmese: written without blanks between words."""
    name = unicodedata.name(character, "")
    return name.startswith(
        ("CJK UNIFIED", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "IDEOGRAPHIC")
    )


def check_characters(design: Design) -> Iterator[Finding]:
    """Characters that cannot be seen but that tokenizers see, and text that is not NFC."""
    invisible: dict[str, list[Cell]] = defaultdict(list)
    decomposed: list[Cell] = []
    for sentence in design.doc.sentences:
        for number, content in enumerate(sentence.contents, start=1):
            if content.isascii():
                continue
            cell = (sentence.item, sentence.condition, number)
            for character in sorted(set(_INVISIBLE.findall(content))):
                invisible[character].append(cell)
            if not unicodedata.is_normalized("NFC", content):
                decomposed.append(cell)
    for character, cells in invisible.items():
        name = unicodedata.name(character, "unnamed").lower()
        message = f"contains U+{ord(character):04X} ({name}), which cannot be seen, in {len(cells)} regions"
        hint = "Write an ordinary blank, unless it is meant." if character == "\u00a0" else "Remove it."
        yield Finding("invisible-character", "warning", _place(cells), message, hint, tuple(cells))
    if decomposed:
        message = (
            f"{len(decomposed)} regions are not in Unicode's composed form: the same letters, other tokens"
        )
        hint = "Convert the text to NFC, unless the difference is meant."
        yield Finding("not-nfc", "warning", _place(decomposed), message, hint, tuple(decomposed))


def _place(cells: list[Cell]) -> str:
    item, condition, number = cells[0]
    more = " and others" if len(cells) > 1 else ""
    return f"item {item}, condition {condition}, region {number}{more}"


def check_words(design: Design) -> Iterator[Finding]:
    """Words typed twice; one finding per item and word."""
    found: dict[tuple[int, str], list[str]] = defaultdict(list)
    for sentence in design.doc.sentences:
        doubled = _DOUBLED.search(sentence.text)
        if doubled:
            found[sentence.item, doubled[0].lower()].append(sentence.condition)
    for (item, words), conditions in found.items():
        message = f"{quoted(words)} in {', '.join(conditions)}: a word typed twice"
        yield Finding("doubled-word", "warning", f"item {item}", message, "Remove one of the two.")


def check_repeats(design: Design) -> Iterator[Finding]:
    """Items that are the same as each other in every condition."""
    groups: dict[tuple[tuple[str, ...], ...], list[int]] = defaultdict(list)
    for item in design.items:
        groups[tuple(design.table[item, condition].contents for condition in design.conditions)].append(item)
    for items in groups.values():
        if len(items) > 1:
            message = "the same sentences in every condition"
            hint = "Keep one: repeated items count repeatedly in every rate."
            yield Finding("duplicate-items", "warning", items_phrase(items), message, hint)
