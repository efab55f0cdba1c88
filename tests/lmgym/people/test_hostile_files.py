"""Damaged and hostile files end in a problem, never in an exception."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmgym.people.intake import ROLES, files, limits
from tests.lmgym.people.data import by_region, csv_of, imported, message
from tests.lmgym.people.test_pcibex import EXPERIMENT

HEADER = "participant,item,condition,region,rt\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 40,
        b"\x1f\x8b\x08 broken",
        b"PK\x03\x04 broken",
        b"PAR1 broken PAR1",
        b"%PDF-1.4",
        b"[" * 5000,
        b'[{"trial_type": "x", "rt": NaN}',
        b"[1, 2]",
        b"{}",
        b"# 1. A.\n# 2. B.\n# 900. C.\n1,2,3\n",
        b"# 1. A.\n# 2. B.\n# 3. C.\n",
        b"one line",
        (HEADER + 'p,1,amb,1,"300\n').encode(),
        (HEADER + "p,1,amb,1,300,7,8\n").encode(),
        (HEADER + "p" * 200_000 + ",1,amb,1,300\n").encode(),
        (",".join("abcdefgh" * 100) + "\n1,2\n").encode(),
        (HEADER + "p,1,amb,\x07,300\n").encode(),
        b"Event Index,Participant Private ID,Reaction Time\nEND OF FILE,,\n",
        b"# 1. Results reception time.\n# 2. A.\n# 3. B.\n1,2,3\n",
        (HEADER + "p,99999999999999999999999999,amb,1,1e999\n").encode(),
    ],
    ids=range(21),
)
def test_damaged_files_have_a_problem(data):
    assert message(imported(data))


def test_a_bomb_is_stopped_at_the_limit(monkeypatch):
    monkeypatch.setattr(files, "LIMITS", limits.LIMITS.__class__(bytes=100_000))

    assert "more than 0 MB" in message(imported(gzip.compress(b"a,b\n" * 200_000)))


def test_text_in_another_encoding_is_asked():
    data = csv_of([["Jürgen", 1, "amb", 1, 300]]).decode().encode("windows-1252")

    assert imported(data).asks == ("encoding",)
    assert imported(data, {"encoding": "windows-1252", "missing": "accept"}).matched.observations is not None


@settings(max_examples=40)
@given(st.data())
def test_a_file_with_bytes_changed_never_raises(data):
    source = bytearray(data.draw(st.sampled_from([csv_of(by_region()), EXPERIMENT])))
    for _ in range(data.draw(st.integers(1, 8))):
        source[data.draw(st.integers(0, len(source) - 1))] = data.draw(st.integers(0, 255))
    imported(
        bytes(source),
        {"table": "Controller-DashedSentence-DashedSentence", "others": "out", "impossible": "out"},
    )


@settings(max_examples=40)
@given(
    st.dictionaries(st.sampled_from([f"columns.{k}" for k in "ABCDEZ"]), st.sampled_from([*ROLES, "unknown"]))
)
def test_any_roles_give_a_result_or_a_problem(roles):
    result = imported(csv_of(by_region()), roles)

    assert result.problems or result.matched.observations is not None
