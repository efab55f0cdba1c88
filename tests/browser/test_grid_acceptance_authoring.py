"""From an empty suite to a frozen revision whose export is the intended document."""

from __future__ import annotations

from tests.browser.authoring import add_prediction, begin, exported, freeze

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
