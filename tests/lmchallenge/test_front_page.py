"""The front page explains the task, with an example that the code confirms, and states what needs an
account."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse

from gym.lmchallenge import presenters
from lmgym.lmchallenge.logs.decoder import read_lines
from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.stats import statistics
from lmgym.lmchallenge.logs.table import read_table
from tests.lmchallenge.test_version_5 import RESULTS, a_log
from tests.lmchallenge.worlds import make_corpus, play, upload

pytestmark = pytest.mark.django_db


def counted(row: dict, mix: Mix | None = None) -> dict:
    lines = read_lines([json.dumps(row).encode()])
    (found,) = statistics(read_table(lines, filters=["all"], mixes=[mix] if mix else []), "all", mix)
    return found


def test_the_example_is_counted_as_it_says(client):
    page = client.get(reverse("lmc-list")).content.decode()
    wp = [
        {"target": "the", "rank": 1, "score": -1},
        {"target": "cat", "rank": 4, "score": -4},
        {"target": "sat"},
    ]
    found = counted({"wordPredictions": wp})
    assert f"1 ÷ 3 = {found['hit3']:.3f}" in page
    assert f"(1 + 1 ÷ 4 + 0) ÷ 3 = {found['mrr']:.3f}" in page
    accepted = {"rank": 0, "score": 0}
    tc = [{"target": "t"}, {"target": "he cat ", **accepted}, {"target": "s"}, {"target": "at", **accepted}]
    found = counted({"textCompletions": tc})
    assert f"4 keystrokes ÷ {found['chars']} characters = {found['kpc']:.3f}" in page
    assert f"9 ÷ 11 = {found['pcpc']:.3f}" in page

    def typed(target: str, as_: str, model: float) -> dict:
        names = list(dict.fromkeys([target, as_]))
        scores = [[name, -1.0 if name == as_ else -3.0, model if name == target else -9.0] for name in names]
        return {"target": target, "verbatim": as_, "score": scores[0][1:], "candidates": scores}

    ic = [typed("the", "the", -1.0), typed("cat", "cst", -1.0), typed("sat", "sst", -9.0)]
    found = counted({"inputCorrections": ic}, Mix(0.5, -4.0))
    assert f"accuracy</a> 2 ÷ 3 = {found['accuracy']:.3f}" in page
    assert found["corrected_errors"] == 1 / 2


def test_a_visitor_is_told_what_needs_an_account_and_a_member_is_not(client, people):
    corpus = make_corpus(people.alice)
    for address in (reverse("lmc-list"), corpus.get_absolute_url()):
        assert "Sign in to play" in client.get(address).content.decode()
    client.force_login(people.alice)
    for address in (reverse("lmc-list"), corpus.get_absolute_url()):
        assert "Sign in to play" not in client.get(address).content.decode()


@pytest.mark.parametrize("kind", ["wp", "tc", "ic"])
def test_every_figure_leads_to_how_it_is_computed(client, people, kind):
    game = play(make_corpus(people.alice), people.alice, kind)
    about = client.get(reverse("about")).content.decode()
    page = client.get(game.get_absolute_url()).content.decode()
    links = re.findall(r'<th scope="row"><a href="/about/#([a-z-]+)">', page)
    assert len(links) >= len(presenters.ORDER[kind])
    for anchor in set(links) | set(presenters.EXPLAINED.values()):
        assert f'id="{anchor}"' in about


def test_what_version_5_has_not_is_said(client, people):
    game = upload(people.alice, a_log(*RESULTS["wr"]))
    text = client.get(reverse("lmc-search", args=[game.key])).content.decode()
    assert "Nelder-Mead" in text
    answer = client.get(reverse("lmc-download", args=[game.key, "lengths.log"]), follow=True)
    assert "available in one format" in answer.content.decode()
    answer = client.get(reverse("api-lmc-log", args=[game.key, "targets.log"]))
    assert (answer.status_code, "available in one format" in answer.content.decode()) == (400, True)


def test_members_play_from_the_front_page(client, people):
    play = reverse("lmc-start", args=[make_corpus(people.alice, visibility="public").slug])
    assert play not in client.get(reverse("lmc-list")).content.decode()
    client.force_login(people.charlie)
    assert play in client.get(reverse("lmc-list")).content.decode()
