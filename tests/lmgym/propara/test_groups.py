"""Problems and repairs are grouped by kind, with count and lines."""

from __future__ import annotations

import pytest

from lmgym.propara.errors import ProParaError
from lmgym.propara.groups import problem_groups, repair_groups
from lmgym.propara.uploads import parse_upload
from tests.lmgym.propara.worlds import LIGHT, shipped


def groups_of(text: str, answers: str = LIGHT) -> list[str]:
    with pytest.raises(ProParaError) as refused:
        parse_upload(text.encode(), answers, "p.tsv")
    return [str(one) for one in problem_groups(refused.value.problems)]


def test_lines_with_too_few_columns_are_one_problem_with_their_lines():
    text = LIGHT + "7\t1\tgas\tNONE\n" * 289
    [said] = groups_of(text)
    assert said.startswith(
        "p.tsv, lines 9, 10, 11, 12, 13 and 284 more, column 4: 289 lines have 4 columns, not 6. Write six columns:"
    )


def test_missing_processes_are_one_problem_with_their_numbers():
    text = "".join(line for line in shipped("hasty").splitlines(True) if line.startswith("1\t"))
    [said] = groups_of(text, shipped("answers"))
    assert said == "p.tsv: 13 processes are missing: 2, 3, 4, 5, 6 and 8 more."


def test_equal_messages_are_one_problem_with_their_number():
    said = groups_of(LIGHT.replace("7\t", "9" * 4_301 + "\t"))
    assert said[1].endswith(f"column 1: 7 × “{'9' * 40}” is not a whole number.")


def test_unlike_problems_stay_apart_each_with_its_own_hint():
    text = LIGHT.replace("DESTROY", "VANISH").replace("CREATE", "CREAT").replace("gas", "gass")
    said = groups_of(text)
    assert len(said) == 3
    assert any("“CREAT” is not an action. Did you mean CREATE?" in one for one in said)
    assert any("no participant “gass”. Did you mean “gas”?" in one for one in said)


def test_a_single_problem_is_said_as_it_is():
    [said] = groups_of(LIGHT + "7\t1\n")
    assert said.startswith("p.tsv, line 9, column 2: The line has 2 columns, not 6.")


def test_repairs_of_one_kind_are_one_row_the_most_frequent_first():
    text = "\n" + LIGHT.replace("MOVE", "MOVED")
    intake = parse_upload(text.encode(), LIGHT)
    first, second = repair_groups(intake.repairs)
    assert (first.message, first.n, first.lines) == ("“MOVED” became “MOVE”.", 2, (8, 9))
    assert second.message == "A blank line was removed."
    assert repair_groups([one._asdict() for one in intake.repairs]) == [first, second]


@pytest.mark.parametrize(("word", "sign"), [("null", "-"), ("NULL", "-"), ("unk", "?"), ("Unk", "?")])
def test_words_of_state_files_are_read_as_signs_in_six_columns(word, sign):
    text = LIGHT.replace("star\t-", f"star\t{word}") if sign == "-" else LIGHT.replace("space", word) + "\n"
    intake = parse_upload(text.encode(), LIGHT)
    assert any(one.message == f"“{word}” became “{sign}”." for one in repair_groups(intake.repairs))


def test_names_that_are_not_those_of_the_answers_are_one_problem_with_what_may_be_meant():
    rows = [line.split("\t") for line in shipped("answers").splitlines()]
    n = len({(row[0], row[2]) for row in rows})
    text = "".join("\t".join([*row[:2], f"{row[2]}s", *row[3:]]) + "\n" for row in rows)
    [said] = groups_of(text, shipped("answers"))
    assert (
        f"{n} participants are not in the answers: “{rows[0][2]}s” in process 1 (“{rows[0][2]}”?), " in said
    )
    assert said.endswith(f"and {n - 5} more. Use the names of the answers, verbatim.")


def test_missing_participants_are_one_problem_and_one_that_is_meant_is_not_said_again():
    names = {"gas": "steam", "light; rays": "12345"}
    answers = LIGHT + LIGHT.replace("7\t", "8\t")
    text = "".join(f"{pid}\t1\t{name}\tNONE\t?\t?\n" for pid in (7, 8) for name in names.values())
    assert groups_of(text, answers) == [
        "p.tsv, lines 1, 2, 3, 4, column 3: 4 participants are not in the answers: “steam” in process 7, "
        "“12345” in process 7, “steam” in process 8, “12345” in process 8. "
        "Use the names of the answers, verbatim.",
        "p.tsv: 4 participants are missing: “gas” in process 7, “light; rays” in process 7, "
        "“gas” in process 8, “light; rays” in process 8.",
    ]
    [said] = groups_of(LIGHT.replace("gas", "gass"))
    assert said == "p.tsv, line 1, column 3: Process 7 has no participant “gass”. Did you mean “gas”?"


@pytest.mark.parametrize("name", ["light rais", "ligth", "Rayz", "light; rais"])
def test_a_misspelt_alternative_leads_to_the_name_that_has_it(name):
    [said] = groups_of(LIGHT.replace("light; rays", name))
    assert said.endswith("Did you mean “light; rays”?")


def test_signs_that_nobody_can_see_are_named():
    [said] = groups_of(LIGHT.replace("gas", "g\u200ba\u00a0s"))
    assert "no participant “g[U+200B]a[U+00A0]s”. Did you mean “gas”?" in said
