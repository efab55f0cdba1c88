"""Problems and repairs of one kind are said once, with how often and where."""

from __future__ import annotations

import pytest

from gym.propara.core.errors import ProParaError
from gym.propara.core.groups import problem_groups, repair_groups
from gym.propara.core.uploads import take_in
from tests.propara.worlds import LIGHT, shipped


def groups_of(text: str, answers: str = LIGHT) -> list[str]:
    with pytest.raises(ProParaError) as refused:
        take_in(text.encode(), answers, "p.tsv")
    return [str(one) for one in problem_groups(refused.value.problems)]


def test_lines_with_too_few_columns_are_one_problem_with_their_lines():
    text = LIGHT + "7\t1\tgas\tNONE\n" * 289
    [said] = groups_of(text)
    assert said.startswith(
        "p.tsv, lines 9, 10, 11, 12, 13 and 284 more, column 4: 289 lines have 4 of 6 columns. Six:"
    )


def test_missing_processes_are_one_problem_with_their_numbers():
    text = "".join(line for line in shipped("hasty").splitlines(True) if line.startswith("1\t"))
    [said] = groups_of(text, shipped("answers"))
    assert said == "p.tsv: 13 processes are missing: 2, 3, 4, 5, 6 and 8 more."


def test_unlike_problems_stay_apart_each_with_its_own_hint():
    text = LIGHT.replace("DESTROY", "VANISH").replace("CREATE", "CREAT").replace("gas", "gass")
    said = groups_of(text)
    assert len(said) == 4
    assert any("'CREAT' is not an action. Did you mean CREATE?" in one for one in said)
    assert any("no participant 'gass'. Did you mean 'gas'?" in one for one in said)


def test_a_single_problem_is_said_as_it_is():
    [said] = groups_of(LIGHT + "7\t1\n")
    assert said.startswith("p.tsv, line 9, column 2: The line has 2 of 6 columns.")


def test_repairs_of_one_kind_are_one_row_the_most_frequent_first():
    text = "\n" + LIGHT.replace("MOVE", "MOVED")
    intake = take_in(text.encode(), LIGHT)
    first, second = repair_groups(intake.repairs)
    assert (first.message, first.n, first.lines) == ("'MOVED' became 'MOVE'.", 2, (8, 9))
    assert second.message == "A blank line was dropped."
    assert repair_groups([one._asdict() for one in intake.repairs]) == [first, second]


@pytest.mark.parametrize(("word", "sign"), [("null", "-"), ("NULL", "-"), ("unk", "?"), ("Unk", "?")])
def test_words_of_state_files_are_read_as_signs_in_six_columns(word, sign):
    text = LIGHT.replace("star\t-", f"star\t{word}") if sign == "-" else LIGHT.replace("space", word) + "\n"
    intake = take_in(text.encode(), LIGHT)
    assert any(one.message == f"{word!r} became {sign!r}." for one in repair_groups(intake.repairs))
