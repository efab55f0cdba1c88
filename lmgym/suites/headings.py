"""Words in headings: names of the item and condition columns in several languages, and headings of minimal pairs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_NAMES = {
    "item": "item items item_number item_no item_nr item_id itemnumber item_#",
    "condition": "condition conditions condition_name condition_id conditionname cond cond_name cond_id cond_no",
    "region": "region_number region_no region_nr region_id regionnumber region_# position word_number word_no word_nr "
    "wordnumber",
    "name": "region_name regionname region",
    "content": "content contents text region_content words word string",
}
_TRANSLATED = {
    "item": "itemnummer satznummer ítem elemento élément numéro_item 項目 項目番号 アイテム 刺激番号 项目 项目编号 "
    "項目編號 题号 句子编号 항목 문항 문항번호 элемент айтем номер_стимула номер_предложения البند العنصر رقم_البند "
    "رقم_الجملة madde madde_no öğe osio kohta pozycja položka tétel στοιχείο פריט مورد елемент",
    "condition": "bedingung kondition condición condizione condição condicao conditie betingelse villkor 条件 条件名 "
    "條件 조건 условие الشرط الحالة koşul kosul durum ehto tila warunek podmínka feltétel συνθήκη תנאי شرط умова",
}
_WEAK = {
    "item": "no nr number set frame nummer número numéro numero номер 番号 编号 編號 번호 الرقم sıra id pair_id "
    "sentence_id sent_id stimulus_id stim_id",
    "condition": "type variant version",
}
"""Headings of these columns if no heading in `_NAMES` names the column; otherwise headings of regions."""
_IDENTIFIERS = frozenset({"id", "pair_id", "sentence_id", "sent_id", "stimulus_id", "stim_id"})
"""Weak headings of items that may also number the rows: a column whose values never repeat is no item column."""
ROLE_NAMES = tuple(_NAMES)
_ROLES = {
    name: role for group in (_NAMES, _TRANSLATED) for role, names in group.items() for name in names.split()
}

_PAIRS = (
    "good bad",
    "grammatical ungrammatical",
    "acceptable unacceptable",
    "correct incorrect",
    "right wrong",
    "felicitous infelicitous",
    "plausible implausible",
    "possible impossible",
    "sen wrong_sen",
    "source_sentence target_sentence",
)
"""Headings of the good and the bad sentence. `sen`, `wrong_sen` are those of MultiBLiMP, `source_sentence`,
`target_sentence` those of RuBLiMP, whose source is the grammatical one."""
_SENTENCE = ("sentence", "sent", "text", "example")
"""Words that may stand before or after a heading of `_PAIRS`."""


_OPENING = re.compile(r"(sentence_)?(prefix|preamble|context|beginning|opening|stem|lead_?in|left_context)")


def normal(heading: str) -> str:
    """Normalise a heading for comparison: lower case, composed characters, `_` for blanks, hyphens and full stops."""
    text = unicodedata.normalize("NFC", heading).strip().lower()
    return re.sub(r"[\s\-.]+", "_", text).strip("_")


def named_roles(headings: Sequence[str]) -> list[str]:
    """Return the role that each heading names, or "". ItemNo is read like item_no."""
    return [_ROLES.get(normal(heading)) or _ROLES.get(normal(_words(heading)), "") for heading in headings]


def _words(heading: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", heading.strip())


def roles_of(headings: Sequence[str], columns: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return the role that each heading names, or "". A weak name counts only if no other column has the role.

    Args:
        columns: cells of each column; a column called “id” or the like whose values never repeat numbers the rows, not
            the items.
    """
    names = [normal(heading) for heading in headings]
    detected = named_roles(headings)
    for role, others in _WEAK.items():
        if role in detected:
            continue
        for place, name in enumerate(names):
            numbers_rows = name in _IDENTIFIERS and columns and _never_repeats(columns[place])
            if name in others.split() and not numbers_rows:
                detected[place] = role
                break
    return detected


def is_opening(heading: str) -> bool:
    """Return whether a heading usually names the beginning of sentences."""
    return bool(_OPENING.fullmatch(normal(heading)))


def item_of_pairs(headings: Sequence[str], columns: Sequence[Sequence[str]]) -> int | None:
    """Return the item column of a sheet with one row per item, preferably one whose values never repeat; None if no
    heading names one."""
    detected = named_roles(headings)
    places = [k for k, role in enumerate(detected) if role == "item"]
    places += [k for k, heading in enumerate(headings) if normal(heading) in _WEAK["item"].split()]
    return next((k for k in places if _never_repeats(columns[k])), places[0] if places else None)


def _never_repeats(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return len(filled) == len(set(filled)) == len(cells)


def pair_of(headings: Sequence[str]) -> tuple[int, int] | None:
    """Return the columns of the good and the bad sentence if their headings say which is which."""
    names: dict[str, int] = {}
    for place, heading in enumerate(headings):
        names.setdefault(normal(heading), place)
    for good, bad in map(str.split, _PAIRS):
        for spelled_good, spelled_bad in zip(_spellings(good), _spellings(bad), strict=True):
            first, second = names.get(spelled_good), names.get(spelled_bad)
            if first is not None and second is not None:
                return first, second
    return None


def other_of_pair(headings: Sequence[str]) -> tuple[str, str] | None:
    """Return (heading, missing heading) if a sheet has only one sentence of a pair, under a heading such as
    “sentence_good” or “bad_text”."""
    names = {normal(heading): heading for heading in headings}
    for pair in map(str.split, _PAIRS[:4]):
        good, bad = (_spellings(name)[1:] for name in pair)
        for one, other in (*zip(good, bad, strict=True), *zip(bad, good, strict=True)):
            if one in names and other not in names:
                return names[one], other
    return None


def _spellings(name: str) -> list[str]:
    """Return the ways to spell a heading of a pair, the bare one first: good, sentence_good, good_sentence, …"""
    return [name, *(f"{word}_{name}" for word in _SENTENCE), *(f"{name}_{word}" for word in _SENTENCE)]


def condition_name(heading: str, letter: str) -> str:
    """Return the name of the condition whose texts are in a column: its heading without “sentence_”,
    “_text” or the like, or “Column B” if it has none."""
    text = heading.strip()
    for word in _SENTENCE:
        for pattern in (rf"{word}[_\s-]+(?P<name>\S.*)", rf"(?P<name>\S.*?)[_\s-]+{word}"):
            if match := re.fullmatch(pattern, text, re.IGNORECASE):
                return match["name"]
    return text or f"Column {letter}"
