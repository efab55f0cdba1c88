"""Files as other programs write them: log lines before the header, words without sentences, folded case,
rounded ties.
"""

from __future__ import annotations

import json

import pytest

from lmgym.runs.uploaded import fit_part, read_results
from lmgym.suites.formats import SuiteDocument, read_suite
from lmgym.text.problems import FormatError
from tests.lmgym.runs.uploaded.worlds import document, golden


def notices_and_result(data: bytes, doc: SuiteDocument | None = None, **options: object):
    uploaded = read_results(data, **options)
    fitted = fit_part(uploaded.parts[0], doc or document())
    return " ".join(str(row) for row in (*uploaded.notices, *fitted.notices)), fitted


def refusal(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        read_results(data)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "options"), [("lmzoo.tsv", {"spec": golden("spec.json")}), ("regions.csv", {})]
)
def test_lines_of_log_before_the_header_are_left_out(name, options):
    _, plain = notices_and_result(golden(name), **options)
    banner = b"Loading the model\n\nWriting probabilities, 2 of 2\n"
    notices, found = notices_and_result(banner + golden(name), **options)
    assert "the header is in line 4; skipped 2 lines of text above it" in notices
    assert found.result == plain.result


def test_lines_of_problems_count_the_log():
    data = b"Loading\n" + golden("regions.csv").replace(b",5.25", b",many", 1)
    assert "line 3: the surprisal is “many”" in refusal(data)


def test_words_without_sentence_numbers_are_refused_with_the_reason():
    said = refusal(b"The\t0.0\nferry\t10.1\nleaves\t4.2\nThe\t0.0\n")
    assert "words and values but no sentence numbers" in said
    assert "sentence_id, token_id, token and surprisal" in said
    assert "the table has no header" in refusal(b"1,match,1,5.25\n1,match,2,6.5\n")


def folded(spec: dict[str, object]) -> tuple[bytes, bytes]:
    return golden("lmzoo.tsv").decode().lower().replace("ġ", "Ġ").encode(), json.dumps(spec).encode()


def test_tokens_in_lower_case_are_laid_along_although_the_spec_says_cased():
    spec = json.loads(golden("spec.json"))
    spec["tokenizer"]["cased"] = True
    data, spec_bytes = folded(spec)
    notices, found = notices_and_result(data, spec=spec_bytes)
    assert found.failures == []
    assert found.result.predictions[0].outcomes == [1, 0, 1]
    assert "6 sentences whose tokens differ from the suite's only in capitals" in notices
    assert "the spec says “cased”: true" in notices


def test_no_spec_says_nothing_of_capitals():
    data, _ = folded({})
    notices, found = notices_and_result(data)
    assert found.failures == []
    assert "6 sentences whose tokens differ from the suite's only in capitals" in notices
    assert "the spec says" not in notices


def test_other_words_fail_with_the_reason_whatever_their_case():
    data = golden("lmzoo.tsv").lower().replace("ġ".encode(), "Ġ".encode())
    data = data.replace("1\t2\tĠwoman".encode(), "1\t2\tĠwomen".encode())
    _, found = notices_and_result(data, spec=golden("spec.json"))
    [failure] = found.failures
    assert (failure.item, failure.condition) == (1, "match")


def test_regions_in_lower_case_are_read_with_a_notice():
    data = golden("regions.csv").replace(b"The woman", b"the woman")
    notices, found = notices_and_result(data)
    assert found.result.predictions[0].outcomes == [1, 0, 1]
    assert "2 regions whose text differs from the suite's only in capitals" in notices


AGREEMENT = {
    "meta": {"name": "agreement", "metric": "sum"},
    "region_meta": {"1": "Subject", "2": "Verb"},
    "predictions": [{"type": "formula", "formula": "(2;%match%) < (2;%mismatch%)"}],
    "items": [
        {
            "item_number": 1,
            "conditions": [
                {
                    "condition_name": condition,
                    "regions": [
                        {"region_number": 1, "content": "The ferry"},
                        {"region_number": 2, "content": verb},
                    ],
                }
                for condition, verb in (("match", "leaves"), ("mismatch", "leave"))
            ],
        }
    ],
}
FERRY = read_suite(json.dumps(AGREEMENT).encode())


def regions_file(first: float, second: float = 9.0) -> bytes:
    rows = [
        f"1,{condition},{region},{bits}"
        for condition in ("match", "mismatch")
        for region, bits in ((1, first), (2, second))
    ]
    return "\n".join(["item_number,condition_name,region_number,surprisal_bits", *rows]).encode()


def test_values_rounded_to_half_precision_tie_and_do_not_pass():
    [outcome] = notices_and_result(regions_file(9.5, 12.5), FERRY)[1].result.predictions
    assert (outcome.outcomes, outcome.passed, outcome.ties) == ([2], 0, 1)


def test_a_first_token_of_zero_bits_is_unscored_in_a_table_of_tokens():
    rows = [
        f"1,{condition},{number},{token},{bits}"
        for condition, verb in (("match", "leaves"), ("mismatch", "leave"))
        for number, token, bits in ((1, "The", 0.0), (2, "Ġferry", 8.0), (3, f"Ġ{verb}", 9.0))
    ]
    data = "\n".join(["item_number,condition_name,token_number,token,surprisal_bits", *rows]).encode()
    notices, found = notices_and_result(data, FERRY)
    assert [row.regions for row in found.result.sentences] == [[None, 9.0], [None, 9.0]]
    assert "2 sentences whose first token has 0 bits: treated as not scored" in notices


def test_a_first_region_of_zero_bits_is_unscored_and_the_sum_of_the_sentence_stays():
    notices, found = notices_and_result(regions_file(0.0), FERRY)
    assert [row.regions for row in found.result.sentences] == [[None, 9.0], [None, 9.0]]
    assert [row.surprisal for row in found.result.sentences] == [9.0, 9.0]
    assert "2 sentences whose first region has 0 bits: treated as not scored" in notices


def test_other_regions_of_zero_bits_keep_their_value():
    notices, found = notices_and_result(regions_file(9.0, 0.0), FERRY)
    assert [row.regions for row in found.result.sentences] == [[9.0, 0.0], [9.0, 0.0]]
    assert "0 bits" not in notices


def test_the_range_of_a_first_region_of_one_token_is_zero():
    ranges = read_suite(json.dumps(AGREEMENT | {"meta": {"name": "agreement", "metric": "range"}}).encode())
    notices, found = notices_and_result(regions_file(0.0), ranges)
    assert [row.regions for row in found.result.sentences] == [[0.0, 9.0], [0.0, 9.0]]
    assert "0 bits" not in notices
