"""A suite of two items and two conditions, and tables of human data about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmgym.people.intake import Imported, import_people
from lmgym.suites.formats.documents import SentenceDoc, SuiteDocument

SALT = b"salt of the tests"

SUITE = SuiteDocument(
    name="garden paths",
    metric="sum",
    meta={},
    region_names=("Start", "Verb", "End"),
    conditions=("amb", "unamb"),
    sentences=(
        SentenceDoc(1, "amb", ("As the boat left", "the harbour", "fell quiet.")),
        SentenceDoc(1, "unamb", ("As the boat left,", "the harbour", "fell quiet.")),
        SentenceDoc(2, "amb", ("While she sewed", "the sock", "slipped off.")),
        SentenceDoc(2, "unamb", ("While she sewed,", "the sock", "slipped off.")),
    ),
)


def csv_of(rows: Sequence[Sequence[object]], header: str = "participant,item,condition,region,rt") -> bytes:
    """Write rows under a header; cells with commas are quoted."""
    lines = [header] + [
        ",".join(f'"{cell}"' if "," in str(cell) else str(cell) for cell in row) for row in rows
    ]
    return "\n".join(lines).encode()


def by_region(n_participants: int = 2) -> list[list[object]]:
    """Return rows of reading times by region: every participant reads each item in one condition."""
    return [
        [
            f"p{person}",
            item,
            SUITE.conditions[(person + item) % 2],
            region,
            300 + 10 * person + 100 * item + region,
        ]
        for person in range(n_participants)
        for item in (1, 2)
        for region in (1, 2, 3)
    ]


def imported(data: bytes, answers: Mapping[str, str] | None = None, suite: SuiteDocument = SUITE) -> Imported:
    return import_people(data, "file", suite, answers or {}, salt=SALT)


def message(result: Imported) -> str:
    """Return all problems as text, after checking that nothing is imported beside them."""
    assert result.problems
    assert result.matched is None or result.matched.observations is None
    return "\n".join(map(str, result.problems))
