"""Every kind of file, read and evaluated on its suite."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.runs import report
from lmgym.runs.compute import RunResult
from lmgym.runs.uploaded import KINDS, fit_part, read_results
from lmgym.text.csv_writer import csv_text
from lmgym.text.problems import FormatError
from tests.lmgym.runs.uploaded.worlds import document, golden

HELD = [1, 0, 1]


def applied(data: bytes, doc=None, **options):
    [part] = read_results(data, **options).parts
    return fit_part(part, doc or document())


def problems(data: bytes, doc=None, **options) -> str:
    with pytest.raises(FormatError) as caught:
        applied(data, doc, **options)
    return "\n".join(str(problem) for problem in caught.value.problems)


@pytest.mark.parametrize("name", ["evaluated.json", "regions.csv", "site.csv"])
def test_region_values_give_outcomes_margins_and_intervals(name):
    found = applied(golden(name), unit="bits")
    [outcome] = found.result.predictions
    assert outcome.outcomes == HELD
    assert outcome.margins == pytest.approx([3.0, -3.0, 3.0])
    assert (outcome.passed, outcome.chance) == (2, 0.5)
    assert outcome.low < 2 / 3 < outcome.high
    assert found.missing == ("tokens",)
    assert found.result.sentences[0].surprisal == pytest.approx(5.25 + 6.25 + 7.25)


def test_the_model_and_suite_are_named_in_the_file():
    for name in ("evaluated.json", "regions.csv", "outcomes.csv"):
        [part] = read_results(golden(name)).parts
        assert (part.model, part.suite) == ("elsewhere-lm", "agreement")


def test_lm_zoo_tokens_are_mapped_to_regions():
    found = applied(golden("lmzoo.tsv"), spec=golden("spec.json"))
    assert found.failures == []
    [outcome] = found.result.predictions
    assert outcome.outcomes == HELD
    assert outcome.margins == pytest.approx([3.0, -3.0, 3.0])
    first = found.result.sentences[0]
    assert [token[0] for token in first.tokens] == ["The", "Ġwoman", "Ġplays", "Ġall", "Ġday", "."]
    assert [token[5] for token in first.tokens] == [0, 0, 1, 2, 2, 2]
    assert first.regions[0] is None  # its first token has 0 bits: not scored, which is not the same as 0
    assert math.fsum(bits for *_, bits, _, _ in first.tokens if bits) == pytest.approx(first.surprisal)
    notices = " ".join(map(str, found.notices))
    assert "6 sentences whose first token has 0 bits" in notices
    assert "2 sentences with words that the model's vocabulary lacks" in notices


def test_one_sentence_that_does_not_fit_fails_alone():
    data = golden("lmzoo.tsv").replace("1\t2\tĠwoman".encode(), "1\t2\tĠwomen".encode())
    found = applied(data, spec=golden("spec.json"))
    [failure] = found.failures
    assert (failure.item, failure.condition) == (1, "match")
    assert "token 2, “Ġwomen”, does not match at “woman plays all day.”" in failure.failure
    assert found.result.predictions[0].outcomes == [3, 0, 1]


def test_a_file_about_other_sentences_is_refused_with_reasons():
    text = problems(golden("lmzoo.tsv").replace("Ġ".encode(), b"x"), spec=golden("spec.json"))
    assert "none of the 6 sentences could be matched" in text


def test_outcomes_counted_from_0_or_from_1_are_told_apart():
    doc = document()
    found = applied(golden("outcomes.csv"), doc)
    assert (found.shift, found.result.predictions[0].outcomes) == (1, HELD)
    assert set(found.result.predictions[0].margins) == {None}
    assert "margins" in found.missing
    assert found.result.sentences == []
    from_one = b"item,correct\n1,1\n2,0\n3,1\n"
    assert applied(from_one, doc).shift == 0
    assert "numbered from 0 or from 1" in problems(b"item,correct\n1,1\n2,0\n", doc)
    assert "items without an outcome: 2" in problems(b"item,correct\n1,1\n3,0\n", doc)
    assert "items that the suite lacks: 7" in problems(b"item,correct\n1,1\n7,0\n", doc)


def test_one_outcome_per_item_is_the_first_predictions():
    doc = document(formulas=("(2;%mismatch%) > (2;%match%)", "(1;%mismatch%) = (1;%match%)"))
    found = applied(golden("outcomes.csv"), doc)
    assert [row.position for row in found.result.predictions] == [0]
    assert "outcomes of Prediction 2" in found.missing


def own_result() -> RunResult:
    return applied(golden("lmzoo.tsv"), spec=golden("spec.json")).result


def test_the_table_of_the_command_line_comes_back_as_it_was():
    doc, result = document(), own_result()
    text = csv_text(
        report.REGION_HEADER, report.region_rows(doc, result, "agreement", "m", "surprisal", "none")
    )
    uploaded = read_results(text.encode())
    assert uploaded.kind == "regions"
    found = fit_part(uploaded.parts[0], doc).result
    assert found.predictions[0].outcomes == HELD
    assert [row.regions for row in found.sentences] == [row.regions for row in result.sentences]
    assert found.predictions[0].margins == result.predictions[0].margins


NAMES_NOW = {
    b"model_name": b"model",
    b"item_number": b"item",
    b"condition_name": b"condition",
    b"region_name": b"region",
    b"surprisal_bits": b"surprisal",
}


def test_a_table_of_our_own_needs_no_unit_and_reads_as_under_its_earlier_names():
    before, header, *rows = golden("regions.csv"), *golden("regions.csv").splitlines()
    for old, new in NAMES_NOW.items():
        header = header.replace(old, new)
    now = b"\n".join([header + b",score_kind", *(row + b",surprisal" for row in rows)])
    assert applied(now).result == applied(before).result
    assert "the file states bits for “surprisal”" in problems(now, unit="nats")
    assert "the file does not state the unit" in problems(now.replace(b"score_kind", b"other"))


def test_other_units_become_bits():
    bits, nats = (applied(golden("site.csv"), unit=unit).result for unit in ("bits", "nats"))
    assert nats.sentences[0].regions[1] == pytest.approx(bits.sentences[0].regions[1] / math.log(2))


def lines(name: str) -> list[str]:
    return golden(name).decode().splitlines()


def test_several_mistakes_are_said_at_once_with_their_lines():
    rows = lines("regions.csv")
    rows[1] = rows[1].rsplit(",", 1)[0] + ",nan"
    rows[2] = rows[2].rsplit(",", 1)[0] + ",inf"
    rows[3] = rows[3].rsplit(",", 1)[0] + ",many"
    rows[5] = rows[4]
    text = problems("\n".join(rows).encode())
    for expected in (
        "line 2: the surprisal is “nan”",
        "line 3: the surprisal is “inf”",
        "line 4: the surprisal is “many”",
        "line 6: item 1, mismatch, region 1 is already in line 5",
    ):
        assert expected in text


def test_missing_and_foreign_rows_are_named():
    rows = lines("regions.csv")
    assert "the file lacks 2 of the suite's 6 sentences" in problems("\n".join(rows[:-6]).encode())
    assert "regions without a row: 3" in problems("\n".join(rows[:-1]).encode())
    assert "the suite has no item 9" in problems(
        "\n".join([*rows, "agreement,elsewhere-lm,9,match,1,Subject,x,1"]).encode()
    )
    other = "\n".join(rows).replace("The woman", "The queen")
    assert "reads “The queen” in the file, and “The woman” in the suite" in problems(other.encode())


def test_log_probabilities_are_recognised():
    rows = [lines("regions.csv")[0]]
    for row in lines("regions.csv")[1:]:
        head, value = row.rsplit(",", 1)
        rows.append(f"{head},-{value}")
    assert "log probabilities" in problems("\n".join(rows).encode())


def test_an_evaluated_suite_names_what_is_wrong_by_path():
    data = json.loads(golden("evaluated.json"))
    regions = data["items"][0]["conditions"][1]["regions"]
    del regions[0]["metric_value"]
    regions[1]["metric_value"] = {"sum": "high"}
    text = problems(json.dumps(data).encode())
    assert "item 1, condition 2, region 1: metric_value is missing" in text
    assert "item 1, condition 2, region 2: must be a number or null" in text
    assert "Infinity is not JSON" in problems(json.dumps(data).replace('"high"', "Infinity").encode())


def test_nan_in_an_evaluated_suite_is_a_value_that_is_missing():
    data = json.loads(golden("evaluated.json"))
    answers = []
    for nothing in (None, math.nan):
        data["items"][0]["conditions"][0]["regions"][1]["metric_value"] = {"sum": nothing}
        found = applied(json.dumps(data).encode()).result
        answers.append((found.sentences[0].regions, [row.outcomes for row in found.predictions]))
    assert answers[0] == answers[1]
    assert (answers[0][0][1], answers[0][1][0][0]) == (None, 3)


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe\x00", b"PK\x03\x04zip", b"[]", b"{}", b"a,b\n1,2\n", b"\x93,1"]
)
def test_what_is_no_result_file_is_refused(data):
    with pytest.raises(FormatError):
        read_results(data)


@given(st.binary(max_size=300), st.sampled_from(["auto", *KINDS]))
def test_no_bytes_raise_anything_else(data, kind):
    for prefix in (b"", b"{", b"item,correct\n", b"sentence_id\ttoken_id\ttoken\tsurprisal\n"):
        try:
            for part in read_results(prefix + data, kind=kind).parts:
                fit_part(part, document())
        except FormatError as error:
            assert error.problems


KEYS = ["items", "conditions", "regions", "region_number", "metric_value", "meta", "item_number", "tokenizer"]
LEAVES = st.none() | st.booleans() | st.floats() | st.text(max_size=4)
ANY_JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
)


@given(ANY_JSON)
def test_no_json_raises_anything_else(value):
    for wrapped in (value, {"items": value}, {"items": [{"item_number": 1, "conditions": value}]}):
        data = json.dumps(wrapped).encode()
        for options in ({}, {"spec": data}):
            given_data = golden("lmzoo.tsv") if options else data
            try:
                for part in read_results(given_data, **options).parts:
                    fit_part(part, document())
            except FormatError as error:
                assert error.problems
