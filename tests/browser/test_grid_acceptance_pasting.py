"""A published sheet, long or wide, is pasted with Ctrl+V into the grid and into the page for new suites."""

from __future__ import annotations

import csv
import html
import io
import json

import pytest

from tests.browser.authoring import begin, editor_of, exported, freeze, paste, put_on_clipboard, stored
from tests.lmgym.conftest import CONFORMANCE

SMALL = """item_number,condition_name,region_number,region_name,content
1,sub_match,1,intro,What
1,sub_match,2,verb,"did, then"
1,sub_match,3,rest,the meal
1,sub_mismatch,1,intro,What
1,sub_mismatch,2,verb,ate
1,sub_mismatch,3,rest,
2,sub_match,1,intro,Who
2,sub_match,2,verb,"said ""no"" then"
2,sub_match,3,rest,today
2,sub_mismatch,1,intro,Who
2,sub_mismatch,2,verb,left
2,sub_mismatch,3,rest,the house
"""


def items_of(rows: list[list[str]]) -> list[dict]:
    """Convert long rows to the items of a SyntaxGym document."""
    items: dict[str, dict[str, list]] = {}
    for item, condition, number, _, content in rows:
        regions = items.setdefault(item, {}).setdefault(condition, [])
        regions.append({"region_number": int(number), "content": content})
    return [
        {
            "item_number": int(number),
            "conditions": [{"condition_name": name, "regions": regions} for name, regions in found.items()],
        }
        for number, found in items.items()
    ]


class Table:
    """A long CSV, also available as rows of cells and in wide form."""

    def __init__(self, text: str) -> None:
        self.csv = text
        self.rows = list(csv.reader(io.StringIO(text)))
        self.items = items_of(self.rows[1:])
        self.regions = list(dict.fromkeys((int(row[2]), row[3]) for row in self.rows[1:]))

    @property
    def wide(self) -> list[list[str]]:
        head = ["item", "condition", *(name for _, name in self.regions)]
        lines = [
            [str(one["item_number"]), part["condition_name"], *(cell["content"] for cell in part["regions"])]
            for one in self.items
            for part in one["conditions"]
        ]
        return [head, *lines]


def tsv(rows: list[list[str]]) -> str:
    """Format rows as spreadsheets copy them: cells with a quotation mark are quoted."""

    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if '"' in text else text

    return "".join("\t".join(map(cell, row)) + "\r\n" for row in rows)


def markup(rows: list[list[str]]) -> str:
    body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<meta charset='utf-8'><table>{body}</table>"


def published_table() -> Table:
    path = CONFORMANCE / "suites" / "cleft.csv"
    if not path.is_file():
        pytest.skip(f"no published cleft.csv at {path} (set GYM_CONFORMANCE_DIR)")
    table = Table(path.read_text(encoding="utf-8-sig"))
    table.items = json.loads(path.with_suffix(".json").read_text())["items"]
    return table


@pytest.mark.parametrize("published", [False, pytest.param(True, marks=pytest.mark.published)])
def test_a_table_is_pasted_into_an_empty_grid(signed_in, published):
    table = published_table() if published else Table(SMALL)
    sheet = begin(signed_in, ["a", "b"], ["First", "Second"])
    sheet.click(0, 0)
    if published:
        paste(signed_in, table.csv)
    else:
        paste(signed_in, tsv(table.wide), markup(table.wide))
    signed_in.get_by_text(f"{len(table.items)} items ×").wait_for()
    draft = stored(sheet)
    assert draft["regions"] == [name for _, name in table.regions]
    freeze(sheet)
    document = exported(sheet)
    assert document["items"] == table.items
    assert document["region_meta"] == {str(number): name for number, name in table.regions}


def test_a_table_is_pasted_into_a_new_suite_and_looked_at_first(signed_in):
    page = signed_in
    table = Table(SMALL)
    page.goto("/suites/new/?by=paste")
    put_on_clipboard(page, tsv(table.rows))
    page.get_by_label("Cells from your sheet").focus()
    page.keyboard.press("Control+v")
    page.keyboard.press("Tab")
    page.keyboard.type("Pasted table")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("How the input was read").wait_for()
    understood = page.locator(".reading").inner_text()
    sentences = sum(len(one["conditions"]) for one in table.items)
    assert f"{sentences} sentences." in understood
    for part in table.items[0]["conditions"]:
        assert part["condition_name"] in understood
    page.get_by_role("button", name="Create draft").click()
    sheet = editor_of(page)
    freeze(sheet)
    assert exported(sheet)["items"] == table.items
