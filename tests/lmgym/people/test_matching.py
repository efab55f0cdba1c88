"""Rows are matched to sentences, and every mistake of a table is named with its lines; nothing is half imported."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lmgym.people.intake import words_of
from lmgym.people.intake.lags import lag_profile, word_lengths
from lmgym.people.intake.numbers import numbers
from lmgym.people.intake.texts import difference, nearest
from lmgym.suites.formats.documents import SentenceDoc
from tests.lmgym.people.data import SUITE, by_region, csv_of, imported, message

WORDS = "participant,item,condition,word_number,word,rt"


def by_word(shift: int = 0) -> list[list[object]]:
    """Return rows by word of both sentences of item 1."""
    return [
        [person, 1, sentence.condition, chunk.word + shift, chunk.text, 300 + chunk.word]
        for person, sentence in zip(("p1", "p2"), SUITE.sentences[:2], strict=True)
        for chunk in words_of(sentence)
    ]


# --- items and conditions ---


def test_fillers_are_left_out_when_said_so_and_counted():
    data = csv_of([*by_region(), ["p0", 99, "filler", 1, 300], ["p0", "practice", "x", 1, 300]])

    assert "line 14" in message(imported(data)) or "lines 14, 15" in message(imported(data))
    assert imported(data).asks == ("others",)
    assert imported(data, {"others": "out"}).matched.left_out == {"of items that the suite lacks": 2}


def test_wrong_items_are_refused():
    rows = [[row[0], row[1] + 100, *row[2:]] for row in by_region()]

    assert "no row has items of the suite" in message(imported(csv_of(rows)))


def test_conditions_with_other_names_are_asked():
    rows = [[row[0], row[1], {"amb": "A", "unamb": "B"}[row[2]], *row[3:]] for row in by_region()]
    data = csv_of(rows)

    assert set(imported(data).asks) == {"conditions.A", "conditions.B"}
    result = imported(data, {"conditions.A": "=amb", "conditions.B": "=unamb"})
    assert (
        result.matched.observations.condition.tolist()
        == imported(csv_of(by_region())).matched.observations.condition.tolist()
    )
    result = imported(data, {"conditions.A": "=amb", "conditions.B": "-", "missing": "accept"})
    assert result.matched.left_out == {"of the condition “B”": 6}


def test_spelling_of_conditions_is_forgiven_with_a_notice():
    result = imported(csv_of([[*row[:2], row[2].upper(), *row[3:]] for row in by_region()]))

    assert result.matched.observations is not None
    assert any("“AMB” is taken as “amb”" in str(notice) for notice in result.notices)


def test_missing_conditions_are_asked():
    data = csv_of([row for row in by_region() if row[2] == "amb"])

    assert "no data for 1 condition of the suite: “unamb”" in message(imported(data))
    assert imported(data, {"missing": "accept"}).matched.observations is not None


def test_sentences_are_found_by_their_text():
    rows = [
        ["p1", SUITE.sentences[1].text, 6],
        ["p1", SUITE.sentences[2].text, 2],
        ["p1", "Something else.", 7],
    ]
    data = csv_of(rows, "participant,sentence,rating")

    assert imported(data).asks == ("others",)
    people = imported(data, {"others": "out", "scale": "1-7"}).matched.observations
    assert (people.item.tolist(), people.condition.tolist(), people.value.tolist()) == (
        [1, 2],
        [1, 0],
        [6, 2],
    )


def test_items_are_found_by_name():
    sentences = tuple(
        replace(s, extra={"data": {"verb": {1: "leave", 2: "sew"}[s.item]}}) for s in SUITE.sentences
    )
    rows = [["p1", "sew", "amb", 5], ["p1", "leave", "unamb", 6]]
    people = imported(
        csv_of(rows, "participant,item,condition,rating"), suite=replace(SUITE, sentences=sentences)
    ).matched.observations

    assert people.item.tolist() == [2, 1]


def test_names_of_items_that_are_numbers_are_item_numbers():
    rows = [["p1", 2, "amb", 5], ["p1", 1, "unamb", 6]]

    assert imported(
        csv_of(rows, "participant,sentence_id,condition,rating")
    ).matched.observations.item.tolist() == [2, 1]


def test_equal_sentences_need_item_and_condition():
    suite = replace(SUITE, sentences=(*SUITE.sentences, SentenceDoc(3, "amb", SUITE.sentences[0].contents)))
    rows = [["p1", SUITE.sentences[0].text, 6]]

    assert "more than once" in message(imported(csv_of(rows, "participant,sentence,rating"), suite=suite))


# --- words and regions ---


def test_words_are_compared_with_the_suite():
    rows = by_word()
    rows[3][4] = "arrived"
    data = csv_of(rows, WORDS)

    assert "line 5: 1 text differs from the suite’s" in message(imported(data))
    assert "item 1, amb, word 4: “arrived”, where the suite has “left”" in message(imported(data))
    result = imported(data, {"words": "out", "missing": "accept"})
    assert result.matched.left_out == {"of sentences with other words than the suite": 8}
    assert result.matched.mismatches[0].line == 5
    assert len(imported(data, {"words": "keep"}).matched.observations) == 16


def test_words_beyond_the_end_of_a_sentence_are_left_out_of_sentences_that_are_kept():
    data = csv_of([*by_word(), ["p1", 1, "amb", 9, "again", 300]], WORDS)
    matched = imported(data, {"words": "keep"}).matched

    assert matched.left_out == {"beyond the end of the sentence": 1}
    assert matched.observations.word.tolist() == [*range(1, 9)] * 2


WITHOUT_STOP = "As the boat left the harbour fell quiet"


def rated(*sentences):
    return csv_of([["p1", one, 3 + k] for k, one in enumerate(sentences)], "participant,sentence,rating")


def test_sentences_without_the_final_full_stop_are_not_matched_but_the_message_says_what_differs():
    text = message(imported(rated(WITHOUT_STOP)))
    assert "1 sentence differs from the suite’s only in punctuation or spaces; the first is in line 2" in text
    assert "the sentence in the suite ends with a full stop, in the file it does not" in text
    assert "Write the sentences as in the suite, or match the rows by item number and condition." in text


def test_sentences_that_almost_match_are_named_among_fillers_before_and_after_these_are_left_out():
    table = rated("As the boat left the harbour fell quiet.", WITHOUT_STOP, "Something else.")
    assert "the sentence in the suite ends with a full stop" in message(imported(table))
    result = imported(table, {"others": "out", "missing": "accept"})
    assert "among the rows left out, 1 sentence differs" in "\n".join(map(str, result.notices))


def test_a_long_sentence_that_differs_at_its_end_says_so_where_items_have_numbers():
    rows = [["p1", 1, "amb", WITHOUT_STOP, 3]]
    text = message(imported(csv_of(rows, "participant,item,condition,sentence,rating")))
    assert "the text in the suite ends with a full stop, in the file it does not" in text


@pytest.mark.parametrize(
    ("in_file", "in_suite", "words"),
    [
        ("So!", "So.", "the sentence in the suite ends with a full stop, in the file with an exclamation mark"),
        ("It rained?", "It rained", "the sentence in the file ends with a question mark, in the suite it does not"),
        ("As it left he fell", "As it left, he fell", "after “as it left”, the suite has a comma, the file nothing"),
        ("a wellknown man", "a well-known man", "after “a well”, the suite has a hyphen or dash, the file nothing"),
        ("the\u200bman", "the man", "after “the”, the suite has a space, the file “[U+200B]”"),
        ("he, she left", "he she left.", "they differ in punctuation or spaces in several places"),
        ("“It” rained.  ", '"it" rained.', ""),
        ("It snowed", "It rained.", ""),
    ],
)  # fmt: skip
def test_differences_in_punctuation_and_spaces_are_said_in_words(in_file, in_suite, words):
    assert difference(in_file, in_suite) == words


def test_of_sentences_with_the_same_letters_the_nearest_is_compared():
    suite = ["As the boat left, the harbour fell quiet.", "As the boat left the harbour fell quiet."]
    assert nearest(WITHOUT_STOP, suite) == suite[1]


def test_capitals_and_quotation_marks_are_no_difference_but_a_comma_is():
    rows = [[*row[:4], row[4].upper(), row[5]] for row in by_word()]
    assert imported(csv_of(rows, WORDS)).matched.n_mismatches == 0

    rows = [[*row[:4], row[4].replace(",", ""), row[5]] for row in by_word()]
    assert imported(csv_of(rows, WORDS)).matched.n_mismatches == 1


@pytest.mark.parametrize(("shift", "hint"), [(1, "one word earlier"), (-1, "one word later")])
def test_shifted_words_are_named_and_never_shifted(shift, hint):
    rows = [row for row in by_word(shift) if row[3] > 0]
    result = imported(csv_of(rows, WORDS))

    assert "differ from the suite’s" in message(result)
    assert any(hint in str(notice) for notice in result.notices)


def test_words_counted_from_0_are_a_role():
    people = imported(csv_of(by_word(-1), WORDS), {"columns.D": "word_from_0"}).matched.observations

    assert people.word.tolist() == [*range(1, 9)] * 2


@pytest.mark.parametrize("heading", ["word", "zone", "position"])
def test_a_column_of_numbers_has_the_number_of_the_word(heading):
    rows = [[*row[:4], row[5]] for row in by_word()]
    people = imported(csv_of(rows, f"participant,item,condition,{heading},rt")).matched.observations

    assert people.word.tolist() == [*range(1, 9)] * 2


@pytest.mark.parametrize("heading", ["word", "zone", "word_pos"])
def test_word_numbers_with_a_0_are_asked(heading):
    data = csv_of([[*row[:4], row[5]] for row in by_word(-1)], f"participant,item,condition,{heading},rt")

    assert "is 0 the first word?" in message(imported(data))
    proposed = next(q.proposed for q in imported(data).questions if q.name == "columns.D")
    assert imported(data, {"columns.D": proposed}).matched.observations.word.tolist() == [*range(1, 9)] * 2


def test_words_without_numbers_are_counted_in_the_order_of_rows():
    rows = [[*row[:3], *row[4:]] for row in by_word()]
    result = imported(csv_of(rows, "participant,item,condition,word,rt"))

    assert result.matched.observations.word.tolist() == [*range(1, 9)] * 2
    assert any("counted in the order of the rows" in str(notice) for notice in result.notices)


def test_rows_by_word_may_name_their_region():
    rows = [
        ["p1", 1, "unamb", SUITE.region_names[chunk.region - 1], chunk.text, 300 + chunk.word]
        for chunk in words_of(SUITE.sentences[1])
    ]
    data = csv_of(rows, "participant,item,condition,region,word,rt")
    people = imported(data, {"missing": "accept"}).matched.observations

    assert people.word.tolist() == [*range(1, 9)]
    assert people.region.tolist() == [1, 1, 1, 1, 2, 2, 3, 3]


def test_punctuation_in_a_region_of_its_own_belongs_to_the_word_before():
    suite = replace(SUITE, sentences=(SentenceDoc(1, "amb", ("The boat", ", at last,", "left .")),))
    rows = [
        ["p", 1, "amb", k, word, 300]
        for k, word in enumerate(["The", "boat,", "at", "last,", "left."], start=1)
    ]
    people = imported(csv_of(rows, WORDS), {"missing": "accept"}, suite).matched.observations

    assert people.word.tolist() == [1, 2, 4, 5, 6]  # the suite's words are The boat , at last, left .
    assert people.region.tolist() == [1, 1, 2, 2, 3]


def test_unknown_regions_are_named():
    rows = [*by_region(), ["p0", 1, "amb", 7, 300]]

    assert "line 14: regions that the suite lacks: “7”" in message(imported(csv_of(rows)))


# --- values ---


def test_impossible_times_are_named_and_dropped_only_when_said_so():
    rows = by_region()
    for k, value in enumerate((0, -5, 4_000_000, "Wait success")):
        rows[k][4] = value
    data = csv_of(rows)

    assert "lines 2, 3, 4, 5: 4 rows with an impossible value" in message(imported(data))
    assert imported(data, {"impossible": "out"}).matched.left_out == {"with an impossible value": 4}


def test_a_column_of_words_in_place_of_times_is_named_by_line():
    rows = [[*row[:4], "fast"] for row in by_region()]

    assert "lines 2, 3, 4, 5, 6, 7, 8, 9 and 4 more: 12 rows with an impossible value" in message(
        imported(csv_of(rows))
    )


def test_missing_values_are_counted():
    rows = by_region()
    rows[0][4], rows[1][4] = "NA", ""

    assert imported(csv_of(rows)).matched.left_out == {"without a value": 2}


def test_doubled_rows_are_named_and_the_answer_says_which_value_counts():
    rows = [*by_region(), [*by_region()[0][:4], 601]]
    data = csv_of(rows)

    assert "line 14 repeats line 2" in message(imported(data))
    assert imported(data, {"doubled": "first"}).matched.observations.value[0] == 401
    people = imported(data, {"doubled": "mean"}).matched.observations
    assert (people.value[0], len(people)) == (501, 12)


def test_the_mean_of_doubled_means_is_weighted_by_their_numbers():
    rows = [[90, 1, "amb", 1, 300], [10, 1, "amb", 1, 500], [40, 1, "unamb", 1, 400]]
    data = csv_of(rows, "n_participants,item,condition,region,rt")
    people = imported(data, {"doubled": "mean"}).matched.observations

    assert (people.value.tolist(), people.n_participants.tolist()) == ([320, 400], [100, 40])


def test_a_comma_that_may_separate_thousands_is_asked_about():
    data = csv_of([[*row[:4], "1,234" if k == 0 else row[4]] for k, row in enumerate(by_region())])

    assert "line 2: 1 row with an impossible value in “rt” (“1,234”)" in message(imported(data))
    assert "may be a decimal comma or separate thousands" in message(imported(data))


@pytest.mark.parametrize(
    ("cell", "value"), [("1,234.5", 1234.5), ("1,234,567", 1_234_567), ("0,512", 0.512), ("1.234,5", None)]
)
def test_commas_with_one_meaning_are_read(cell, value):
    assert numbers([cell]).tolist() == pytest.approx([np.nan if value is None else value], nan_ok=True)
    assert numbers(["3,5", "1,234"]).tolist() == [3.5, 1.234]


def test_marks_other_than_yes_and_no_are_asked_about():
    marks = {0: "0.00", 1: "fast", 2: "good", 3: "yes"}
    rows = [[*row, marks.get(k, "")] for k, row in enumerate(by_region())]
    data = csv_of(rows, "participant,item,condition,region,rt,outlier")

    assert imported(data).asks == ("excluded.fast", "excluded.good")
    matched = imported(data, {"excluded.fast": "out", "excluded.good": "keep"}).matched
    assert matched.left_out == {"marked in “outlier”": 2}


def test_rows_marked_as_excluded_are_left_out():
    rows = [[*row, k == 0] for k, row in enumerate(by_region())]

    result = imported(csv_of(rows, "participant,item,condition,region,rt,excluded"))
    assert result.matched.left_out == {"marked in “excluded”": 1}


def test_a_table_without_participants_or_numbers_of_them_is_refused():
    rows = [row[1:] for row in by_region()[:6]]

    assert "no column has the participant" in message(imported(csv_of(rows, "item,condition,region,rt")))


# --- privacy and provenance ---


def test_demographic_columns_are_dropped_unless_chosen_and_small_groups_are_named():
    rows = [[*row, 20 + int(row[0][1:]) % 2] for row in by_region(12)] + [["p99", 1, "amb", 1, 400, 93]]
    data = csv_of(rows, "participant,item,condition,region,rt,age")

    assert imported(data).matched.demographics is None
    chosen = imported(data, {"columns.F": "demographic"})
    kept = chosen.matched.demographics
    assert (kept.names, kept.rows[:2], kept.small_groups) == (
        ("age",),
        (("20",), ("21",)),
        (("age", "93", 1),),
    )
    (warning,) = (str(notice) for notice in chosen.notices if "fewer than 5 people" in str(notice))
    assert "93" not in warning  # notices are stored with the data


def test_accuracy_is_counted_by_trial():
    rows = [[*row, int(row[1] == 1)] for row in by_region()]
    result = imported(csv_of(rows, "participant,item,condition,region,rt,correct"))

    assert result.matched.accuracy.tolist() == [0.5, 0.5]


def test_provenance_has_the_hash_of_the_file_the_roles_and_the_counts():
    data = csv_of(by_region())
    facts = imported(data).matched.provenance

    assert len(facts["sha256"]) == 64
    assert facts["columns"]["E"] == {"heading": "rt", "role": "rt_ms"}
    assert (facts["reader"], facts["rows"], facts["observations"]) == ("table", 12, 12)


def test_a_short_salt_is_refused():
    from lmgym.people.intake import import_people

    with pytest.raises(ValueError, match="at least 16"):
        import_people(csv_of(by_region()), "f", SUITE, salt=b"short")


# --- lags ---


def test_lag_profile_peaks_where_times_follow_the_predictor():
    bits = {(s.item, s.condition): [1.0, 7, 2, 9, 4, 6, 3, 8] for s in SUITE.sentences}
    rows = [[*row[:5], 300 + 10 * [0, 1.0, 7, 2, 9, 4, 6, 3][int(row[3]) - 1]] for row in by_word()]
    people = imported(csv_of(rows, WORDS)).matched.observations

    profile = lag_profile(people, bits)
    assert [lag.lag for lag in profile] == [-2, -1, 0, 1, 2]
    assert max(profile, key=lambda lag: lag.correlation).lag == -1
    assert word_lengths(SUITE)[1, "unamb"] == [2, 3, 4, 4, 3, 7, 4, 5]
