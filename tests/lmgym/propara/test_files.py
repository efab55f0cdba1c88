"""Problems, repairs, other file formats, prompts."""

from __future__ import annotations

import json
import unicodedata

import pytest

from lmgym.propara import ProParaError, evaluate
from lmgym.propara.check import MAX_PROBLEMS, check
from lmgym.propara.convert import (
    grids_to_actions,
    grids_to_json,
    looks_like_states,
    prompt_pack,
    read_response,
    states_to_actions,
    template,
)
from lmgym.propara.grid import read_grids, read_sentences
from lmgym.propara.groups import problem_groups
from lmgym.propara.reference import explain
from lmgym.propara.repair import decode, repair
from lmgym.propara.uploads import parse_upload, read_answers
from tests.lmgym.propara.worlds import LIGHT, shipped, tsv

GRIDS = read_grids(LIGHT, "answers")


def places(problems):
    return [(one.line, one.column, one.code) for one in problems]


def test_every_problem_is_listed_with_its_place_and_a_hint():
    text = tsv(
        "Process Step Participant Action Before After",
        "7 1.0 gas NONE star star",
        "7 2 gas destroyed star -",
        "7 3 gas NONE - ?",
        "7 4 gas CREATE ? -",
        "7 1 light NONE - -",
        "7 2 gas",
        "8 0 gas MOVE - -",
        "8 1 gas DESTROY _ x",
    )
    problems = check(GRIDS, text)
    assert places(problems) == [
        (1, 1, "integer"),
        (1, 2, "integer"),
        (2, 2, "integer"),
        (3, 4, "action"),
        (4, 6, "location"),
        (5, 5, "location"),
        (5, 6, "location"),
        (6, 3, "participant-unexpected"),
        (7, 3, "columns"),
        (8, 2, "step"),
        (8, 5, "location"),
        (8, 6, "location"),
        (9, 5, "location"),
        (9, 6, "location"),
    ]
    hints = {one.line: one.hint for one in problems if one.line in (1, 2, 3, 6)}
    assert hints[1] == "If this is a header row, delete it."
    assert hints[2] == "Write 1."
    assert hints[3] == "Did you mean DESTROY?"
    assert hints[6] == "Did you mean “light; rays”?"
    assert (
        str(problems[3])
        == "predictions, line 3, column 4: “destroyed” is not an action. Did you mean DESTROY?"
    )


def test_a_missing_process_and_an_empty_file_are_named():
    assert places(check(GRIDS, tsv("8 1 a NONE ? ?"))) == [(0, 0, "process-missing")]
    assert "empty" in [one.code for one in check(GRIDS, "")]


def test_a_file_that_only_a_spreadsheet_could_love_is_repaired_and_every_change_listed():
    messy = (
        "\ufeffProcess\tSentence\tParticipant\tAction\tBefore\tAfter\r\n"
        + LIGHT.replace("NONE", "none")
        .replace("light; rays", "Light;Rays ")
        .replace("CREATE\t-", "CREATE\t")
        .replace("7\t4", "7\t4.0")
        .replace("\n", "\t\r\n")
        + "\r\n"
    )
    done = repair(messy, GRIDS)
    assert done.text == LIGHT
    assert {one.code for one in done.repairs} == {
        *(
            "bom",
            "line-ends",
            "header",
            "action",
            "participant",
            "location",
            "integer",
            "columns",
            "blank-line",
        ),
    }
    assert all(one.message for one in done.repairs)
    assert evaluate(LIGHT, done.text).f1 == 1.0


def test_a_name_in_another_unicode_form_is_the_answers_name():
    answers = LIGHT.replace("gas", "gaz libéré")
    done = repair(unicodedata.normalize("NFD", answers), read_grids(answers, "answers"))
    assert done.text == answers
    assert {one.code for one in done.repairs} == {"participant"}
    assert "Unicode form" in done.repairs[0].message


def test_of_very_many_strange_names_only_the_first_are_looked_at(monkeypatch):
    compared = []
    monkeypatch.setattr(
        "lmgym.propara.check.nearest_name", lambda name, *_, **__: compared.append(name) or ""
    )
    strange = "".join(f"7\t1\t{number}\tNONE\t?\t?\n" for number in range(3 * MAX_PROBLEMS))
    problems = check(GRIDS, strange)
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1].code == "too-many"
    assert len(compared) <= MAX_PROBLEMS + 1


def test_a_clean_file_needs_no_repair():
    assert repair(LIGHT, GRIDS) == repair(LIGHT)
    assert repair(shipped("hasty")).repairs == ()
    assert repair(shipped("hasty")).text == shipped("hasty")


def test_a_number_too_long_to_be_read_is_reported():
    long = "9" * 4_301
    done = repair(LIGHT.replace("7\t", f" {long}\t"), GRIDS)
    assert {one.code for one in check(GRIDS, done.text)} == {"integer", "process-missing"}


def test_what_is_wrong_beyond_form_stays_and_is_reported():
    done = repair(LIGHT.replace("DESTROY", "EXPLODE"), GRIDS)
    assert done.repairs == ()
    assert places(check(GRIDS, done.text)) == [(2, 4, "action")]


@pytest.mark.parametrize("read", [lambda data: parse_upload(data, LIGHT), read_answers])
def test_a_grid_table_is_named_in_one_sentence(read):
    table = tsv("7 SID PARTICIPANTS light gas", "7 state1 - -", "7 1 Light_comes. -", "7 state2 sky -")
    with pytest.raises(ProParaError) as refusal:
        read(table.encode())
    assert [(one.line, one.code) for one in refusal.value.problems] == [(1, "grid-table")]


def test_uploads_are_decoded_or_refused_in_words():
    assert decode(LIGHT.encode()) == (LIGHT, [])
    text, repairs = decode(LIGHT.encode("utf-16"))
    assert (text, [one.code for one in repairs]) == (LIGHT, ["encoding"])
    with pytest.raises(ProParaError) as raised:
        decode("1\t1\tcafé".encode("latin-1"))
    assert places(raised.value.problems) == [(1, 0, "encoding")]


def test_actions_are_derived_from_state_files():
    states = "7\t1\tgas\tstar\tnull\n7\t2\tgas\tnull\tunk\n7\t3\tgas\tunk\tsoil\n7\t4\tgas\tsoil\tsoil\n"
    assert looks_like_states(states)
    assert not looks_like_states(LIGHT)
    assert [row.split("\t")[3:] for row in states_to_actions(states).splitlines()] == [
        ["DESTROY", "star", "-"],
        ["CREATE", "-", "?"],
        ["MOVE", "?", "soil"],
        ["NONE", "soil", "soil"],
    ]
    with pytest.raises(ProParaError) as raised:
        states_to_actions("7\t1\tgas\n7\tx\tgas\ta\tb\n")
    assert places(raised.value.problems) == [(1, 3, "columns"), (2, 1, "integer")]


STATES = "7\t1\tgas\tstar\tnull\n7\t2\tgas\tnull\tunk\n7\t3\tgas\tunk\tsoil\n7\t4\tgas\tsoil\tsoil\n"


@pytest.mark.parametrize(
    ("states", "repairs"),
    [
        ("process\tstep\tparticipant\tbefore\tafter\n" + STATES, [(1, 0, "header")]),
        (STATES.replace("7\t1\t", "7\t1.0\t"), [(1, 2, "integer")]),
        (STATES.replace("7\t1\t", " 07\t1\t"), [(1, 1, "integer")]),
        (STATES.replace("\n", "\t\n"), [(line, 6, "columns") for line in (1, 2, 3, 4)]),
        (STATES.replace("gas\tnull", "gas\tNULL"), [(2, 4, "location")]),
        (STATES.replace("unk\n", "Unk\n"), [(2, 5, "location")]),
        (STATES.replace("star\tnull", "star \t\u2014"), [(1, 4, "location"), (1, 5, "location")]),
        (STATES.replace("gas\tstar", " gas\tstar"), [(1, 3, "participant")]),
        (STATES.replace("\n", "\r\n"), [(0, 0, "line-ends")]),
        ("\ufeff" + STATES, [(1, 1, "bom")]),
        ("\n" + STATES, [(1, 0, "blank-line")]),
    ],
    ids=["header", "float", "zeros", "tab", "NULL", "Unk", "dash", "blank", "CRLF", "BOM", "line"],
)
def test_state_files_are_read_leniently_and_every_repair_is_listed(states, repairs):
    answers = states_to_actions(STATES)
    found = parse_upload(states.encode(), answers)
    assert found.kind == "states"
    assert found.text == answers
    assert [(one.line, one.column, one.code) for one in found.repairs] == repairs


def test_state_files_spell_participants_as_the_answers_do():
    found = parse_upload(("\n" + STATES.replace("gas", "Gas")).encode(), states_to_actions(STATES))
    assert {(one.line, one.code) for one in found.repairs} == {
        (1, "blank-line"),
        *((line, "participant") for line in (2, 3, 4, 5)),
    }


def test_all_rows_of_a_sentence_file_that_are_wrong_are_listed():
    with pytest.raises(ProParaError) as raised:
        evaluate(LIGHT, LIGHT, "7\t1\tGas.\n\n7\tx\tLight.\ny\t1\n")
    assert places(raised.value.problems) == [(2, 1, "columns"), (3, 2, "integer"), (4, 2, "columns")]
    assert raised.value.exit_code == 1
    with pytest.raises(ProParaError) as raised:
        evaluate(LIGHT, LIGHT.replace("MOVE", "WALK"), "7\tx\tGas.\n")
    assert [one.file for one in raised.value.problems] == ["predictions", "predictions", "sentences"]


def test_json_grids_go_there_and_back():
    assert grids_to_actions(json.loads(grids_to_json(GRIDS))) == LIGHT
    data = {"processes": [{"process_id": 7, "participants": {"gas": ["star", "star", None, "-", "?"]}}]}
    rows = grids_to_actions(data).splitlines()
    assert [row.split("\t")[3] for row in rows] == ["NONE", "DESTROY", "NONE", "CREATE"]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[1]",
        '[{"process_id": "1", "participants": {}}]',
        '[{"process_id": 1, "participants": {"a": ["x"]}}]',
        '[{"process_id": 1, "participants": {"a": ["x", 3]}}]',
        '[{"process_id": 1, "participants": {"a\\tb": ["x", "y"]}}]',
        '[{"process_id": 1, "participants": {"a": ["x", "y\\ud800"]}}]',
        '[{"process_id": 1, "participants": {"a": ["x", "y\\u0000"]}}]',
        '[{"process_id": 1, "participants": {"a\\udfff": ["x", "y"]}}]',
        '[{"process_id": 1, "participants": {"a\\u0000": ["x", "y"]}}]',
        '[{"process_id": 1, "participants": {"a": {"locations": ["x", "y"], "actions": ["FLY"]}}}]',
        '[{"process_id": 1, "participants": {"a": {"locations": ["x", "y"], "actions": []}}}]',
    ],
)
def test_json_that_is_no_grid_is_refused_with_its_place(text):
    with pytest.raises(ProParaError) as raised:
        grids_to_actions(json.loads(text))
    assert raised.value.problems


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (
            '{"processes": [{"process_id": 1, "participants": {"a": ["x", "y"], "a": ["x", "z"]}}]}',
            "grid.json",
        ),
        (
            '{"process_id": 1, "participants": {"b": ["x", "y"]}}\n'
            '{"process_id": 2, "participants": {"a": [], "a": []}}',
            "grid.json, line 2",
        ),
    ],
)
def test_a_participant_that_stands_twice_is_named_instead_of_counted_once(data, place):
    with pytest.raises(ProParaError) as raised:
        parse_upload(data.encode(), LIGHT, "grid.json")
    assert f"{place}: The JSON cannot be read: the key “a” is repeated in an object." in str(raised.value)


def test_the_template_can_be_scored_as_it_is():
    report = evaluate(LIGHT, template(GRIDS))
    assert report.precision == 1.0
    assert {flag.code for flag in report.warnings} == {"all-none"}


def test_the_prompt_pack_says_all_but_the_answers():
    sentences = {7: ("Gas burns.", "It becomes light.", "Light leaves.", "It falls on soil.")}
    (one,) = prompt_pack(GRIDS, sentences)
    assert one["participants"] == ["gas", "light; rays"]
    assert "2. It becomes light." in one["prompt"]
    assert "star" not in one["prompt"]
    assert one["schema"]["properties"]["participants"]["properties"]["gas"]["minItems"] == 5


def test_returned_json_is_scored_sample_by_sample():
    tracks = {"gas": ["star", "star", None, None, None], "light; rays": [None, None, "star", "space", "soil"]}
    right = json.dumps({"process_id": 7, "participants": tracks})
    returned = [f"Here it is:\n```json\n{right}\n```", right, "I cannot do that."]
    samples = parse_upload(json.dumps({"process_id": 7, "answers": returned}).encode(), LIGHT).samples
    assert [round(evaluate(LIGHT, one.text).f1, 3) for one in samples] == [1.0, 1.0, 0.0]
    assert [[pid for pid, _ in one.failures] for one in samples] == [[], [], [7]]


@pytest.mark.parametrize("text", ["", "{}", '{"process_id": 8, "participants": {}}'])
def test_an_answer_that_does_not_fit_is_refused(text):
    with pytest.raises(ProParaError):
        read_response(text, GRIDS[7])


def test_sentences_are_sorted_and_counted_anew():
    assert read_sentences("2\t9\tlast\n2\t-1\tfirst\n1\t1\tonly\n2\t9\tlater\tignored\n", "s") == {
        1: ("only",),
        2: ("first", "later"),
    }


def test_the_explainer():
    assert explain(LIGHT.replace("star\t-", "?\t-")) == [
        "In paragraph 7, sentence 2, the participant `gas` is destroyed at `an unknown location`",
        "In paragraph 7, sentence 2, the participant `light; rays` is created at `star`",
        "In paragraph 7, sentence 3, the participant `light; rays` is moved from `star` to `space`",
        "In paragraph 7, sentence 4, the participant `light; rays` is moved from `space` to `soil`",
    ]


def test_sentences_with_more_columns_or_a_number_that_stands_twice_are_refused_where_they_are_kept():
    with pytest.raises(ProParaError) as raised:
        read_answers(LIGHT.encode(), LIGHT.encode())
    assert [str(one) for one in problem_groups(raised.value.problems)] == [
        "sentences, lines 1, 2, 3, 4, 5 and 3 more, column 4: 8 lines have 6 columns, not 3. "
        "Write process, number and sentence, separated by tabs."
    ]
    with pytest.raises(ProParaError) as raised:
        read_answers(LIGHT.encode(), tsv("7 1 One", "7 2 Two", "7 2 Again", "7 01 Again").encode())
    assert [str(one) for one in problem_groups(raised.value.problems)] == [
        "sentences, lines 3, 4, column 2: 2 sentences have a number already used in their process: "
        "2 in process 7, 1 in process 7. Give each sentence its own number."
    ]
    assert evaluate(LIGHT, LIGHT, LIGHT).f1 == 1.0  # as the reference, which ignores what follows


TRACKS = {"gas": [None] * 5, "light; rays": [None] * 5}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"participants": TRACKS}, "“process_id” is missing."),
        ({"process_id": 8, "participants": TRACKS}, "process_id is 8; the prompt is about process 7."),
        ({"process_id": 7, "participants": {"gas": [None] * 5}}, "Participant “light; rays” is missing."),
        (
            {"process_id": 7, "participants": TRACKS | {"ash": []}},
            "Process 7 has no participant “ash”.",
        ),
        ({"process_id": 7, "participants": TRACKS, "note": 1}, "“note” is not expected."),
        (
            {"process_id": 7, "participants": TRACKS | {"gas": ["star"]}},
            "Participant “gas”: 1 location; expected 5 locations: before the first sentence and after each.",
        ),
        (
            {"process_id": 7, "participants": TRACKS | {"gas": "star"}},
            "Participant “gas”: “star”; expected 5 locations: before the first sentence and after each.",
        ),
        (
            {"process_id": 7, "participants": TRACKS | {"gas": ["star", 3, None, None, None]}},
            "Participant “gas”: location 2 is 3; expected text or null.",
        ),
        ({"process_id": 7, "participants": []}, "participants is []; expected an object."),
        ([], "The answer is []; expected an object."),
    ],
)
def test_an_answer_that_does_not_fit_says_why_in_a_sentence(answer, why):
    with pytest.raises(ProParaError) as raised:
        read_response(json.dumps(answer, ensure_ascii=False), GRIDS[7])
    assert str(raised.value) == why


def test_an_answer_that_is_no_json_says_where_it_breaks():
    with pytest.raises(ProParaError, match="The answer contains no JSON"):
        read_response("I cannot say.", GRIDS[7])
    with pytest.raises(ProParaError) as raised:
        read_response('{"process_id": }', GRIDS[7])
    assert str(raised.value).startswith("The JSON cannot be read. A value is missing here")
    assert str(raised.value).endswith("(line 1, column 16)")
