"""Failed checks whose texts differ only in Unicode form get a message."""

from __future__ import annotations

import pytest

from tests.lmgym.agents.helpers import one_check


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ('keywords: "Caf\u00e9"', "Cafe\u0301 is open"),
        ('value: "Caf\u00e9"', "Cafe\u0301"),
        ('keywords: "10 000 EUR"', "10\u00a0000 EUR"),
        ('keywords: "file"', "the \ufb01le is here"),
        ('not_keywords: "file"', "the \ufb01le is here"),
    ],
)
def test_texts_that_differ_only_in_unicode_form_get_a_message(test, answer):
    [check] = one_check("text", test, answer).checks
    assert check.outcome == ("pass" if test.startswith("not_") else "fail"), "as in neuro-san"
    assert check.message.startswith("The texts differ only in Unicode form")


@pytest.mark.parametrize(
    ("test", "answer"),
    [('keywords: "Caf\u00e9"', "Cafe is open"), ('value: "Caf\u00e9"', "Caf\u00e9"), ('keywords: "a"', "b")],
)
def test_other_texts_get_no_message(test, answer):
    assert one_check("text", test, answer).checks[0].message == ""


def test_texts_within_data_get_the_message_too():
    [check] = one_check("structure", 'k: {keywords: "Caf\u00e9"}', {"k": ["Cafe\u0301"]}).checks
    assert (check.outcome, check.message[:37]) == ("fail", "The texts differ only in Unicode form")
