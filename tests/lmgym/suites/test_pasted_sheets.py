"""A sheet with headings that is pasted into the grid: questions, round by round."""

from __future__ import annotations

from lmgym.suites.intake.questions import questions, read_pasted

GERMAN = (
    "Nr.\tBedingung\tSubjekt\tVerb\tNotiz\n1\tmatch\tDie Frau\tspielt\tx\n\tplural\tDie Frauen\tspielen\tx\n"
)


def paste(text, regions=("Subject", "Verb"), conditions=("match", "mismatch"), **said):
    known = {"regions": regions, "conditions": conditions}
    reading, last = read_pasted(text, known, said)
    return reading, last and questions(last.result, last.before, known)


def proposed(asked):
    return {one.name: one.proposed for one in asked}


def test_other_words_and_unknown_names_are_asked_one_after_the_other():
    reading, asked = paste(GERMAN)
    assert reading.asks == ("columns",)
    columns = proposed(asked)
    assert list(columns.values()) == ["yes", "item", "condition", "text", "text", "data"]
    reading, asked = paste(GERMAN, **columns)
    assert reading.unknown == {"conditions": ["plural"], "regions": ["Subjekt"]}
    assert proposed(asked)["regions.Subjekt"] == "=Subject"  # the most similar name
    names = {"conditions.plural": "=mismatch", "regions.Subjekt": "=Subject"}
    reading, _ = paste(GERMAN, **columns, **names)
    assert reading.part.regions == ("Subject", "Verb")
    assert reading.part.texts[2:] == ((1, "mismatch", 0, "Die Frauen"), (1, "mismatch", 1, "spielen"))
    assert "Left out: Notiz." in reading.understood


def test_an_empty_suite_takes_the_names_and_a_part_needs_neither_all_conditions_nor_all_regions():
    reading, _ = paste("item\tcondition\tNP\n2\tmatch\truns\n9\todd\tsits\n", (), ())
    assert reading.part.texts == ((2, "match", 0, "runs"), (9, "odd", 0, "sits"))
    long = "item,condition,region_number,content\n2,match,2,runs\n"
    reading, _ = paste(long)
    assert (reading.part.regions, reading.part.texts) == (("",), ((2, "match", 0, "runs"),))


def test_a_place_that_comes_twice_is_refused():
    reading, asked = paste("item\tcondition\tVerb\n1\tmatch\tx\n1\tmatch\ty\n")
    assert (asked, reading.problems[0].where) == (None, "row 3")
    assert reading.problems[0].message == "item 1 has the condition “match” twice"
    two = "item\tcondition\tVerb\tVB\n1\tmatch\tx\ty\n"
    reading, asked = paste(two, **{"regions.VB": "=Verb"})
    assert "more than one region" in reading.problems[0].message
    assert {one.name for one in asked} == {"regions.VB"}  # asked again
