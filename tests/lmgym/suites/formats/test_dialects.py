"""All published JSON dialects are read, with a notice for every change."""

from __future__ import annotations

import json
import re

import pytest

from lmgym.suites.formats import PredictionDoc, read_json, read_suite
from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.parsing import ParseOptions
from tests.lmgym.conftest import ROOT

from .samples import FORMULA, GOLDEN, condition, encoded, golden, notices, read, suite


def test_current_documentation():
    doc = golden("clean.json")
    assert (doc.name, doc.metric, doc.metrics) == ("agreement_near", "sum", ("sum",))
    assert doc.region_names == ("Subject", "Modifier", "Verb", "Rest")
    assert doc.conditions == ("sing_match", "sing_mismatch", "plur_match", "plur_mismatch")
    assert doc.items == tuple(range(1, 11))
    assert doc.table()[2, "plur_mismatch"].contents == (
        "The pilots",
        "near the gate",
        "waves",
        "at the crowd.",
    )
    assert doc.table()[2, "plur_mismatch"].text == "The pilots near the gate waves at the crowd."
    assert doc.meta == {"author": "", "comment": "Ten items, nothing wrong with them."}
    assert doc.notices == ()


def test_early_documentation_has_string_predictions_tags_and_no_metric():
    doc = golden("early.json")
    assert [p.formula for p in doc.predictions][1] == "(3;%plur_mismatch%) - (3;%plur_match%) > 0"
    assert doc.meta["tags"] == ["agreement", "teaching"]
    assert notices(doc) == "meta.metric: no metric; “sum” is used."


def test_predictions_of_the_paper_stand_in_the_meta_block():
    doc = golden("string_predictions.json")
    assert len(doc.predictions) == 2
    assert "string_predictions" not in doc.meta
    assert "meta.string_predictions: predictions were read from here" in notices(doc)


def test_predictions_of_its_own_win_over_the_meta_block():
    doc = read(suite(meta={"name": "s", "metric": "sum", "string_predictions": ["not % a formula"]}))
    assert [p.formula for p in doc.predictions] == [FORMULA]
    assert doc.meta["string_predictions"] == ["not % a formula"]
    assert "kept but not used" in notices(doc)


def test_oldest_relations_become_formulas():
    doc = golden("relations.json")
    assert [p.formula for p in doc.predictions] == [
        "(3;%sing_mismatch%) > (3;%sing_match%)",
        "(3;%plur_match%) < (3;%plur_mismatch%)",
        "(4;%sing_match%) = (4;%plur_match%)",
    ]
    assert doc.metrics == ("sum", "mean", "median", "range", "max", "min")
    assert "the relation “greaterthan” (an old dialect)" in notices(doc)


def test_named_predictions_and_formulas_as_typed():
    doc = golden("named.json")
    assert doc.predictions == (
        PredictionDoc(
            "(3;%sing_match%) < (3;%sing_mismatch%)", "Singular", "A singular subject wants a singular verb."
        ),
        PredictionDoc("[ (3;%plur_match%)<(3;%plur_mismatch%) ] ", "Plural", extra={"weight": 2}),
    )
    assert doc.metric == ("sum", "mean")


def test_untidy_files_are_tidied_with_a_notice_and_nothing_is_lost():
    doc = golden("untidy.json")
    first = doc.sentences[0]
    assert first.contents == ("The baker", "near the windows", "sings", "every morning.")
    assert first.raw == (" The baker", "near  the windows ", "sings", "every morning.")
    assert first.extra == {"judgement": "good", "regions": {"3": {"metric_value": {"sum": 7.25}, "oovs": []}}}
    assert doc.extra == {
        "version": 2,
        "notes": [1, None, {"a": True}],
        "items": {"1": {"source": {"page": 12}}},
    }
    assert doc.region_names == ("Region 1", "Region 2", "Region 3", "Region 4")
    assert doc.predictions == ()
    said = notices(doc)
    for expected in (
        "1 region with a leading space, 1 region with a trailing space, 1 region with repeated spaces inside",
        "item 2: the order of conditions differs from that of item 1",
        "the suite has no predictions",
        "no region names",
        "some sentences list their regions out of order",
    ):
        assert expected in said


def test_conditions_in_another_order_are_matched_by_name_and_keep_the_order_of_the_file():
    doc = golden("untidy.json")
    assert doc.conditions[0] == "sing_match"
    assert [s.condition for s in doc.sentences[4:]] == list(reversed(doc.conditions))
    assert doc.table()[2, "sing_match"].contents[2] == "waves"


def test_the_usual_order_of_conditions_wins_when_the_first_item_is_the_odd_one():
    document = suite()
    document["items"].append({**suite()["items"][0], "item_number": 3})
    document["items"][0]["conditions"].reverse()
    assert read(document).conditions == ("match", "mismatch")


@pytest.mark.parametrize("absent", ["predictions", "region_meta"])
def test_optional_parts_may_be_absent(absent):
    document = suite()
    del document[absent]
    assert len(read(document).sentences) == 4


def test_predictions_may_be_an_empty_list_without_a_word():
    doc = read(suite(predictions=[]))
    assert doc.predictions == ()
    assert doc.notices == ()


@pytest.mark.parametrize(
    ("third", "said"),
    [
        (None, "regions 2, 3 have no names and are called “Region 2” and so on"),
        ("Object", "region 2 has no name and is called “Region 2”"),
    ],
)
def test_regions_without_a_name_are_numbered(third, said):
    doc = read(suite(region_meta={"1": "Subject", "2": "", "3": third}))
    assert doc.region_names == ("Subject", "Region 2", third or "Region 3")
    assert any(said == notice.message for notice in doc.notices)


def test_region_keys_may_have_blanks_and_zeros():
    assert read(suite(region_meta={" 2": "b", "01": "a", "3 ": "c"})).region_names == ("a", "b", "c")


def test_whole_numbers_may_be_written_with_a_point():
    document = suite()
    document["items"][0]["item_number"] = 1.0
    assert read(document).items == (1, 2)


@pytest.mark.parametrize("metric", ["sum", "mean", "median", "range", "max", "min"])
def test_the_six_metrics(metric):
    assert read(suite(meta={"name": "s", "metric": metric})).metric == metric


def test_a_formula_that_mixes_and_with_or_is_accepted_with_a_notice():
    mixed = f"{FORMULA} & {FORMULA} | {FORMULA}"
    doc = read(suite(predictions=[mixed]))
    assert doc.predictions[0].formula == mixed
    assert any(notice.where == "$.predictions[0]" for notice in doc.notices)


@pytest.mark.parametrize(
    ("prefix", "encoding", "notice"),
    [
        (b"", "utf-8", ""),
        (b"\xef\xbb\xbf", "utf-8", "byte order mark"),
        (b"\xff\xfe", "utf-16-le", "UTF-16"),
        (b"\xfe\xff", "utf-16-be", "UTF-16"),
    ],
)
def test_encodings(prefix, encoding, notice):
    document = suite()
    document["items"][0]["conditions"][0]["regions"][0]["content"] = "Der Kühlschrank 冰箱"
    doc = read_json(prefix + json.dumps(document, ensure_ascii=False).encode(encoding))
    assert doc.sentences[0].contents[0] == "Der Kühlschrank 冰箱"
    assert notice in notices(doc)


def test_text_that_is_not_composed_is_kept_and_mentioned():
    decomposed = "cafe\u0301"
    document = suite()
    document["items"][0]["conditions"][0]["regions"][0]["content"] = decomposed
    doc = read(document)
    assert doc.sentences[0].contents[0] == decomposed
    assert "1 region not in Unicode's composed form" in notices(doc)


def test_line_breaks_and_tabs_become_blanks_but_no_break_spaces_stay():
    document = suite()
    document["items"][0]["conditions"][0] = condition("match", "The\tcat\n", "dort\u00a0!", "")
    doc = read(document)
    assert doc.sentences[0].contents == ("The cat", "dort\u00a0!", "")
    assert doc.sentences[0].raw == ("The\tcat\n", "dort\u00a0!", "")
    assert "1 region with a tab or line break inside" in notices(doc)


def test_blanks_around_names_do_not_count():
    document = suite()
    document["items"][0]["conditions"][0]["condition_name"] = " match "
    assert read(document).conditions == ("match", "mismatch")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_own_fixtures_are_read_and_named(path):
    assert read_json(path.read_bytes()).name.startswith(("agreement", "gap"))


def test_the_hash_covers_the_science_and_nothing_else():
    plain = read(suite())
    renamed = suite(meta={"name": "other", "metric": "sum", "author": "Nobody"}, note="kept")
    renamed["items"].reverse()
    renamed["items"][0]["conditions"].reverse()
    renamed["items"][0]["conditions"][0]["regions"][0]["content"] += " "
    renamed["predictions"] = [{"formula": f" {FORMULA} ", "name": "N"}]
    assert read(renamed).sha256() == plain.sha256()
    assert len(plain.sha256()) == 64
    others = [
        suite(meta={"name": "sample", "metric": "mean"}),
        suite(predictions=[]),
        suite(region_meta={"1": "Subject", "2": "Verb", "3": "End"}),
        json.loads(encoded(suite()).replace(b"owl", b"elk")),
        json.loads(encoded(suite()).replace(b"mismatch", b"other")),
    ]
    assert len({read(other).sha256() for other in others} | {plain.sha256()}) == len(others) + 1


def test_the_examples_of_the_documentation_are_read():
    text = (ROOT / "docs" / "suite-format.md").read_text(encoding="utf-8")
    example, long, wide, critical = re.findall(
        r"```(?:json)?\n((?:\{|item_|item\t|item,).*?)```", text, re.DOTALL
    )
    assert read_suite(example.encode()).conditions == ("match", "mismatch")
    assert read_suite(long.encode()).sentences[0].contents == ("The cat", "sleeps")
    assert [s.text for s in read_suite(wide.encode()).sentences] == ["The cat sleeps", "The cat sleep"]
    roles = {"A": "item", "B": "condition", "C": "text", "D": "critical"}
    cut = parse_upload(critical.encode(), "examples.tsv", ParseOptions(columns=roles)).document
    assert cut.region_names == ("Before", "Critical", "Spillover", "After")
    assert cut.sentences[0].contents == ("The owl by the barns", "hoots", "at", "dusk.")
