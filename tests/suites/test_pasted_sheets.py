"""A sheet with headings that is pasted into the grid: what it leaves open is asked, request by request. No database."""

from __future__ import annotations

from django.http import QueryDict

from suites.pasting import read_pasted

GERMAN = (
    "Nr.\tBedingung\tSubjekt\tVerb\tNotiz\n1\tmatch\tDie Frau\tspielt\tx\n\tplural\tDie Frauen\tspielen\tx\n"
)


def paste(text, regions=("Subject", "Verb"), conditions=("match", "mismatch"), **said):
    data = QueryDict(mutable=True)
    data.update({"text": text, **said})
    data.setlist("region", list(regions))
    data.setlist("condition", list(conditions))
    return read_pasted(data)


def proposed(form):
    return {name: form[name].value() for name in form.fields}


def test_other_words_and_unknown_names_are_asked_one_after_the_other():
    reading, form = paste(GERMAN)
    assert reading.asks == ("columns",)
    columns = proposed(form)
    assert list(columns.values()) == ["yes", "item", "condition", "text", "text", "data"]
    reading, form = paste(GERMAN, **columns)
    assert reading.unknown == {"conditions": ["plural"], "regions": ["Subjekt"]}
    assert proposed(form)["regions.Subjekt"] == "=Subject"  # the nearest one
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
    reading, form = paste("item\tcondition\tVerb\n1\tmatch\tx\n1\tmatch\ty\n")
    assert (form, reading.problems[0].where) == (None, "row 3")
    assert reading.problems[0].message == "item 1 has the condition “match” twice"
    two = "item\tcondition\tVerb\tVB\n1\tmatch\tx\ty\n"
    reading, form = paste(two, **{"regions.VB": "=Verb"})
    assert "more than one region" in reading.problems[0].message
    assert form.fields.keys() == {"regions.VB"}  # to be answered again
