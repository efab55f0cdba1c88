"""`Result.upload` sends results of `lmgym.evaluate` to a site, which shows the same numbers."""

from __future__ import annotations

import pytest

import lmgym
from gym.accounts.models import Scope
from gym.accounts.tokens import create_token
from gym.runs.models import SuiteRun
from lmgym.client import ApiError
from suites.selectors import document_of
from tests.factories import make_revision
from tests.lmgym.suites.documents import AGREEMENT


class Words:
    name = "letters"

    def score(self, texts):
        return [[(word, float(len(word))) for word in text.split()] for text in texts]


@pytest.fixture
def sent(live_server, people):
    """(address of the site, alice's token, a result on her suite)"""
    revision = make_revision(people.alice, items=5, formulas=(AGREEMENT, "(*;%match%) < (*;%mismatch%)"))
    _, token = create_token(actor=people.alice, name="study", scopes=Scope.values)
    return live_server.url, token, lmgym.evaluate(document_of(revision), Words())


def test_the_numbers_are_those_of_the_study(sent):
    site, token, result = sent
    [answer] = result.upload(site, token)
    run = SuiteRun.objects.get()
    assert (run.source, run.model.name) == ("uploaded", "letters")
    assert answer["runs"] == [run.key]
    stored = run.prediction_results.order_by("prediction__position")
    assert [row.passed for row in stored] == result.rates()["passed"].tolist()
    margins = result.outcomes()["margin"].tolist()
    assert [m for row in stored for m in row.margins] == pytest.approx(margins)


def test_what_has_arrived_is_not_kept_twice(sent):
    site, token, result = sent
    first, again = result.upload(site, token), result.upload(site, token)
    assert first == again
    assert SuiteRun.objects.count() == 1


def test_a_wrong_token_is_refused_in_words(sent):
    site, _, result = sent
    with pytest.raises(ApiError, match="token"):
        result.upload(site, "lmg_wrong")
    assert not SuiteRun.objects.exists()
