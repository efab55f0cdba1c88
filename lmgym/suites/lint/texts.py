"""Checks of the text: spaces, joins between regions, unusual characters, doubled words and repeated items;
and checks of wording: articles, agreement after “who”, words that differ where other items share one,
tokenised text.

Findings about wording are only informational. Except for tokenised text, each is suppressed if many items have it,
because it is then part of the design. Checks of English are skipped in other languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from operator import ne

from lmgym.suites.columns import closes_sentence, is_number
from lmgym.suites.formats.documents import SentenceDoc
from lmgym.suites.regions import ATTACHED
from lmgym.text import BLANKS, count, is_unspaced

from .findings import Cell, Design, Finding, items_phrase, quoted
from .patterns import MAJORITY, MIN_ITEMS

FEW_ITEMS = 10
_INNER = re.compile(f"[{BLANKS}]{{2}}|[{BLANKS[1:]}]")
_CLITIC = re.compile(r"(?:['’ʼ](?:s|re|ve|ll|d|m|t)\b|n['’]t\b|[-‐‑]\w)", re.IGNORECASE)
# "whistles. Does", but not "J. Smith" and "e.g. Smith".
_INNER_END = re.compile(r"""([^\W\d_]{2}[.?!]["'”’»)]*)\s+["'“‘«(]*([^\W\d_])""")
_LONGEST_END = 20
"""Characters before a full stop that are searched for an abbreviation."""
_PUNCTUATION = ".,;:!?…)]}”»%"
# French puts no-break spaces inside « » and before double marks.
_INVISIBLE = re.compile(
    "(?<!«)\u00a0(?![;:!?»%])|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd]"
)
# Special tokens of BERT, RoBERTa, T5, Llama, GPT-2, ChatML, Llama 3, Gemma, Mistral and DeepSeek.
_SPECIAL = re.compile(
    r"</?s>|<(?:pad|unk|mask|bos|eos|cls|sep|start_of_turn|end_of_turn|extra_id_\d+)>|\[(?:CLS|SEP|PAD|UNK|MASK|BOS|EOS)\]"
    r"|\[/?INST\]|<</?SYS>>|<\|[^\s<>|]{1,40}\|>|<｜[^\s<>｜]{1,40}｜>"
)
# "near the ladders/whistles", "every_morning"; not "1/2".
_PART_MARK = re.compile(r"[^\W\d_]\W?\s*([/|])\s*\W?[^\W\d_]|[^\W\d_](_)[^\W\d_]")
# Words that never occur twice in a row in well-formed English; "that that" and "had had" do.
_DOUBLED = re.compile(
    r"\b(the|a|an|of|at|with|and|or|but|as|were|are|be|been|these|those|my|our|their|who|which|will|would)\s+\1\b",
    re.IGNORECASE,
)


def check_sizes(design: Design) -> Iterator[Finding]:
    """Report few items, missing predictions, unused conditions and sentences without text."""
    number = len(design.items)
    if number < FEW_ITEMS:
        items = "1 item" if number == 1 else f"{number} items"
        message = f"the suite has {items}: pass rates are coarse" if number else "the suite has no items"
        yield Finding("few-items", "info", "suite", message, f"{FEW_ITEMS} or more items are usual.")
    if not design.doc.predictions:
        hint = "Add a formula such as (2;%mismatch%) > (2;%match%)."
        yield Finding("no-predictions", "info", "suite", "the suite has no predictions yet", hint)
    elif not design.unreadable:
        used = {condition for _, formula in design.formulas for condition in formula.conditions}
        unused = [condition for condition in design.conditions if condition not in used]
        if unused:
            message = f"no prediction uses {', '.join(unused)}"
            yield Finding(
                "unused-condition",
                "info",
                "suite",
                message,
                "Ignore this for conditions that are only for exploration.",
            )
    for (item, condition), sentence in design.table.items():
        if not sentence.text:
            where = f"item {item}, condition {condition}"
            yield Finding("empty-sentence", "error", where, "the sentence has no text at all", "Fill it in.")


def check_blanks(design: Design) -> Iterator[Finding]:
    """Report spaces that the import trimmed: harmless, but other tools refuse such files."""
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
        what = "repeated spaces, a tab or a line break inside" if kind == "inner" else f"a {kind} space"
        effect = "scoring reads one space" if kind == "inner" else "scoring ignores it"
        message = f"{len(cells)} region{'' if len(cells) == 1 else 's'} with {what}; {effect}"
        hint = "Export with trimmed whitespace: some tools refuse files with such spaces."
        yield Finding(f"{kind}-space", "info", _regions_of(design, cells), message, hint, tuple(cells))


def _regions_of(design: Design, cells: list[Cell]) -> str:
    numbers = sorted({number for _, _, number in cells})
    return ", ".join(design.region(number) for number in numbers)


def check_joins(design: Design, join: str) -> Iterator[Finding]:
    """Report region borders where the join policy adds an unnatural space: before clitics, hyphens and punctuation, and
    in scripts such as Chinese."""
    if join == "none":
        return
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
                    if join == "space" or content[0] not in ATTACHED:
                        marks[number].append(cell)
                elif is_unspaced(before[-1]) and is_unspaced(content[0]):
                    unspaced.append(cell)
            before = content or before
    total = len(design.doc.sentences)
    for number, cells in clitics.items():
        example = design.table[cells[0][:2]].contents[number - 1]
        message = (
            f"begins with a clitic or hyphen in {len(cells)} of {total} sentences, such as {quoted(example)}"
        )
        hint = (
            f"With the join policy “{join}” models read a separate word; attach it to the preceding region."
        )
        yield Finding("straddle-risk", "warning", design.region(number), message, hint, tuple(cells))
    for number, cells in marks.items():
        example = design.table[cells[0][:2]].contents[number - 1]
        message = (
            f"begins with punctuation in {len(cells)} of {total} sentences, such as {quoted(example, 30)}"
        )
        found_marks = dict.fromkeys(design.table[cell[:2]].contents[number - 1][0] for cell in cells)
        natural = all(mark in ATTACHED for mark in found_marks)
        spelled = " or ".join(f"“ {mark}”" for mark in found_marks)
        remedy = "“natural” adds no space" if natural else "attach it to the preceding region"
        hint = f"With the join policy “{join}” models read {spelled}; {remedy}."
        yield Finding("straddle-risk", "info", design.region(number), message, hint, tuple(cells))
    if unspaced:
        number = len({cell[:2] for cell in unspaced})
        message = f"sentences in a script without spaces between words: {number} of {total}"
        hint = f"Use the join policy “none”; “{join}” puts spaces between the regions."
        yield Finding("straddle-risk", "warning", "suite", message, hint, tuple(unspaced))


def check_special_tokens(design: Design) -> Iterator[Finding]:
    """Report spellings of special tokens such as start and end tokens.

    Most tokenizers convert them to the token wherever they occur: the model reads an end of the text there, and the
    surprisal of the token counts in the region.
    """
    cells_of: dict[str, list[Cell]] = defaultdict(list)
    for sentence in design.doc.sentences:
        for number, content in enumerate(sentence.contents, start=1):
            for token in dict.fromkeys(_SPECIAL.findall(content)):
                cells_of[token].append((sentence.item, sentence.condition, number))
    for token, cells in cells_of.items():
        items = sorted({item for item, _, _ in cells})
        times = "1 region" if len(cells) == 1 else f"{len(cells)} regions"
        message = f"{quoted(token, 40)} in {times} is a special token for some models, not text"
        hint = "Delete it: start and end tokens are added when sentences are scored (policies bos and eos)."
        yield Finding("special-token", "warning", items_phrase(items), message, hint, tuple(cells))


def check_characters(design: Design) -> Iterator[Finding]:
    """Report invisible characters, which tokenizers do see, and text that is not NFC."""
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
        message = f"contains the invisible character U+{ord(character):04X} ({name}) in {count(len(cells), 'region')}"
        hint = "Write an ordinary space, unless it is intended." if character == "\u00a0" else "Remove it."
        yield Finding("invisible-character", "warning", _place(cells), message, hint, tuple(cells))
    if decomposed:
        regions = count(len(decomposed), "region")
        message = f"text not in Unicode's composed form in {regions}: tokens differ for the same letters"
        hint = "Convert the text to NFC, unless the difference is intended."
        yield Finding("not-nfc", "warning", _place(decomposed), message, hint, tuple(decomposed))


def _place(cells: list[Cell]) -> str:
    item, condition, number = cells[0]
    more = " and others" if len(cells) > 1 else ""
    return f"item {item}, condition {condition}, region {number}{more}"


def check_strays(design: Design) -> Iterator[Finding]:
    """Report notes of a sheet imported as text: regions of numbers, text after the end of a sentence, and separators
    used by reading-experiment software."""
    for number in range(1, len(design.doc.region_names) + 1):
        column = [(s.item, s.condition, number, s.contents[number - 1]) for s in design.doc.sentences]
        cells = tuple((item, condition, k) for item, condition, k, text in column if is_number(text))
        if cells and 2 * len(cells) > len(column):
            message = f"a number in {len(cells)} of {len(column)} sentences"
            hint = (
                "Delete the region if it is a count or a list number: models read it as part of the sentence."
            )
            yield Finding("number-region", "warning", design.region(number), message, hint, cells)
        yield from _part_marks(design, column)
    late = [cell for sentence in design.doc.sentences if (cell := _after_end(sentence))]
    if late:
        item, condition, number = late[0]
        example = quoted(design.table[item, condition].contents[number - 1])
        total = len(design.doc.sentences)
        message = f"text after the end of a sentence in {len(late)} of {total} sentences, such as {example}"
        hint = (
            "Delete what is not part of the sentence, such as questions and answers, unless it is intended."
        )
        yield Finding("text-after-end", "warning", _regions_of(design, late), message, hint, tuple(late))


def _part_marks(design: Design, column: list[tuple[int, str, int, str]]) -> Iterator[Finding]:
    """Report a region with a slash, bar or underscore between words in more than half of its texts.

    An occasional “and/or” is ordinary text.
    """
    marked = [
        ((item, condition, number), mark[1] or mark[2], text)
        for item, condition, number, text in column
        if (mark := _PART_MARK.search(_SPECIAL.sub(" ", text)))
    ]
    filled = sum(bool(text) for *_, text in column)
    if 2 * len(marked) <= filled:
        return
    cells = tuple(cell for cell, _, _ in marked)
    marks = dict.fromkeys(mark for _, mark, _ in marked)
    spelled = " or ".join(f"“{mark}”" for mark in marks)
    message = (
        f"{spelled} between words in {len(marked)} of {filled} sentences, such as {quoted(marked[0][2])}"
    )
    remedies = dict.fromkeys(
        "replace “_” with a space" if mark == "_" else "make each part a separate region" for mark in marks
    )
    hint = f"Models read the mark as text: {' and '.join(remedies)}, unless it is intended."
    yield Finding("slash-in-text", "warning", design.region(cells[0][2]), message, hint, cells)


def _after_end(sentence: SentenceDoc) -> Cell | None:
    """Return the first region with text after a full stop, ? or !."""
    ended = False
    for number, content in enumerate(sentence.contents, start=1):
        inside = any(
            not end[2].islower() and closes_sentence(content[max(0, end.end(1) - _LONGEST_END) : end.end(1)])
            for end in _INNER_END.finditer(content)
        )
        if inside or (ended and any(map(str.isalnum, content))):
            return sentence.item, sentence.condition, number
        ended = ended or closes_sentence(content)
    return None


def check_words(design: Design) -> Iterator[Finding]:
    """Report words typed twice, one finding per item and word."""
    conditions_of: dict[tuple[int, str], list[str]] = defaultdict(list)
    for sentence in design.doc.sentences:
        doubled = _DOUBLED.search(sentence.text)
        if doubled:
            conditions_of[sentence.item, doubled[0].lower()].append(sentence.condition)
    for (item, words), conditions in conditions_of.items():
        message = f"{quoted(words)} in {', '.join(conditions)}: a word typed twice"
        yield Finding("doubled-word", "warning", f"item {item}", message, "Remove one of the two.")


def check_repeats(design: Design) -> Iterator[Finding]:
    """Report duplicate items: items whose regions equal those of another item in every condition."""
    groups: dict[tuple[tuple[str, ...], ...], list[int]] = defaultdict(list)
    for item in design.items:
        groups[tuple(design.table[item, condition].contents for condition in design.conditions)].append(item)
    for items in groups.values():
        if len(items) > 1:
            message = "the same sentences in every condition"
            hint = "Keep one item: every rate counts duplicates several times."
            yield Finding("duplicate-items", "warning", items_phrase(items), message, hint)


# ---- wording ----

# English words that do not occur in other languages with articles or verbs spelled "a" or "an".
_ENGLISH = re.compile(r"\b(?:the|of|and|with|were|that|who|which|what|this|they)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(a|an) ([a-z][a-z'’-]+)", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiou]")
# Spelled with a vowel, spoken with a consonant: a union, a user, a European, a one-off, a ukulele.
_GLIDE = re.compile(
    r"(?:eu|ew|unan|uni(?!n|m[^o])|us[aeu]|ut[eio]|ur[aeio]|uk|ub[aio]|ufo|one\b|once\b|ouija)"
)
# Nouns that agree in either number, or whose ending does not show it.
_EITHER = re.compile(
    r"crew|staff|team|family|couple|pair|crowd|committee|public|youth|majority|minority|rest|police|clergy|elite|group|"
    r"number|lot|few|many|most|all|some|others|both|cattle|data|media|audience|press|board|council|government|cast|"
    r"band|squad|party|company|union|gang|class|community|panel|royalty|nobility|choir|troop|sheep|fish|deer|aircraft|"
    r"rich|poor|young|old|elderly|dead|living|blind|deaf|sick|wounded|injured|unemployed|homeless|accused|"
    r"gas|lens|canvas|atlas|alias|bias|chaos|news|series|species|means|"
    r"you|they|we|those|these|them|us|him|her|it|one|\w*(?:ese|sh|ch|ss|us|is|cs|[ai])"
)
_PLURAL = re.compile(r"\w*(?:men|people|children|folk|mice|lice|geese|feet|teeth|oxen|s)")
_DETERMINER = re.compile(r"the|an?|this|that|every|each|my|your|his|her|our|their|its", re.IGNORECASE)
# A noun after one of these need not be the antecedent of "who": "the doctors at the hospital who were".
_INSIDE = re.compile(
    r"of|in|on|at|to|with|by|near|beside|behind|from|for|about|and|or|nor|than|like|under|over|between|among|besides|"
    r"as|plus|against|before|after|above|below|inside|outside|without|within|around|through|towards",
    re.IGNORECASE,
)
_SUBORDINATING = re.compile(r"as|after|before|since|until|for", re.IGNORECASE)
_MOST_CONDITIONS = 12
_RELATIVE = re.compile(r"\b(?:who|that|which) (?:was|were|is|are|has|have)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w'’-]+|[^\w\s]")


def check_wording(design: Design) -> Iterator[Finding]:
    """Run all checks of wording."""
    texts = [sentence.text for sentence in design.table.values()]
    english = 2 * sum(bool(_ENGLISH.search(text)) for text in texts) >= len(texts)
    if english:
        what = "“an” precedes a vowel sound, “a” a consonant sound"
        hint = "Change the article, unless it is intended."
        yield from _slips(design, "a-or-an", _wrong_article, what, hint)
        what, hint = "noun and verb disagree in number", "Make them agree, unless it is intended."
        yield from _slips(design, "relative-agreement", _wrong_number, what, hint)
    yield from _odd_words(design)
    yield from _tokenised(design, ".,;:!?" if english else ".,")


def _slips(design: Design, code: str, find: Callable[[str], str], what: str, hint: str) -> Iterator[Finding]:
    """Report mistakes that `find` locates, unless more than a quarter of the items have one in the same condition."""
    by_condition: dict[str, dict[int, str]] = defaultdict(dict)
    for (item, condition), sentence in design.table.items():
        if slip := find(sentence.text):
            by_condition[condition][item] = slip
    n = len(design.items)
    rare = [name for name in by_condition if n >= MIN_ITEMS and n - len(by_condition[name]) >= MAJORITY * n]
    slips: dict[tuple[int, str], list[str]] = defaultdict(list)
    for condition in rare:
        for item, slip in by_condition[condition].items():
            slips[item, slip].append(condition)
    for (item, slip), conditions in sorted(slips.items()):
        message = f"{quoted(slip)} in {', '.join(conditions)}: {what}"
        yield Finding(code, "info", f"item {item}", message, hint)


def _wrong_article(text: str) -> str:
    for match in _ARTICLE.finditer(text):
        article, word = match[1].lower(), match[2]
        if word[0].isupper():  # names and abbreviations: an FBI agent, a UN vote
            continue
        spoken_vowel = bool(_VOWEL.match(word)) and not _GLIDE.match(word)
        if article == "a" and spoken_vowel:
            return match[0]
        if article == "an" and not spoken_vowel and word[0] != "h" and len(word) > 2:
            return match[0]
    return ""


def _wrong_number(text: str) -> str:
    if not _RELATIVE.search(text):
        return ""
    words = _WORD.findall(text)
    for at in range(2, len(words) - 1):
        pronoun, noun, verb = words[at].lower(), words[at - 1], words[at + 1].lower()
        if pronoun not in ("who", "that", "which") or not noun.islower() or _EITHER.fullmatch(noun):
            continue
        if not _is_head(words, at - 1):
            continue
        if not _PLURAL.fullmatch(noun):
            wrong = verb in ("were", "are", "have")
        else:  # "He told the boys that was wrong" is fine
            wrong = pronoun != "that" and verb in ("was", "is", "has")
        if wrong:
            return f"{noun} {words[at]} {verb}"
    return ""


def _is_head(words: Sequence[str], at: int) -> bool:
    """Return whether a following relative pronoun can only refer to this noun: “the (young) nurse who”."""
    begin = next((at - k for k in (1, 2) if at >= k and _DETERMINER.fullmatch(words[at - k])), None)
    if begin is None or not words[at - 1].isalpha() or _INSIDE.fullmatch(words[at - 1]):
        return False
    before = words[begin - 1] if begin else ""
    return not _INSIDE.fullmatch(before) or (begin == 1 and bool(_SUBORDINATING.fullmatch(before)))


def _odd_words(design: Design) -> Iterator[Finding]:
    """Report items in which the texts of two conditions do not begin (or end) with the same word, although
    they do in most items where the texts differ."""
    if len(design.conditions) > _MOST_CONDITIONS:
        return
    for region in range(len(design.doc.region_names)):
        columns = list(zip(*(design.row(item, region) for item in design.items), strict=True))
        edges = [
            (verb, [[cell.lower().split(" ")[place] for cell in column] for column in columns])
            for verb, place in (("begin", 0), ("end", -1))
        ]
        seen: set[int] = set()
        for one, other in combinations(range(len(columns)), 2):
            differing = sum(map(ne, columns[one], columns[other]))
            for verb, words in edges:
                odd = sum(map(ne, words[one], words[other]))
                if not odd or differing < MIN_ITEMS or differing - odd < MAJORITY * differing:
                    continue
                for place, item in enumerate(design.items):
                    texts = columns[one][place], columns[other][place]
                    if words[one][place] != words[other][place] and all(texts) and item not in seen:
                        seen.add(item)
                        yield _odd_word(design, item, region, (one, other), verb)


def _odd_word(design: Design, item: int, region: int, pair: tuple[int, int], verb: str) -> Finding:
    names = [design.conditions[k] for k in pair]
    spelled = " but ".join(f"{quoted(design.table[item, name].contents[region])} in {name}" for name in names)
    message = f"{spelled}; in most other items both {verb} with the same word"
    hint = "Make all items alike, unless the difference is intended."
    where = f"item {item}, {design.region(region + 1)}"
    return Finding(
        "odd-word", "info", where, message, hint, tuple((item, name, region + 1) for name in names)
    )


def _tokenised(design: Design, marks: str) -> Iterator[Finding]:
    """Report spaces before punctuation and clitics inside a region, as in tokenised corpora."""
    cut = re.compile(
        rf"[^\s{marks}]+ (?:[{marks}](?=[\s\"”’)]|\Z)|['’](?:s|re|ve|ll|d|m)\b|n['’]t\b)", re.IGNORECASE
    )
    by_region: dict[int, list[tuple[Cell, str]]] = defaultdict(list)
    for sentence in design.doc.sentences:
        for number, content in enumerate(sentence.contents, start=1):
            if match := cut.search(content):
                by_region[number].append(((sentence.item, sentence.condition, number), match[0]))
    total = len(design.doc.sentences)
    for number, cases in by_region.items():
        message = f"{quoted(cases[0][1])} in {len(cases)} of {total} sentences: the text looks tokenised"
        hint = "Models read “word .” as different tokens from “word.”: write ordinary text."
        yield Finding(
            "pre-tokenised", "info", design.region(number), message, hint, tuple(cell for cell, _ in cases)
        )
