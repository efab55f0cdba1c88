"""Signs that models would read although they are not part of the text: marks of judgements (*, ?, #) and of words
(*word*, _word_, [word]), and HTML markup."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from lmgym.suites.columns import SIGNS
from lmgym.suites.formats.tables import Row, Table
from lmgym.suites.intake.pairs import NO_SENTENCE
from lmgym.suites.intake.parsing import CRITICAL, Choice
from lmgym.suites.intake.reading import Reading
from lmgym.text import BLANKS, count, is_unspaced, quoted, unguard

_MARK = re.compile(rf"[{BLANKS}]*[*?#✗⁇％%]{{1,3}}[{BLANKS}]*(?=[“\"'‘(]?[^\W\d_])")
"""Marks of judgements before a sentence."""
_MARKED = re.compile(
    r"(?<![\w*])(?P<sign>\*{1,2}|_{1,2})(?P<word>[^\s*_](?:[^*_]{0,58}[^\s*_])?)(?P=sign)(?![\w*])|"
    r"\[(?!(?:(?i:sic|mask|blank|gap|pause|laughs?)|[A-Z][A-Z0-9]*)\b)"
    r"(?P<bracketed>[^\W\d_](?:[^\[\]]{0,58}[^\s\[\]])?)\]"
)
"""Words that signs enclose: *sleeps*, **sleeps**, _sleeps_, [sleeps]; not [sic], [MASK] and [NP the dog]."""
_STRAY = re.compile(r"(?<!\S)[*?]{1,3}(?=[“\"'‘(]?[^\W\d_])")
"""Marks of judgements before any word. After a word, stars are footnotes or part of a name."""
_PLACEHOLDER = re.compile(
    r"\$\{?[A-Za-z_]{2,30}\}?|\[[A-Z]{2,20}\]|_{3,}|\{[A-Za-z_]{1,30}\}|"
    r"\([\w ]{1,30}(?:[|/][\w ]{1,30}){1,5}\)"
)
"""Places for words in templates: $NAME, [MASK], ___, {noun}, (a|an)."""
_ALTERNATIVES = re.compile(r"\A[^\W\d_]+(?:[|/][^\W\d_]+)+\Z")
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,9}(?:\s[^<>]{0,200})?/?>|&(?:[a-z]{2,6}|#\d{2,5});")


def remove_signs(table: Table, places: Sequence[int], reading: Reading, *, may_cut: bool = False) -> None:
    """Ask about marks and markup in these columns of text, and remove them if the user says so.

    Args:
        may_cut: the only column of text can be cut into regions at marked words; see `cut_text`.
    """
    if not table.is_long:
        _report_placeholders(table, places, reading)
    _remove_markup(table, places, reading)
    may_cut = may_cut and len(places) == 1 and CRITICAL not in table.roles
    _remove_marks(table, places, reading, may_cut=may_cut)


def _report_placeholders(table: Table, places: Sequence[int], reading: Reading) -> None:
    """Say that texts have alternatives, or placeholders in at least half of the rows."""
    found = [match for row in table.rows if (match := _first_match(_PLACEHOLDER, row, places))]
    alternatives = [match for row in table.rows if (match := _first_match(_ALTERNATIVES, row, places))]
    if alternatives:
        texts = count(len(alternatives), "text")
        reading.say(
            f"{texts} with alternatives, such as “{alternatives[0]}”: models read them as text. Choose a word."
        )
    if found and 2 * len(found) >= len(table.rows):
        reading.say(
            f"{count(len(found), 'sentence')} of {len(table.rows)} with a placeholder, such as “{found[0]}”: models "
            "read it as text. Fill in the words before you run models."
        )


def _first_match(pattern: re.Pattern[str], row: Row, places: Sequence[int]) -> str:
    return next((match[0] for k in places if (match := pattern.search(row.cells[k]))), "")


def _remove_markup(table: Table, places: Sequence[int], reading: Reading) -> None:
    """Ask about HTML and other tags in these columns, and remove them if the user says so."""
    marked = [(row, k) for row in table.rows for k in places if _TAG.search(row.cells[k])]
    if not marked:
        return
    row, place = marked[0]
    texts = count(len(marked), "text")
    tag = _TAG.search(row.cells[place])
    example = quoted(tag[0] if tag else "")
    choice = Choice(
        "markup",
        f"HTML or other tags in {texts}, such as {example}",
        [
            ("remove", "Remove tags, and replace &nbsp; and the like with their characters"),
            ("keep", "Keep it as text"),
        ],
        "remove",
    )
    message = f"{texts} {'has' if len(marked) == 1 else 'have'} HTML or other tags, such as {example}"
    if (
        reading.choose(choice, f"row {row.line}", message, "Models would read it: remove or keep it.")
        == "remove"
    ):
        for row, place in marked:
            row.cells[place] = html.unescape(_TAG.sub(_blank, row.cells[place]))
        reading.say(f"Tags in {texts} were removed, such as {example}.")


def _blank(tag: re.Match[str]) -> str:
    """Return what replaces a match: nothing for a tag, a space for a line break; entities are kept, to be resolved."""
    text = tag[0]
    return text if text.startswith("&") else " " if text.lower().startswith("<br") else ""


def _remove_marks(table: Table, places: Sequence[int], reading: Reading, *, may_cut: bool = False) -> None:
    """Ask about marks of judgements and of words, and remove them or cut the sentences there, as the user says."""
    marked: list[tuple[Row, int, str]] = []
    for row in table.rows:
        first = next((k for k in places if row.cells[k].strip(BLANKS) not in NO_SENTENCE), None)
        for k in places:
            text = unguard(row.cells[k])
            plain = _without_marks(text, is_first=k == first and not table.is_long)
            if plain != text and text.strip(BLANKS) not in SIGNS:
                marked.append((row, k, plain))
    if not marked:
        return
    may_cut = may_cut and len(marked) == len(table.rows) and all(_marks_words(row, k) for row, k, _ in marked)
    answers = [("remove", "Remove them"), ("keep", "Keep them: they are part of the text")]
    if may_cut:
        answers.insert(0, ("cut", "Remove them, and make the marked words a region of their own"))
    elif all(_has_only_brackets(row.cells[k], plain) for row, k, plain in marked):
        answers.reverse()
    texts = count(len(marked), "text" if len(places) > 1 or table.is_long else "sentence")
    example = quoted(unguard(marked[0][0].cells[marked[0][1]])[:40])
    label = f"Marks in {texts}, such as {example}, which is {quoted(marked[0][2][:40])} without them"
    choice = Choice("marks", label, answers, answers[0][0])
    message = f"{texts} {'has' if len(marked) == 1 else 'have'} marks, such as {example}"
    hint = "Models would read marks of judgements or of words: remove or keep them"
    hint += ", or cut the sentences at the marked words." if may_cut else "."
    answer = reading.choose(choice, f"row {marked[0][0].line}", message, hint)
    if answer == "cut":
        _add_critical_words(table, [row for row, *_ in marked], places[0])
    if answer in ("remove", "cut"):
        for row, k, plain in marked:
            row.cells[k] = plain
        reading.say(f"Marks in {texts} were removed, such as in {example}.")


def _without_marks(text: str, *, is_first: bool) -> str:
    """Remove the marks from a text. `is_first`: it begins a sentence."""
    plain = _MARKED.sub(_marked_word, text)
    if is_first and (match := _MARK.match(plain)):
        plain = plain[match.end() :]
    return _STRAY.sub("", plain)


def _marked_word(match: re.Match[str]) -> str:
    return match["word"] or match["bracketed"]


def _has_only_brackets(text: str, plain: str) -> bool:
    return _MARKED.sub(lambda match: match["bracketed"] or match[0], unguard(text)) == plain


def _marks_words(row: Row, place: int) -> bool:
    """Return whether exactly one word or phrase is marked, in text with blanks between words, where `cut_text` can find
    it: a phrase after a blank that occurs once."""
    text = unguard(row.cells[place])
    matches = list(_MARKED.finditer(text))
    if len(matches) != 1 or any(map(is_unspaced, text)):
        return False
    phrase, before = _marked_word(matches[0]), text[: matches[0].start()]
    if len(phrase.split()) == 1:
        return True
    return (not before or before[-1] in f'{BLANKS}“"(') and _without_marks(text, is_first=True).count(
        phrase
    ) == 1


def _add_critical_words(table: Table, rows: Sequence[Row], place: int) -> None:
    """Add a column with the marked words, or the number of a single one, at which `cut_text` cuts."""
    for row in rows:
        text = unguard(row.cells[place])
        if match := _MARKED.search(text):
            words = _without_marks(text[: match.end()], is_first=True).split()
            marked = _marked_word(match).split()
            row.cells.append(str(len(words)) if len(marked) == 1 else " ".join(marked))
    table.roles[CRITICAL] = len(table.header)
    table.header.append("marked words")
