"""Published human data and the kinds of files that people report import, and give the figures of their papers.

The files are not part of this repository: they are next to the folder that GYM_CONFORMANCE_DIR names.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict

import numpy as np
import pytest

from lmgym.people.intake import ALL_ITEMS, words_of
from lmgym.people.intake.lags import lag_profile
from lmgym.suites.formats import read_json
from lmgym.suites.formats.documents import SentenceDoc, SuiteDocument
from tests.lmgym.conftest import CONFORMANCE
from tests.lmgym.people.data import imported, message
from tests.lmgym.people.published import HUMAN, garden_paths, needs_human_files, read, stories, suite

CASES = CONFORMANCE.parent / "cases" / "research"

pytestmark = [pytest.mark.published, needs_human_files]


# --- SAP: plausibility norming ---


def test_plausibility_norming_of_sap():
    """64 people rated 30 sentences each; the plausible sentences of the garden paths are in the suite's file."""
    document = garden_paths()
    data = (HUMAN / "sap/plausibility_norming.pcibex.csv").read_bytes()

    asked = imported(data, suite=document)
    proposed = {question.name: question.proposed for question in asked.questions}
    assert proposed["conditions.PlauNPS"] == "=NPS_UAMB"
    assert proposed["conditions.ImplauNPS"] == "-"

    result = imported(data, {"items": "sentence", "others": "out"}, document)
    people = result.matched.observations
    assert (len(people.participants), len(people), people.measure.scale) == (64, 755, (1, 7))
    means = {name: people.value[people.condition == k].mean() for k, name in enumerate(people.conditions)}
    assert means == pytest.approx({"NPS_UAMB": 6.048, "NPZ_UAMB": 5.244, "MVRR_UAMB": 5.609}, abs=0.001)


# --- Natural Stories: means by word ---


def gpt3(document: SuiteDocument) -> dict[tuple[int, str], list[float]]:
    """Sum bits of tokens to words: a token belongs to the word of its first character that is not blank."""
    tokens: dict[int, list[tuple[str, float]]] = defaultdict(list)
    with (HUMAN / "naturalstories/all_stories_gpt3.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            bits = -float(row["logprob"]) / math.log(2) if row["logprob"] else math.nan
            tokens[int(row["story"]) + 1].append((row["token"], bits))
    predictor = {}
    for sentence in document.sentences:
        ends = np.cumsum([len(word.text) for word in words_of(sentence)])
        values, reached = np.zeros(len(ends)), 0
        for token, bits in tokens[sentence.item]:
            letters = len("".join(token.split()))
            if letters:
                values[min(np.searchsorted(ends, reached, side="right"), len(ends) - 1)] += bits
            reached += letters
        assert reached == ends[-1]
        predictor[sentence.item, "story"] = values.tolist()
    return predictor


def test_means_of_natural_stories_and_their_lags():
    """The folder's README gives .143, .205 and .132: they are those of the geometric means, where the times of 2021 are
    as close to the next word's surprisal as to the previous word's."""
    document = stories()
    data = (HUMAN / "naturalstories/processed_wordinfo.tsv").read_bytes()
    matched = {letter: imported(data, {"measure": letter}, document).matched for letter in "EG"}
    bits = gpt3(document)

    assert (len(matched["E"].observations), matched["E"].n_mismatches) == (10_256, 0)
    assert matched["E"].observations.are_means
    profiles = {
        letter: [round(lag.correlation, 3) for lag in lag_profile(one.observations, bits, (-1, 0, 1))]
        for letter, one in matched.items()
    }
    assert profiles == {"E": [0.115, 0.212, 0.176], "G": [0.132, 0.205, 0.143]}


# --- BLiMP: forced choice by paradigm ---


def test_summary_of_blimp():
    data = (HUMAN / "blimp/human_validation_summary.csv").read_bytes()
    paradigm = [SentenceDoc(1, "good", ("Who cried?",)), SentenceDoc(1, "bad", ("Who did cried?",))]
    people = imported(data, suite=suite(paradigm, "adjunct_island")).matched.observations

    assert (people.item.tolist(), people.condition.tolist()) == ([ALL_ITEMS], [0])
    assert (people.value.tolist(), people.n_participants.tolist()) == ([0.94], [100])


def test_summary_of_blimp_with_a_condition_per_paradigm():
    """Warstadt et al. (2020), table 3: people agree with BLiMP in 88.6 % over its 67 paradigms, which are those that at
    least 4 of 5 annotators accepted, and in 97.5 % in anaphor agreement."""
    path = HUMAN / "blimp/human_validation_summary.csv"
    accepted = {row["Condition"]: int(row["accepted"]) >= 4 for row in read(path)}
    document = suite([SentenceDoc(1, name, ("A sentence.",)) for name in accepted])
    people = imported(path.read_bytes(), suite=document).matched.observations

    rates = {people.conditions[k]: value for k, value in zip(people.condition, people.value, strict=True)}
    assert len(rates) == 69
    assert np.mean([rate for name, rate in rates.items() if accepted[name]]) == pytest.approx(
        0.886, abs=0.0005
    )
    anaphors = ("anaphor_gender_agreement", "anaphor_number_agreement")
    assert np.mean([rates[name] for name in anaphors]) == pytest.approx(0.975)


# --- cases of other researchers ---


def test_case_17_pcibex_headers_change_within_the_file():
    document = suite([SentenceDoc(1, "AMB", ("After the boat left, the harbour was quiet.",))])
    data = (CASES / "17-pcibex-results.csv").read_bytes()
    people = imported(
        data, {"table": "Controller-DashedSentence-DashedSentence"}, document
    ).matched.observations

    assert len(people.participants) == 2
    assert people.value.reshape(2, 8)[0].tolist() == [268, 285, 302, 319, 336, 353, 370, 387]
    assert people.word.tolist() == [*range(1, 9)] * 2


def test_case_18_shifted_times_have_the_same_words_and_another_profile():
    document = suite(
        [SentenceDoc(1, "story", ("We packed the old blue tent and the lamp because rain was near.",))]
    )
    aligned, shifted = (
        imported((CASES / f"18-reading-times-{name}.tsv").read_bytes(), suite=document).matched
        for name in ("aligned", "shifted-after-7")
    )

    assert aligned.n_mismatches == shifted.n_mismatches == 0
    times = {(1, "story"): aligned.observations.value.tolist()}
    assert max(lag_profile(aligned.observations, times), key=lambda lag: lag.correlation).lag == 0
    assert lag_profile(shifted.observations, times) != lag_profile(aligned.observations, times)
    assert shifted.observations.value[6] == 352  # nothing was shifted


def test_case_19_jspsych_arrays():
    document = suite([SentenceDoc(1, "AMB", ("The coach noticed the goal ended the match early.",))])
    data = (CASES / "19-jspsych-spr.json").read_bytes()
    people = imported(data, {"table": "self-paced-reading"}, document).matched.observations

    assert people.value.tolist() == [312, 340, 355, 301, 398, 421, 333, 350, 502]
    assert "html-button-response" in {table.name for table in imported(data, suite=document).tables}


def test_case_20_forced_choice():
    document = read_json((CASES / "suite.json").read_bytes())
    data = (CASES / "20-human-forced-choice.csv").read_bytes()

    assert "no row is named after the suite" in message(imported(data, suite=document))
    people = imported(data, {"suite_row": "identical_pair"}, document).matched.observations
    assert (people.value.tolist(), people.n_participants.tolist()) == ([0.94], [100])
    assert people.conditions[people.condition[0]] == "match"
