"""Quotas per account on answer sets and their bytes. test_submit.py tests the quota on submissions."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.propara.models import AnswerSet, AnswerSetVersion
from gym.propara.quotas import ANSWER_SETS
from tests.lmgym.propara.worlds import LIGHT
from tests.propara.worlds import make_set


@pytest.fixture
def light(client, people):
    client.force_login(people.alice)
    return make_set(people.alice)


def given(**more):
    return {"answers": SimpleUploadedFile("answers.tsv", LIGHT.encode()), **more}


@pytest.mark.parametrize("name", ["propara-new", "api-propara-sets"])
def test_one_more_is_refused(client, light, settings, name):
    settings.GYM_QUOTA_ANSWER_SETS = (1, 0)
    answer = client.post(reverse(name), given(title="More", visibility="private"))
    assert answer.status_code == 400
    assert "You have 1 set of reference answers; the limit is 1" in answer.content.decode()
    assert (AnswerSet.objects.count(), AnswerSetVersion.objects.count()) == (1, 1)


@pytest.mark.parametrize("name", ["propara-version-new", "api-propara-versions"])
def test_a_version_counts_with_its_bytes(client, light, people, settings, name):
    settings.GYM_QUOTA_ANSWER_SETS = (0, ANSWER_SETS.amount_of(people.alice).bytes)
    answer = client.post(reverse(name, args=["light"]), given(note="again"))
    assert answer.status_code == 400
    assert "your sets of reference answers would take up" in answer.content.decode()
    assert AnswerSetVersion.objects.count() == 1
