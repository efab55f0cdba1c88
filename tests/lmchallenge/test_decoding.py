"""A log is decoded only once, whatever needs it and whatever the filters."""

from __future__ import annotations

from collections import Counter

import pytest
from django.urls import reverse

from gym.lmchallenge import counting, storage
from gym.lmchallenge.models import Game
from lmgym.lmchallenge.logs import decoder
from tests.lmchallenge.worlds import USERS, fresh, make_corpus, play, upload
from tests.once import once_a_module

pytestmark = pytest.mark.django_db
LINES = 12


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """Number of times each line was decoded, by (title of the game, line number)."""
    times: Counter[tuple[str, int]] = Counter()

    def counting_as(read):
        def through(stream, source, *given, **options):
            for number, line in read(stream, source, *given, **options):
                times[source, number] += 1
                yield number, line

        return through

    for name in ("read_lines", "read_rows"):
        monkeypatch.setattr(decoder, name, counting_as(getattr(decoder, name)))
    return times


def whole(*games: Game) -> dict[tuple[str, int], int]:
    return {(game.title, number): 1 for game in games for number in range(1, LINES + 1)}


def make_games(people) -> dict[str, Game]:
    """Create a game of each kind on one corpus, and an upload of the wp log without its words."""
    corpus = make_corpus(people.alice, USERS)
    made = {kind: play(corpus, people.alice, kind) for kind in ("wp", "tc", "ic")}
    lengths = b"".join(storage.log_in(made["wp"], "lengths")).decode()
    made["hidden"] = upload(people.alice, lengths, corpus=corpus, title="Hidden")
    Game.objects.filter(pk=made["wp"].pk).update(title="First")
    return {name: fresh(game) for name, game in made.items()}


built, people, games = once_a_module(make_games)


@pytest.mark.parametrize("kind", ["wp", "tc", "ic"])
def test_counting_a_game_by_all_filters_decodes_each_line_once(games, decoded, kind):
    game = games[kind]
    counting.count(game, lambda: None)
    assert decoded == whole(game)
    assert game.statistics.keys() == counting.FILTERS.keys()


@pytest.mark.parametrize("keep", ["all", "alphaemoji", "emoji"])
@pytest.mark.parametrize("partition", ["", "user"])
def test_a_page_of_stored_figures_decodes_nothing(client, games, decoded, keep, partition):
    for game in games.values():
        query = {"filter": keep, "partition": partition}
        assert client.get(reverse("lmc-game", args=[game.key]), query).status_code == 200
    assert client.get(reverse("lmc-search", args=[games["ic"].key]), {"filter": keep}).status_code == 200
    assert not decoded


PAGES = {
    "parts by line": ("lmc-game", "wp", {"partition": "line", "filter": "alpha"}),
    "parts of ic by line": ("lmc-game", "ic", {"partition": "line"}),
    "coloured text": ("lmc-text", "tc", {"filter": "alpha"}),
    "coloured text of ic, with one line told": ("lmc-text", "ic", {"line": 3}),
    "keystroke savings": ("api-lmc-statistics", "tc", {"selection_cost": 2}),
    "parts by line in the API": ("api-lmc-statistics", "wp", {"partition": "line"}),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_decodes_each_line_once(client, games, decoded, page):
    name, kind, query = PAGES[page]
    assert client.get(reverse(name, args=[games[kind].key]), query).status_code == 200
    assert decoded == whole(games[kind])


@pytest.mark.parametrize("keep", ["all", "alpha"])
def test_a_comparison_decodes_each_log_once(client, games, decoded, keep, people):
    first, hidden = games["wp"], games["hidden"]
    again = play(first.corpus, people.alice, "wp")
    decoded.clear()
    for other in (again, hidden):
        query = {"first": first.key, "second": other.key, "filter": keep}
        assert client.get(reverse("lmc-compare"), query).status_code == 200
        assert decoded == whole(first, other)
        decoded.clear()


def test_a_download_without_predictions_decodes_each_line_once(client, people, decoded):
    game = play(make_corpus(people.alice, USERS), people.alice, "wp", predictions=True)
    decoded.clear()
    answer = client.get(reverse("lmc-download", args=[game.key, "targets.log"]))
    assert len(b"".join(answer.streaming_content).splitlines()) == LINES
    assert decoded == whole(game)
