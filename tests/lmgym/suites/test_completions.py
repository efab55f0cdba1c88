"""Contexts and targets, and texts that complete a sentence: EWoK, BIG-bench, WinoGrande, cloze. No database."""

from __future__ import annotations

import json

import pytest

from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.parsing import ParseOptions
from lmgym.suites.intake.questions import answers_to, questions


def csv(*rows: str) -> bytes:
    return "".join(f"{row.replace('|', ',')}\n" for row in rows).encode()


def confirmed(data: bytes, name: str = "a.csv", **answers: str):
    """Read a file with the proposed answers; `answers` replaces some."""
    options = ParseOptions()
    result = parse_upload(data, name, options)
    for _ in range(3):
        if not result.asks:
            break
        proposed = {one.name: one.proposed for one in questions(result, options, {})}
        options = answers_to(
            proposed | {key.replace("__", "."): value for key, value in answers.items()}, options
        )
        result = parse_upload(data, name, options)
    return result


def texts(result):
    assert result.document, [str(problem) for problem in result.problems]
    return [(one.item, one.condition, " / ".join(one.contents)) for one in result.document.sentences]


def formulas(result):
    return [prediction.formula for prediction in result.document.predictions]


# --- contexts and targets ---

EWOK = csv(
    "Domain|Target1|Target2|Context1|Context2",
    "social|Ann is glad.|Ann is cross.|Bob helped Ann.|Bob pushed Ann.",
    "space|The owl is left.|The owl is right.|The cat is right.|The cat is left.",
)


def test_contexts_are_combined_with_targets_and_come_first():
    asked = parse_upload(EWOK, "a.csv")
    assert set(asked.asks) == {"columns", "prediction"}
    result = confirmed(EWOK)
    assert texts(result)[:4] == [
        (1, "Context1_Target1", "Bob helped Ann. / Ann is glad."),
        (1, "Context1_Target2", "Bob helped Ann. / Ann is cross."),
        (1, "Context2_Target1", "Bob pushed Ann. / Ann is glad."),
        (1, "Context2_Target2", "Bob pushed Ann. / Ann is cross."),
    ]
    assert result.document.extra["items"]["1"] == {"Domain": "social"}


def test_each_target_is_predicted_after_its_own_context_if_the_user_says_so():
    assert formulas(confirmed(EWOK)) == [
        "(2;%Context1_Target1%) < (2;%Context2_Target1%)",
        "(2;%Context2_Target2%) < (2;%Context1_Target2%)",
    ]
    assert formulas(confirmed(EWOK, prediction="-")) == []


def test_contexts_and_targets_are_the_factors():
    factors = confirmed(EWOK).document.meta["factors"]
    assert [(factor["name"], factor["levels"]) for factor in factors] == [
        ("Context", ["Context1", "Context2"]),
        ("Target", ["Target1", "Target2"]),
    ]


def test_shared_text_stands_around_contexts_and_targets():
    data = csv("p|q|r|s|end", "Owls|Cats|hoot|nap|at night.")
    roles = dict(
        zip("ABCDE", ["context_text", "context_text", "target_text", "target_text", "text"], strict=True)
    )
    result = parse_upload(data, "a.csv", ParseOptions(columns=roles, prediction="matched"))
    assert texts(result)[1] == (1, "p_s", "Owls / nap / at night.")
    assert formulas(result)[0] == "(2;%p_r%) < (2;%q_r%)"


@pytest.mark.parametrize(
    ("roles", "says"),
    [
        (["context_text", "target_text", "target_text"], "1 column with the role"),
        (["context_text", "context_text", "data"], "0 columns with the role"),
        (["answer", "text", "item"], "none “text of one condition”"),
        (["critical", "critical_from_0", "text"], "more than one column has the role"),
        (["content", "critical", "name"], "and another “critical word"),
        (["content", "opening", "name"], "and another “region at the beginning"),
    ],
)
def test_roles_that_make_no_suite_are_asked_again(roles, says):
    data = csv("p|q|r", "Owls|Cats|hoot")
    result = parse_upload(data, "a.csv", ParseOptions(columns=dict(zip("ABC", roles, strict=True))))
    assert "columns" in result.asks
    assert any(says in str(problem) for problem in result.problems)


# --- the right one of several texts ---


def task(*examples: dict) -> bytes:
    return json.dumps({"name": "x", "keywords": ["a"], "examples": list(examples)}).encode()


ONE = {"input": "Is an owl a bird?", "target_scores": {"No.": 0, "Yes.": 1, "Never.": 0}}
TWO = {"input": "Is a cat a bird?", "target_scores": {"No.": 1, "Yes.": 0, "Always.": 0}, "comment": "easy"}


def test_a_task_of_big_bench_is_read_without_questions():
    result = parse_upload(task(ONE, TWO), "task.json")
    assert texts(result)[:4] == [
        (1, "good", "Is an owl a bird? / Yes."),
        (1, "bad_1", "Is an owl a bird? / No."),
        (1, "bad_2", "Is an owl a bird? / Never."),
        (2, "good", "Is a cat a bird? / No."),
    ]
    assert formulas(result) == ["(*;%good%) < (*;%bad_1%)", "(*;%good%) < (*;%bad_2%)"]
    assert result.document.extra["items"]["2"] == {"comment": "easy"}


def test_examples_with_several_right_choices_are_left_out_and_named():
    both = {"input": "Name a bird:", "target_scores": {"owl": 1, "cat": 0, "hen": 1}}
    result = parse_upload(task(ONE, both, TWO), "task.json")
    assert len(texts(result)) == 6
    assert any("not read (entry 2)" in line for line in result.understood)


def test_examples_with_fewer_choices_are_asked_about():
    fewer = {"input": "Is it late?", "target_scores": {"Yes.": 1, "No.": 0}}
    assert parse_upload(task(ONE, fewer), "task.json").asks == ("empty",)


FRAMES = (
    "The owl missed the box because _ was small.|the owl|the box|{}",
    "Ann thanked Mary because _ had helped.|Ann|Mary|{}",
)


def frames(first: str, second: str, heading: str = "answer") -> bytes:
    one, two = FRAMES
    return csv(f"sentence|option1|option2|{heading}", one.format(first), two.format(second))


@pytest.mark.parametrize(
    ("first", "second"), [("2", "2"), ("1", "2"), ("the box", "Mary"), ("option1", "option2"), ("A", "(B)")]
)
def test_the_answer_column_says_which_text_is_good(first, second):
    roles = {"A": "text", "B": "condition_text", "C": "condition_text", "D": "answer"}
    result = parse_upload(frames(first, second), "a.csv", ParseOptions(columns=roles))
    good = "the box" if first in ("2", "the box") else "the owl"
    assert texts(result)[0] == (1, "good", f"The owl missed the box because / {good} / was small.")
    assert texts(result)[2] == (2, "good", "Ann thanked Mary because / Mary / had helped.")
    assert formulas(result) == ["(*;%good%) < (*;%bad%)"]
    assert f"Right texts: “{good}” (item 1), “Mary” (item 2)." in result.understood


def test_numbers_from_0_need_a_role_of_their_own():
    roles = {"A": "text", "B": "condition_text", "C": "condition_text", "D": "answer"}
    refused = parse_upload(frames("0", "1"), "a.csv", ParseOptions(columns=roles))
    assert "choose the role “which text is right (0 is the first)”" in str(refused.problems[0])
    result = parse_upload(frames("0", "1"), "a.csv", ParseOptions(columns=roles | {"D": "answer_from_0"}))
    assert [text.split(" / ")[1] for _, name, text in texts(result) if name == "good"] == ["the owl", "Mary"]


def test_options_their_frame_and_the_answer_are_proposed():
    assert parse_upload(frames("1", "2"), "a.csv").proposed_columns["D"] == "answer"
    assert parse_upload(frames("0", "1", "label"), "a.csv").proposed_columns["D"] == "answer_from_0"
    assert len(texts(confirmed(frames("1", "2")))) == 4


def test_an_answer_that_is_none_of_the_texts_is_named_by_its_cell():
    roles = {"A": "text", "B": "condition_text", "C": "condition_text", "D": "answer"}
    result = parse_upload(frames("1", "3"), "a.csv", ParseOptions(columns=roles))
    assert [problem.where for problem in result.problems] == ["row 3, column D (answer)"]


def test_letters_that_touch_a_blank_stay_in_its_word():
    data = csv("frame|a|b", "The ___'s nest fell.|owl|hen", "The ___'s bed broke.|cat|dog")
    roles = {"A": "text", "B": "condition_text", "C": "condition_text"}
    result = parse_upload(data, "a.csv", ParseOptions(columns=roles, prediction="-"))
    assert texts(result)[0] == (1, "a", "The / owl's / nest fell.")


# --- words that complete a sentence ---

CLOZE = csv(
    "item|good_ending|bad_ending|score|prefix",
    "1|mouse|cloud|4.5|The owl caught a",
    "2|milk|stone|5.5|The cat drank the",
    "3|song|chair|6.5|The girl sang a",
)


def test_endings_with_a_shared_beginning_are_proposed_as_conditions():
    result = confirmed(CLOZE)
    assert texts(result)[:2] == [
        (1, "good_ending", "The owl caught a / mouse"),
        (1, "bad_ending", "The owl caught a / cloud"),
    ]
    assert formulas(result) == ["(*;%good_ending%) < (*;%bad_ending%)"]
    assert result.document.extra["items"]["1"] == {"score": "4.5"}


def test_a_prefix_behind_the_text_is_asked_about_and_may_come_first():
    data = csv("item|condition|verb|prefix", "1|sg|hoots|The owl", "1|pl|hoot|The owls")
    asked = parse_upload(data, "a.csv")
    assert asked.asks == ("columns",)
    assert texts(confirmed(data)) == [(1, "sg", "The owl / hoots"), (1, "pl", "The owls / hoot")]


def test_expected_and_target_words_are_not_both_text():
    data = csv(
        "item|condition|context|expected|target",
        "1|a|The owl caught the|mouse|mouse", "1|b|The mouse caught the|owl|mouse",
    )  # fmt: skip
    assert texts(confirmed(data))[1] == (1, "b", "The mouse caught the / owl")


@pytest.mark.parametrize(
    "text", ["The $NOUN hoots.", "The [MASK] hoots.", "An owl is (a|an) bird.", "The {noun} hoots."]
)
def test_placeholders_are_reported(text):
    data = "\n".join(["item\tcondition\tS", f"1\ta\t{text}", f"1\tb\t{text}", ""]).encode()
    result = parse_upload(
        data, "a.tsv", ParseOptions(columns={"A": "item", "B": "condition", "C": "text"}, cut="none")
    )
    assert any("placeholder" in line for line in result.understood)


def test_alternatives_in_a_cell_are_reported():
    data = b"item\tcondition\tS\tV\n1\ta\tThe owl\thoots|sleeps\n1\tb\tThe owl\thoot\n"
    result = parse_upload(
        data,
        "a.tsv",
        ParseOptions(columns=dict(zip("ABCD", ["item", "condition", "text", "text"], strict=True))),
    )
    assert any("alternatives, such as “hoots|sleeps”" in line for line in result.understood)


def test_keys_of_an_example_that_are_called_like_its_parts_do_no_harm():
    odd = {**ONE, "answer": "Yes.", "choice x": "z", "choice 9": "y", "target": "Yes."}
    result = parse_upload(task(odd, TWO), "task.json")
    assert texts(result)[0] == (1, "good", "Is an owl a bird? / Yes.")
    assert result.document.extra["items"]["1"]["choice x"] == "z"


def test_an_example_without_an_input_is_named():
    result = parse_upload(task(ONE, {"target_scores": {"Yes.": 1, "No.": 0}}), "task.json")
    assert [(problem.where, problem.message) for problem in result.problems] == [
        ("entry 2", "“input” is missing or not text")
    ]
