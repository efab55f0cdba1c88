"""Names and descriptions that "Predict effects" made follow regions as formulas do; the author's own words stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lmgym.suites.effects import effects
from lmgym.suites.formats.designs import cells, condition_name, placed, read_lines, written
from tests.browser.grid_fake import agreement
from tests.browser.test_grid_structure import menu

FACTORS = [
    {
        "name": "agreement",
        "levels": ["match", "mismatch"],
        "conditions": {"match": "match", "mismatch": "mismatch"},
    }
]
NAME = "Effect of agreement, Verb"
ABOUT = "Surprisal at region 2 (Verb) is higher in mismatch than in match."
FORMULA = "(2;%mismatch%) > (2;%match%)"


def generated(name: str = NAME, description: str = ABOUT, formula: str = FORMULA) -> dict[str, str]:
    return {"name": name, "description": description, "formula": formula}


@pytest.fixture
def open_with(make_sheet):
    def make(*predictions: dict[str, str]) -> Any:
        doc = agreement() | {"factors": FACTORS, "predictions": list(predictions)}
        return make_sheet(doc)

    return make


def rename(sheet, region, to):
    sheet.click(-1, region - 1)
    sheet.press("Enter", "Control+a")
    sheet.type(to)
    sheet.press("Enter")
    return sheet.settle()["predictions"]


def test_a_renamed_region_has_its_new_name_in_name_and_description(open_with):
    sheet = open_with(generated())
    now = generated(
        "Effect of agreement, Main verb",
        "Surprisal at region 2 (Main verb) is higher in mismatch than in match.",
    )
    assert rename(sheet, 2, "Main verb") == [now]
    assert sheet.page.get_by_label("Name", exact=True).input_value() == now["name"]
    sheet.press("Control+z")
    assert sheet.settle()["predictions"] == [generated()]


def test_another_region_renamed_changes_nothing(open_with):
    assert rename(open_with(generated()), 1, "Verb") == [generated()]


@pytest.mark.parametrize(
    ("column", "label", "number"), [(0, "Add to the right", 3), (0, "Delete", 1), (1, "Move right", 3)]
)
def test_a_region_at_another_place_has_its_new_number_in_the_description(open_with, column, label, number):
    sheet = open_with(generated())
    sheet.click(0, column)
    menu(sheet, "region", label)
    sheet.press("Escape")
    assert sheet.settle()["predictions"] == [
        generated(NAME, ABOUT.replace("region 2", f"region {number}"), FORMULA.replace("2;", f"{number};"))
    ]


@pytest.mark.parametrize(
    "own",
    [
        generated("My effect, Verb", "Why not at region 2 (Verb)"),
        generated(f"{NAME}!", f"{ABOUT} As Bock & Miller (1991) found."),
        generated("Effect of number, Verb", ABOUT.replace("Surprisal", "The surprisal")),
        generated(formula="(2;%mismatch%) > (1;%match%)"),
    ],
)
def test_words_of_the_author_stay(open_with, own):
    assert rename(open_with(own), 2, "Main verb") == [own]


def test_an_edited_name_stays_while_the_description_follows(open_with):
    sheet = open_with(generated("Attraction, Verb"))
    (now,) = rename(sheet, 2, "V")
    assert now["name"] == "Attraction, Verb"
    assert now["description"] == "Surprisal at region 2 (V) is higher in mismatch than in match."


def test_a_pasted_sheet_that_names_the_regions_of_an_empty_suite_is_followed(make_sheet):
    doc = agreement() | {"factors": FACTORS, "predictions": [generated()]}
    for row in doc["rows"]:
        row["contents"] = ["", "", ""]
    sheet = make_sheet(doc)
    sheet.click(0, 0)
    sheet.paste(
        "item\tcondition\tNP\tV\tPP\n1\tmatch\tThe cat\tsleeps\there\n1\tmismatch\tThe cat\tsleep\there\n"
    )
    sheet.until(lambda: sheet.suite.doc["regions"] == ["NP", "V", "PP"])
    (now,) = sheet.settle()["predictions"]
    assert (now["name"], now["description"]) == (
        "Effect of agreement, V",
        "Surprisal at region 2 (V) is higher in mismatch than in match.",
    )


DESIGNS = [
    "agreement: match, mismatch",
    "a+b: x (1), y, z and w\nnumber: sing, plural",
    "verb: a, b, c\nreduction: full, reduced\nPP: of, of the, none",
]
FOLLOW = """async (data) => {
  const { followed, predictionOf } = await import("/static/js/grid/generated.js");
  const {factors, regions, offers, old, number, name} = JSON.parse(data);
  return offers.map((offer) => followed(predictionOf(offer, old), {factors, regions}, () => ({number, name})));
}"""


@pytest.mark.parametrize("lines", DESIGNS)
def test_everything_that_is_offered_is_followed(sheet, lines):
    design = read_lines(lines)
    design = placed(design, {cell: condition_name(cell) for cell in cells(design)})
    before, after = ["NP", "Verb (main)", "End"], ["NP", "$& ein Bär", "End"]

    def offers(regions, region):
        found = [one for one in effects(design, regions, region) if one.greater]
        return [(one.name, side) for one in found for side in (one.greater, one.less)]

    given = {
        "factors": written(design),
        "regions": before,
        "old": before[1],
        "number": 3,
        "name": after[1],
        "offers": [
            {"name": name, "words": side.words, "formula": side.formula} for name, side in offers(before, 2)
        ],
    }
    wanted = [
        {"name": f"{name}, {after[1]}", "description": side.words}
        for name, side in offers(["NP", "", after[1]], 3)
    ]
    assert sheet.page.evaluate(FOLLOW, json.dumps(given)) == wanted
