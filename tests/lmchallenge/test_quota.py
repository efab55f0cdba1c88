"""Byte quotas on corpora and games. test_play.py tests the quotas on their number."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.jobs.models import Job
from gym.lmchallenge.models import Corpus, Game, LogChunk
from gym.lmchallenge.quotas import CORPORA, GAMES
from tests.lmchallenge.test_api import LOG
from tests.lmchallenge.worlds import TEXT, make_corpus


@pytest.mark.parametrize("name", ["lmc-corpus-new", "api-lmc-corpora"])
def test_a_corpus_counts_as_it_is_kept(client, people, settings, name):
    make_corpus(people.alice)
    settings.GYM_QUOTA_CORPORA = (0, CORPORA.amount_of(people.alice).bytes)
    client.force_login(people.alice)
    file = SimpleUploadedFile("more.txt", TEXT.encode())
    answer = client.post(
        reverse(name), {"title": "More", "visibility": "private", "file": file, "form": "auto"}
    )
    assert answer.status_code == 400
    assert Corpus.objects.count() == 1


def test_a_log_that_does_not_fit_leaves_nothing(client, people, settings):
    settings.GYM_QUOTA_GAMES = (0, 100)
    client.force_login(people.alice)
    answer = client.post(reverse("api-lmc-logs"), {"file": SimpleUploadedFile("wp.log", LOG.encode())})
    assert answer.status_code == 400
    assert "With this change, your games would take up" in answer.json()["detail"]
    assert [model.objects.count() for model in (Game, LogChunk, Job)] == [0, 0, 0]
    assert GAMES.amount_of(people.alice).bytes == 0
