"""From an empty suite to a frozen revision whose export is the intended document."""

from __future__ import annotations

import itertools

from tests.browser.authoring import add_prediction, begin, exported, freeze, stored, text_of

FORMULA = "(2;%mismatch%) > (2;%match%)"


def condition(name: str, *contents: str) -> dict:
    regions = [{"region_number": k, "content": text} for k, text in enumerate(contents, start=1)]
    return {"condition_name": name, "regions": regions}


# The example in SyntaxGym's documentation
EXAMPLE = {
    "meta": {"name": "Sample subject--verb suite", "metric": "sum"},
    "predictions": [{"type": "formula", "formula": FORMULA}],
    "region_meta": {"1": "Subject NP", "2": "Verb", "3": "Continuation"},
    "items": [
        {
            "item_number": 1,
            "conditions": [
                condition("match", "The woman", "plays", "the guitar"),
                condition("mismatch", "The woman", "play", "the guitar"),
            ],
        }
    ],
}


def test_the_documented_example_is_written_from_nothing(signed_in):
    page = signed_in
    regions = ["Subject NP", "Verb", "Continuation"]
    sheet = begin(page, ["match", "mismatch"], regions, name="Sample subject--verb suite")
    sheet.click(0, 0)
    for text in ("The woman", "plays", "the guitar", "The woman", "play", "the guitar"):
        sheet.type(text)
        sheet.press("Tab")
    add_prediction(page, FORMULA)
    assert "surprisal at Verb is higher in mismatch than in match" in page.locator(".gloss").inner_text()
    freeze(sheet)
    assert exported(sheet) == EXAMPLE


def test_formulas_follow_a_region_and_a_condition(signed_in):
    page = signed_in
    sheet = begin(page, ["match", "mismatch"], ["Subject", "Verb"], ["She | runs", "She | run"])
    add_prediction(page, FORMULA)
    before = stored(sheet)
    sheet.click(-1, 1)
    sheet.press("F2", "Control+a")
    sheet.type("Main verb")
    sheet.press("Enter")
    page.get_by_text("surprisal at “Main verb” is higher in mismatch than in match").wait_for()
    sheet.click(1, -1)
    sheet.press("F2", "Control+a")
    sheet.type("wrong number")
    sheet.press("Enter")
    page.get_by_text("surprisal at “Main verb” is higher in “wrong number” than in match").wait_for()
    formula = "(2;%wrong number%) > (2;%match%)"
    assert page.get_by_label("Formula", exact=True).input_value() == formula
    sheet.click(0, 1)
    sheet.press("Alt+Shift+ArrowLeft")
    page.get_by_text("surprisal at “Main verb” is higher in “wrong number” than in match").wait_for()
    now = stored(sheet)
    assert now["regions"] == ["Main verb", "Subject"]
    assert now["conditions"] == ["match", "wrong number"]
    assert [one["formula"] for one in now["predictions"]] == ["(1;%wrong number%) > (1;%match%)"]
    sheet.press("Control+z", "Control+z", "Control+z")
    assert text_of(stored(sheet)) == text_of(before)


def fifty_steps(sheet):
    """Yield fifty different edits, each of which is a single undo step."""

    def write(row, column, text):
        sheet.click(row, column)
        sheet.type(text)
        sheet.press("Enter")

    def menu(kind, label, row, column):
        sheet.click(row, column)
        sheet.page.locator(f"[data-grid-menu={kind}] summary").click()
        sheet.page.locator(f"[data-grid-menu={kind}]").get_by_role("button", name=label).click()

    for round_ in range(5):
        yield lambda k=round_: write(0, 0, f"word {k}")
        yield lambda k=round_: write(1, 1, f"an other {k}")
        yield lambda k=round_: write(-1, 0, f"Region of round {k}")
        yield lambda k=round_: write(0, -1, f"name {k}")
        yield lambda: menu("item", "Duplicate", 0, 0)
        yield lambda: (sheet.click(1, 1), sheet.press("Alt+Shift+ArrowLeft"))
        yield lambda: (sheet.click(0, 0), sheet.press("Shift+ArrowRight", "Delete"))
        yield lambda: (sheet.click(0, 1), sheet.press("Alt+Shift+ArrowDown"))
        yield lambda k=round_: sheet.click(2, 0) or sheet.paste(f"A{k}\tB{k}\nC{k}\tD{k}")
        yield lambda k=round_: write(3, 1, f"last {k}")


def test_fifty_steps_are_undone_and_redone(signed_in):
    sheet = begin(signed_in, ["match", "mismatch"], ["Subject", "Verb"], ["She | runs", "She | run"])
    add_prediction(signed_in, FORMULA)
    states = [text_of(stored(sheet))]
    for done, step in enumerate(fifty_steps(sheet), start=1):
        step()
        if done % 10 == 0:
            states.append(text_of(stored(sheet)))
    assert len(states) == 6
    assert all(before != after for before, after in itertools.pairwise(states))
    for place in range(4, -1, -1):
        sheet.press(*["Control+z"] * 10)
        assert text_of(stored(sheet)) == states[place], f"undone to step {10 * place}"
    for place in range(1, 6):
        sheet.press(*["Control+y"] * 10)
        assert text_of(stored(sheet)) == states[place], f"redone to step {10 * place}"
