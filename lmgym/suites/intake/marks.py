"""Signs that models would read although they are not part of the text: judgement marks before sentences (*, ?, #) and
HTML markup."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from lmgym.suites.formats.tables import Row, Table
from lmgym.suites.intake.pairs import NO_SENTENCE
from lmgym.suites.intake.parsing import Choice
from lmgym.suites.intake.reading import Reading, text_places
from lmgym.text import BLANKS, count, quoted, unguard

_MARK = re.compile(rf"[{BLANKS}]*(?P<mark>[*?#✗⁇％%]{{1,3}})[{BLANKS}]*(?=[^\W\d_])")


_PLACEHOLDER = re.compile(
    r"\$\{?[A-Za-z_]{2,30}\}?|\[[A-Z]{2,20}\]|_{3,}|\{[A-Za-z_]{1,30}\}|"
    r"\([\w ]{1,30}(?:[|/][\w ]{1,30}){1,5}\)"
)
"""Places for words in templates: $NAME, [MASK], ___, {noun}, (a|an)."""
_ALTERNATIVES = re.compile(r"\A[^\W\d_]+(?:[|/][^\W\d_]+)+\Z")
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,9}(?:\s[^<>]{0,200})?/?>|&(?:[a-z]{2,6}|#\d{2,5});")


def remove_signs(table: Table, reading: Reading) -> None:
    """Ask about marks and markup in the texts of a wide table, and remove them if the user says so."""
    places = text_places(table)
    _report_placeholders(table, places, reading)
    remove_markup(table, places, reading)
    _remove_marks(table, places, reading)


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


def remove_markup(table: Table, places: Sequence[int], reading: Reading) -> None:
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


def _remove_marks(table: Table, places: Sequence[int], reading: Reading) -> None:
    marked = []
    for row in table.rows:
        first = next((k for k in places if row.cells[k].strip(BLANKS) not in NO_SENTENCE), None)
        if first is not None and (match := _MARK.match(unguard(row.cells[first]))):
            marked.append((row, first, match))
    if not marked:
        return
    sentences = count(len(marked), "sentence")
    example = quoted(unguard(marked[0][0].cells[marked[0][1]])[:40])
    choice = Choice(
        "marks",
        f"Marks before {sentences}, such as {example}",
        [("remove", "Remove them: they mark judgements"), ("keep", "Keep them: they are part of the text")],
        "remove",
    )
    message = f"{sentences} {'begins' if len(marked) == 1 else 'begin'} with a mark, such as {example}"
    answer = reading.choose(
        choice, f"row {marked[0][0].line}", message, "Models would read it: remove or keep it."
    )
    if answer != "remove":
        return
    for row, place, match in marked:
        row.cells[place] = unguard(row.cells[place])[match.end() :]
    reading.say(
        f"The marks before {sentences} ({', '.join(sorted({m['mark'] for *_, m in marked}))}) were removed."
    )
