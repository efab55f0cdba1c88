"""The unit of surprisals: as the column's name states, or as the user chose; never guessed."""

from __future__ import annotations

import math

import pytest

from lmgym.runs.uploaded import fit_part, read_results
from lmgym.runs.uploaded.units import value_name
from lmgym.text.problems import FormatError
from tests.lmgym.runs.uploaded.worlds import document, golden

NATS = 1 / math.log(2)
COLUMNS = "item_number,condition_name,region_number"


def table(**columns: float) -> bytes:
    """Return a CSV of surprisals by region of the suite in `worlds`. Each column has the same bits, times its
    factor.
    """
    rows = [f"{COLUMNS},{','.join(columns)}"]
    for number, row in enumerate(document().sentences):
        for region in (1, 2, 3):
            bits = 4 + number * 0.7 + region
            cells = ",".join(f"{factor * bits:.6f}" for factor in columns.values())
            rows.append(f"{row.item},{row.condition},{region},{cells}")
    return "\n".join(rows).encode()


def first_bits(data: bytes, unit: str = "auto") -> float:
    [part] = read_results(data, unit=unit).parts
    return part.sentences[0].regions[1]


def refusal(data: bytes, unit: str = "auto") -> str:
    with pytest.raises(FormatError) as caught:
        read_results(data, unit=unit)
    return str(caught.value)


def warnings(data: bytes, unit: str = "auto", **options: object) -> list[str]:
    uploaded = read_results(data, unit=unit, **options)
    fitted = fit_part(uploaded.parts[0], document())
    return [row.message for row in (*uploaded.notices, *fitted.notices) if row.is_warning]


@pytest.mark.parametrize(
    ("title", "role", "unit"),
    [
        ("surprisal_bits", "surprisal", "bits"),
        ("Surprisal (bits)", "surprisal", "bits"),
        ("surprisalBits", "surprisal", "bits"),
        ("sum_surprisal_base2", "surprisal", "bits"),
        ("surprisal_base_2", "surprisal", "bits"),
        ("neg_log2_prob", "surprisal", "bits"),
        ("surprisal_nats", "surprisal", "nats"),
        ("surp_ln", "surprisal", "nats"),
        ("surprisal_base_e", "surprisal", "nats"),
        ("nll_nats", "surprisal", "nats"),
        ("surprisal_log10", "surprisal", "log10"),
        ("log2", "log probability", "bits"),
        ("ln", "log probability", "nats"),
        ("log10", "log probability", "log10"),
        ("log10_prob", "log probability", "log10"),
        ("surprisal", "surprisal", ""),
        ("sum_surprisal", "surprisal", ""),
        ("nll", "surprisal", ""),
        ("logprob", "log probability", ""),
        ("metric_value", "value", ""),
    ],
)
def test_names_state_quantity_and_unit(title, role, unit):
    found = value_name(title)
    assert (found.role, found.unit) == (role, unit)


@pytest.mark.parametrize(
    "title", ["log_freq", "log10_freq", "mean_surprisal", "bits_per_word", "nats_to_bits", "item", "log", ""]
)
def test_other_columns_are_no_surprisals(title):
    assert value_name(title) is None


@pytest.mark.parametrize(
    "columns",
    [
        {"surprisal_bits": 1},
        {"sum_surprisal": 1 / NATS, "sum_surprisal_base2": 1},
        {"surprisal_nats": 1 / NATS},
        {"surp_ln": 1 / NATS, "value": 7},
        {"surprisal_log10": 1 / math.log2(10)},
        {"log2": -1},
        {"log10_prob": -1 / math.log2(10)},
        {"logprob": -1 / NATS, "surprisal_nats": 1 / NATS},
    ],
    ids=lambda columns: " ".join(columns),
)
def test_the_stated_unit_becomes_bits(columns):
    assert first_bits(table(**columns)) == pytest.approx(5, abs=1e-5)
    assert warnings(table(**columns)) == []


@pytest.mark.parametrize("column", ["surprisal", "sum_surprisal", "nll", "logprob", "metric_value", "value"])
def test_a_name_without_a_unit_is_asked_about(column):
    factor = -1 / NATS if column == "logprob" else 1 / NATS
    asked = refusal(table(**{column: factor}))
    assert f"the file does not state the unit of “{column}”" in asked
    assert "--unit" in asked
    assert first_bits(table(**{column: factor}), "nats") == pytest.approx(5, abs=1e-5)


def test_a_chosen_unit_does_not_overrule_the_one_that_the_name_states():
    both = table(sum_surprisal=1 / NATS, sum_surprisal_base2=1)
    for unit in ("bits", "nats"):
        assert first_bits(both, unit) == pytest.approx(5, abs=1e-5)
    assert "the file states nats for “surprisal_nats”" in refusal(table(surprisal_nats=1), "bits")


def test_the_choice_among_columns_is_said():
    notices = read_results(table(sum_surprisal=1 / NATS, sum_surprisal_base2=1)).notices
    assert [str(row) for row in notices] == [
        "file: of several columns, “sum_surprisal_base2” is used; “sum_surprisal” is ignored."
    ]
    [notice] = read_results(table(logprob=-1 / NATS), unit="nats").notices
    assert "holds log probabilities in nats: converted to surprisals in bits" in str(notice)


def test_two_columns_that_differ_are_not_chosen_between():
    assert "they differ" in refusal(table(surprisal_bits=1, region_surprisal_bits=2))
    assert first_bits(table(surprisal_bits=1, bits=1)) == pytest.approx(5)


def test_a_positive_log_probability_is_an_error():
    assert "the log probability is “5.000000”" in refusal(table(log2=1))


def test_columns_that_contradict_their_units_are_warned_of():
    [warning] = warnings(table(surprisal_bits=1, surprisal_nats=0.9))
    assert "not the same surprisals in two units" in warning
    [warning] = warnings(table(surprisal=1, total=NATS), "bits")
    assert "“total” is 1.4427 times “surprisal”, which is the ratio of bits to nats" in warning
    [warning] = warnings(table(surprisal_bits=1, total=math.log2(10)))
    assert "look like powers of ten" in warning


def test_formats_that_define_bits_are_not_asked_about():
    assert read_results(golden("lmzoo.tsv"), spec=golden("spec.json")).kind == "lmzoo"
    assert first_bits(golden("evaluated.json")) == 5.25
    assert first_bits(golden("evaluated.json"), "nats") == pytest.approx(5.25 * NATS)


def lmzoo(bits: float) -> bytes:
    """Return an LM Zoo file in which every token has `bits` bits, except the first of each sentence, which
    has 0.
    """
    rows = ["sentence_id\ttoken_id\ttoken\tsurprisal"]
    for number, row in enumerate(document().sentences, start=1):
        for place, token in enumerate(row.text.split(), start=1):
            rows.append(f"{number}\t{place}\t{token}\t{bits if place > 1 else 0.0}")
    return "\n".join(rows).encode()


def test_a_mean_above_any_vocabulary_is_warned_of():
    [warning] = warnings(lmzoo(98.6))
    assert "the mean is 98.6 bits per token" in warning
    assert warnings(lmzoo(19.9)) == []


def test_a_mean_by_regions_is_counted_by_words():
    assert warnings(table(surprisal_bits=2)) == []
    [warning] = warnings(table(surprisal_bits=9))
    assert "bits per word" in warning


def test_some_negative_values_are_warned_of():
    data = table(surprisal_bits=1).replace(b",5.000000", b",-5.000000")
    assert any("values are negative" in warning for warning in warnings(data))
