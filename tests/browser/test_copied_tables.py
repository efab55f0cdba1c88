"""Copied tables: each number of a cell in its own column, and no prose."""

from __future__ import annotations

import pytest

COPIED = """async (selector) => {
    const { tableText } = await import("/static/js/copy.js");
    return tableText(document.querySelector(selector)).split("\\n").map((line) => line.split("\\t"));
}"""
NUMBERS_LEFT_OUT = """(selector) => [...document.querySelectorAll(selector + " td .sub")]
    .filter((line) => /[0-9]/.test(line.textContent) && !line.querySelector("time"))
    .filter((line) => !line.closest("td").dataset.copy)
    .map((line) => line.textContent.trim())"""
TABLES = {
    "/suites/agreement_orc/": "#scores",
    "/suites/subordination/": "#prediction-rates",
    "/suites/agreement_orc/r1/items/": "#items",
    "/models/demo-gpt2/": "#scores",
    "/compare/?model=demo-gpt2&model=demo-ngram&model=demo-uniform": "#compared",
    "/propara/everyday-processes/v1/": "#leaderboard",
}


def copied(page, address: str, selector: str) -> list[dict[str, str]]:
    """Return the copied rows as dicts by heading, without the note below the table."""
    assert page.goto(address).status == 200
    head, *rows = page.evaluate(COPIED, selector)
    assert len(set(head)) == len(head)
    assert {len(row) for row in rows} == {len(head)}
    return [dict(zip(head, row, strict=True)) for row in rows if not row[0].startswith("Scoring rule")]


@pytest.mark.parametrize(("address", "table"), TABLES.items())
def test_sub_lines_are_columns_or_stay_out(page, address, table):
    rows = copied(page, address, table)
    assert page.evaluate(NUMBERS_LEFT_OUT, table) == []
    for line in page.locator(f"{table} :not([data-copy]) > .sub").all_inner_texts():
        assert not any(line in cell for row in rows for cell in row.values())


@pytest.mark.parametrize("address", ["/suites/agreement_orc/", "/models/demo-gpt2/"])
def test_an_interval_is_copied_as_two_numbers(page, address):
    for row in copied(page, address, "#scores"):
        low, rate, high = (float(row[name]) for name in ("95% low", "Pass rate", "95% high"))
        assert 0 <= low <= rate <= high <= 1
        assert low < high
        assert float(row["Held"]) / float(row["Items"]) == pytest.approx(rate, abs=1e-4)
        assert row["Too close to call"].isdigit()


def test_rates_and_differences_are_copied_with_their_intervals(page):
    address = "/compare/?model=demo-gpt2&model=demo-ngram"
    row = copied(page, address, "#compared")[0]
    models = ("Demo GPT-2", "Demo 5-gram")
    for model in models:
        low, rate, high = (float(row[f"{model}{of}"]) for of in (" 95% low", "", " 95% high"))
        assert low <= rate <= high
        assert row[f"{model} items"].isdigit()
    difference = "Demo 5-gram − Demo GPT-2"
    low, points, high = (
        float(row[f"{difference}{of}"].replace("−", "-")) for of in (" 95% low", ", points", " 95% high")
    )
    assert low <= points <= high


def test_cells_that_span_rows_are_copied_into_each(page):
    rows = copied(page, "/suites/agreement_orc/r1/items/", "#items")
    conditions = len({row["Condition"] for row in rows})
    assert [row["Item"] for row in rows[: conditions + 1]] == ["1"] * conditions + ["2"]
