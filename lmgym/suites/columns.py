"""Find columns of a wide sheet that may not be regions: lists, counts, answers and factors next to the text.

A column is doubtful because of its heading, its cells, or its position outside the sentence in the other columns.
The user decides about it. Text that is constant within an item or condition is not doubtful in itself: openings and
complementizers of most published suites are constant.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import TypeAlias

from lmgym.suites.headings import normal
from lmgym.text import is_unspaced

Cells: TypeAlias = Sequence[str]

HEADING = "its heading suggests metadata"
NUMBERS = "numbers"
CODES = "codes or file names"
VERDICTS = "yes or no"
REPEATS = "repeats the other columns"
BEFORE = "text before the sentence begins"
AFTER = "text after the sentence has ended"
TWIN = "often the same text as the column before"
LABEL = "a label of the item or condition"
NO_TEXT = "no text"
SIGNS = frozenset({
    "∅", "Ø", "ø", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "_", "-", "--", "---", "–", "—",
    "(empty)", "(none)", "[empty]", "[none]",
})  # fmt: skip
"""Cells that mean that there is no text. Words such as “None” and “na” are text."""

_HEADINGS = re.compile(
    r"lists?|groups?|latin_?square.*|counterbalanc.*|.*questions?|.*answers?|correct(_.*)?|responses?|key|"
    r"wav.*|.*audio.*|sound.*|image.*|picture.*|video.*|.*file(_?name)?|path|url|"
    r"participants?(_.*)?|subject_?(id|no|nr|number)|ppt|trials?(_.*)?|order|block.*|session.*|"
    r"n_?(words?|chars?|characters?|letters?|tokens?|syllables?)|(num|number_of)_.*|words?_?count|counts?|len|length.*|"
    r".*_length|freq.*|.*_freq(uency)?|log_.*|logfreq.*|.*position.*|.*_?idx|index|.*_index|id|uid|.*_id|row|"
    r"randomi[sz]e_.*|display|show_?progress.*|"
    r"notes?|comments?|remarks?|source|references?|author|date|gloss(es)?|translations?|lemma|pos|pos_?tags?|"
    r"ratings?|scores?|judge?ments?|acceptab(le|ility)|grammatical(ity)?|plausib(le|ility)|ambigu(ity|ous)|"
    r"factors?|factor_.*|levels?|.*_(type|condition|level)|voice|tense|gender|animacy|aspect|mood|polarity|definiteness|"
    r"transitivity|structure|construction|complexity|(in)?congruen(t|ce|cy)|manipulation|"
    r"surprisals?|entropy|rts?|.*_rt|phenomenon|paradigm|domain|pair(_.*)?|"
    r"liste|gruppe|.*frage|.*antwort|datei(name)?|notiz(en)?|anmerkung(en)?|kommentar(e)?|quelle|länge|häufigkeit",
)
_FACTOR = re.compile(r"number|type|variant|version|person|case|match|agreement|attractor")
"""Headings of factors that also occur as headings of regions."""
_ALTERNATIVE = re.compile(r"(.*_)?(un)?(expected|target|response|completion|cloze|best|word|form)(_.*)?")
"""Headings of words that complete a sentence."""
_SENTENCE = re.compile(r"(full_|whole_)?(sentences?|stimul(us|i)|satz|sätze)")
_NUMBER = re.compile(r"[-+−]?(\d[\d.,]*|[.,]\d+)(e[-+]?\d+)?\s*%?|n/?a|nan", re.IGNORECASE)
_CODE = re.compile(
    r"[B-HJ-Z]|(?=\S*\d)(?=\S*[^\W\d_])[\w./\\-]+|[\w./\\-]*[^\W_]_[\w./\\-]+|"
    r"\S+\.(wav|mp3|ogg|flac|m4a|png|jpe?g|gif|svg|mp4|txt|csv)"
)
_VERDICT = re.compile(r"yes|no|true|false|correct|incorrect|ja|nein|oui|non|wahr|falsch", re.IGNORECASE)
_ABBREVIATION = re.compile(
    r"(?:\A|[\s(“\"])(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|e\.g|i\.e|no|[A-Z])\.\Z", re.IGNORECASE
)
_LONGEST_END = 12
"""Number of last characters that are searched for an abbreviation."""
_LONGEST_CODE = 60
"""Maximum length of a cell that is matched as a code: the pattern takes quadratic time."""
_CLOSING = "\"'”’»)] "
_SHORTEST_SENTENCE = 3
"""Minimum number of words of a whole sentence."""
_COMPARED = 200
"""Number of rows compared to find a column that repeats the others."""


def ends_sentence(text: str) -> bool:
    """Return whether text ends with a full stop, ?, ! or …, ignoring closing quotation marks and brackets."""
    return text.rstrip(_CLOSING).endswith((".", "!", "?", "…", "。", "！", "？"))


def closes_sentence(text: str) -> bool:
    """Return whether following text would begin a new sentence: like `ends_sentence`, but without ellipses and
    abbreviations such as “Mr.”."""
    bare = text.rstrip(_CLOSING)
    return (
        ends_sentence(text)
        and not bare.endswith(("…", ".."))
        and not _ABBREVIATION.search(bare[-_LONGEST_END:])
    )


def metadata_heading(name: str) -> bool:
    """Return whether a heading usually names data about sentences, not text."""
    return bool(_HEADINGS.fullmatch(normal(name)))


def is_measure(cells: Cells) -> bool:
    """Return whether cells are not sentences: at least half are numbers, or all are verdicts such as yes and no."""
    filled = [cell for cell in cells if cell]
    return _most(filled, is_number) or (bool(filled) and all(_VERDICT.fullmatch(cell) for cell in filled))


def is_number(text: str) -> bool:
    """Return whether a cell is a number or NA."""
    return bool(_NUMBER.fullmatch(text.strip()))


def doubts(
    names: Sequence[str],
    columns: Sequence[Cells],
    items: Cells,
    conditions: Cells,
    sure: Collection[str] = (),
) -> dict[int, str]:
    """Find columns that may not be regions.

    Args:
        names: headings of the columns that are neither item, condition nor item data, as written.
        columns: trimmed cells of these columns.
        items, conditions: item and condition of each row.
        sure: headings that are known to be regions.

    Returns:
        Map of column index in `names` to the reason in words, in column order.
    """
    written, columns = columns, [["" if cell in SIGNS else cell for cell in cells] for cells in columns]
    doubted = {
        k: reason
        for k, name in enumerate(names)
        if name not in sure and (reason := _column_reason(name, columns[k], is_alone=len(names) == 1))
    }
    doubted |= {
        k: NO_TEXT
        for k, name in enumerate(names)
        if name not in sure and any(written[k]) and not any(columns[k])
    }
    text = [k for k in range(len(names)) if k not in doubted]
    doubted |= {k: TWIN for k in _twins(names, columns, text) if names[k] not in sure}
    text = [k for k in text if k not in doubted]
    doubted |= _outside(names, columns, text, sure)
    while (
        label := _label(names, columns, [k for k in text if k not in doubted], items, conditions)
    ) is not None:
        if names[label] in sure:
            break
        doubted[label] = LABEL
    return dict(sorted(doubted.items()))


def _column_reason(name: str, cells: Cells, *, is_alone: bool) -> str:
    """Return the reason to doubt a column regardless of the others, or ""."""
    filled = [cell for cell in cells if cell]
    if not filled:
        return ""
    if _most(filled, is_number):
        return NUMBERS
    if _most(filled, _is_code):
        return CODES
    if is_alone:
        return ""
    if metadata_heading(name):
        return HEADING
    is_verdict = len(set(filled)) > 1 and all(_VERDICT.fullmatch(cell) for cell in filled)
    return VERDICTS if is_verdict else ""


def _is_code(cell: str) -> bool:
    return len(cell) <= _LONGEST_CODE and bool(_CODE.fullmatch(cell))


def _outside(
    names: Sequence[str], columns: Sequence[Cells], text: list[int], sure: Collection[str]
) -> dict[int, str]:
    """Find columns that repeat the sentence, precede its beginning or follow its end."""
    reasons: dict[int, str] = {}
    if (repeated := _repeated(columns, text)) is not None:
        reasons[repeated] = REPEATS
        text = [k for k in text if k != repeated]
    whole = [k for k in text if is_whole(columns[k])]
    headed = [k for k in whole if _SENTENCE.fullmatch(normal(names[k]))]
    opening = next((k for k in text if _begins(columns[k])), None)
    if headed or (whole and whole[0] == opening):
        body = (headed or whole)[0]
        reasons |= {k: BEFORE if k < body else AFTER for k in text if k != body}
    else:
        reasons |= dict.fromkeys(_after_end(columns, text), AFTER)
        rest = [k for k in text if k not in reasons]
        if opening is not None and opening in rest and any(_most(columns[k], closes_sentence) for k in rest):
            reasons |= {k: BEFORE for k in rest if k < opening}
    return {k: reason for k, reason in reasons.items() if names[k] not in sure}


def _twins(names: Sequence[str], columns: Sequence[Cells], text: list[int]) -> list[int]:
    """List text columns with the same text as the one before in at least a quarter of the rows, if headings say that
    they are alternatives: the expected and the target word."""
    twins = []
    for one, other in pairwise(text):
        if not (_ALTERNATIVE.fullmatch(normal(names[one])) and _ALTERNATIVE.fullmatch(normal(names[other]))):
            continue
        rows = list(zip(columns[one], columns[other], strict=True))[:_COMPARED]
        if 4 * sum(a == b != "" for a, b in rows) >= len(rows) > 0:
            twins.append(other)
    return twins


def _repeated(columns: Sequence[Cells], text: list[int]) -> int | None:
    """Find a text column that repeats the concatenated text of all others in at least half of the rows."""
    if len(text) < 2:
        return None
    rows = [[_letters(columns[k][row]) for k in text] for row in range(min(_COMPARED, len(columns[text[0]])))]
    lengths = [sum(map(len, row)) for row in rows]
    for place in reversed(range(len(text))):
        same = sum(
            2 * len(row[place]) == length > 0 and row[place] == "".join(row[:place] + row[place + 1 :])
            for row, length in zip(rows, lengths, strict=True)
        )
        if rows and 2 * same >= len(rows):
            return text[place]
    return None


def _after_end(columns: Sequence[Cells], text: list[int]) -> list[int]:
    """List columns at least half of whose filled cells follow a cell that ended the sentence."""
    ended = [False] * (len(columns[text[0]]) if text else 0)
    late = []
    for k in text:
        filled = [row for row, cell in enumerate(columns[k]) if any(map(str.isalnum, cell))]
        if filled and 2 * sum(ended[row] for row in filled) >= len(filled):
            late.append(k)
            continue
        for row in range(len(ended)):
            ended[row] = ended[row] or closes_sentence(columns[k][row])
    return late


def _label(
    names: Sequence[str], columns: Sequence[Cells], text: list[int], items: Cells, conditions: Cells
) -> int | None:
    """Find a column at either edge of the text whose words label items or conditions: factors, plausibility, groups."""
    if len(text) < 2:
        return None
    for k, neighbour in ((text[0], text[1]), (text[-1], text[-2])):
        cells = columns[k]
        if not all(cells) or any(" " in cell for cell in cells):
            continue
        by_condition = _is_constant(cells, conditions)
        is_factor = _FACTOR.fullmatch(normal(names[k])) or all(map(_is_part, cells, conditions))
        if by_condition and is_factor:
            return k
        lower = not any(cell[:1].isupper() for cell in cells)
        fixed = by_condition or _is_constant(cells, items)
        if k == text[0] and fixed and lower and _begins(columns[neighbour]):
            return k
    return None


def _is_constant(cells: Cells, groups: Cells) -> bool:
    """Return whether cells are constant within each group of rows; needs several groups of several rows."""
    texts: dict[str, list[str]] = defaultdict(list)
    for cell, group in zip(cells, groups, strict=True):
        texts[group].append(cell)
    return len(texts) > 1 and all(len(group) > 1 and len(set(group)) == 1 for group in texts.values())


def _is_part(label: str, condition: str) -> bool:
    """Return whether a label is part of a condition's name: “plural” of plur_match, “amb” of ambiguous."""
    word = label.casefold()
    parts = [part for part in re.split(r"[\W_]+", condition.casefold()) if len(part) >= 3]
    return len(word) >= 3 and any(part.startswith(word) or word.startswith(part) for part in parts)


def is_whole(cells: Cells) -> bool:
    """Return whether at least half of the filled cells are whole sentences, from a capital letter to a full stop."""

    def is_sentence(cell: str) -> bool:
        if is_unspaced(cell[:1]):
            return ends_sentence(cell) and len(cell) >= 2 * _SHORTEST_SENTENCE
        return cell[:1].isupper() and closes_sentence(cell) and len(cell.split()) >= _SHORTEST_SENTENCE

    return _most([cell for cell in cells if cell], is_sentence)


def _begins(cells: Cells) -> bool:
    """Return whether at least three quarters of the cells begin with a capital letter."""
    return 4 * sum(cell.lstrip("\"'“‘«([¿¡ ")[:1].isupper() for cell in cells) >= 3 * max(1, len(cells))


def _most(cells: Cells, predicate: Callable[[str], bool]) -> bool:
    return bool(cells) and 2 * sum(map(predicate, cells)) >= len(cells)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def in_words(doubted: Sequence[tuple[str, str, str]]) -> str:
    """Format (letter, heading, reason) of at most 12 columns: C “list” (its heading suggests metadata), E “freq”
    (numbers)."""
    shown = [
        f"{letter} “{name[:40]}” ({why})" if name else f"{letter} ({why})"
        for letter, name, why in doubted[:12]
    ]
    more = f" and {len(doubted) - 12} more" if len(doubted) > 12 else ""
    return f"{', '.join(shown)}{more}"
