"""Small files to score, and strategies for random ones."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from lmgym.propara.convert import write_rows
from lmgym.propara.submission_warnings import implied_action
from tests.lmgym.conftest import ROOT

DATA = ROOT / "gym" / "propara" / "data"


def shipped(name: str) -> str:
    return (DATA / f"{name}.tsv").read_text(encoding="utf-8")


def tsv(*rows: str) -> str:
    """Build a TSV file from rows such as `1 2 water MOVE sea air`; ~ is a space within a cell, _ an empty cell."""
    return "".join(
        "\t".join("" if cell == "_" else cell.replace("~", " ") for cell in row.split()) + "\n"
        for row in rows
    )


LIGHT = tsv(
    "7 1 gas NONE star star",
    "7 2 gas DESTROY star -",
    "7 3 gas NONE - -",
    "7 4 gas NONE - -",
    "7 1 light;~rays NONE - -",
    "7 2 light;~rays CREATE - star",
    "7 3 light;~rays MOVE star space",
    "7 4 light;~rays MOVE space soil",
)
"""Gas becomes light in step 2; the light moves twice."""

PLACES = ("sea", "the sea", "seas", "a pond", "pond OR lake", "?", "-", "sky AND sea", "null")


@st.composite
def submissions(draw: st.DrawFn) -> tuple[str, str]:
    """Draw answers and predictions about the same processes and participants, in valid rows without
    duplicates."""
    answers: list[tuple] = []
    predictions: list[tuple] = []
    for process in draw(st.lists(st.integers(1, 50), min_size=1, max_size=3, unique=True)):
        steps = draw(st.integers(1, 5))
        names = draw(
            st.lists(st.sampled_from(["a", "a; b", "b ; c", "water", "ice; water"]), min_size=1, unique=True)
        )
        for rows in (answers, predictions):
            for name in names:
                where = draw(st.lists(st.sampled_from(PLACES), min_size=steps + 1, max_size=steps + 1))
                rows += track(process, name, where)
    return write_rows(answers), write_rows(predictions)


def track(process: int, name: str, where: list[str]) -> list[tuple]:
    """Return rows whose actions follow from the locations."""
    tokens = {"-": "null", "?": "unk"}
    rows = []
    for step, (before, after) in enumerate(pairwise(where), 1):
        action = implied_action(tokens.get(before, before), tokens.get(after, after))
        if action in ("CREATE", "DESTROY", "MOVE") or before == after:
            before = "-" if action == "CREATE" else before
            after = "-" if action == "DESTROY" else after
            rows.append((process, step, name, action, before, after))
        else:
            rows.append((process, step, name, "NONE", after, after))
    return rows
