"""Differences between two logs have the same colours on the page as in `lmc pretty` and `lmc diff`."""

from __future__ import annotations

import re

import pytest
from django.http import Http404
from django.urls import reverse

from gym.lmchallenge import changes, counting, storage
from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs import pretty
from lmgym.lmchallenge.logs.version5 import log as version5_log
from lmgym.lmchallenge.logs.version5 import pretty as version5
from tests.lmchallenge.test_version_5 import RESULTS, a_log
from tests.lmchallenge.worlds import LOG, USERS, make_corpus, play, upload

pytestmark = pytest.mark.django_db


def changed_lines(first, game, page: int = 1) -> list[list[changes.ChangedPiece]]:
    return [line.pieces for line in changes.read_changes(first, game, "all", page).lines]


@pytest.mark.parametrize("kind", ["wp", "tc", "ic"])
def test_colours_of_the_page_are_those_of_the_terminal(client, people, kind):
    corpus = make_corpus(people.alice, USERS)
    first = play(corpus, people.alice, kind)
    log = b"".join(storage.log_lines(first)).decode()
    for was, new in (('"rank": 1,', '"rank": 4,'), (", -0.", ", -9.")):
        log = log.replace(was, new)
    second = upload(people.alice, log, corpus=corpus)
    logs = [[line for _, line in storage.decoded(game)] for game in (first, second)]
    mixes = [counting.mix_of(game, "all") for game in (first, second)]
    drawn = "".join(pretty.ansi(logs, keep="all", mixes=mixes, readings="reference"))
    pieces = [piece for line in changed_lines(first, second) for piece in line]
    colours = {"better": 2, "worse": 1, "same": 9, "both": 6, "both-wrong": 3, "skipped": 4}
    assert {colours[one.change] for one in pieces} - {9} == {
        int(one) for one in re.findall(r"3([1-8])m", drawn)
    }
    page = client.get(
        reverse("lmc-compare-text"), {"first": first.key, "second": second.key, "filter": "all"}
    )
    assert page.status_code == 200
    for one in pieces:
        assert f"lm-change-{one.change}" in page.content.decode()
    link = f"{reverse('lmc-compare-text')}?first={first.key}&amp;second={second.key}"
    assert (
        link
        in client.get(reverse("lmc-compare"), {"first": first.key, "second": second.key}).content.decode()
    )


def test_ranks_of_next_words_are_told_from_to(people):
    first = upload(people.alice, LOG)
    second = upload(people.alice, LOG.replace('"rank": 4', '"rank": 2').replace('"rank": 1,', '"rank": 3,'))
    (good, day), _ = changed_lines(first, second)
    assert (good.change, good.is_strong) == ("worse", True)
    assert (day.change, day.is_strong, day.words) == (
        "better", True, "“day”: better, newly in the top 1 or top 3, rank 4 → 2.",
    )  # fmt: skip


@pytest.mark.parametrize("game", RESULTS)
def test_so_are_messages_of_version_5(people, game):
    log = a_log(*RESULTS[game])
    other = log
    for was, new in (
        ("-1.0", "-9.0"),
        ('["the", "a"]', '["a", "b", "c", "d"]'),
        ('"cat", -2, -1', '"cat", -2, -9'),
    ):
        other = other.replace(was, new)
    first, second = upload(people.alice, log), upload(people.alice, other)
    before, now = ([*version5_log.read([line.encode() for line in one.splitlines()])] for one in (log, other))
    drawn = list(version5.difference(before, now, readings="corrected"))
    (pieces,) = changed_lines(first, second)
    assert "".join(piece.text for piece in pieces) == "thecat"
    colours = [version5.CHANGES[piece.change] for piece in pieces]
    assert {f"3{colour}m" for colour in colours} - {"39m"} <= set(re.findall(r"3\dm", drawn[0]))
    assert "worse" in {piece.change for piece in pieces}


def test_other_texts_and_games_are_refused(client, people):
    first = upload(people.alice, LOG)
    for log in (LOG.replace("night", "nacht"), LOG.splitlines()[0] + "\n", a_log(*RESULTS["wc"])):
        with pytest.raises(LogError):
            changed_lines(first, upload(people.alice, log))
    with pytest.raises(Http404):
        changed_lines(first, first, page=9)
    assert client.get(reverse("lmc-compare-text"), {"first": first.key}).status_code == 404


def test_every_change_has_words_and_a_colour():
    for game, words in changes.WORDS.items():
        colours = pretty.CHANGES if game in pretty.CHANGE_WORDS else version5.CHANGES
        assert {name for name, _ in words} <= colours.keys()
