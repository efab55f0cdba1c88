"""The text of a log can be searched, sorted, paged and downloaded: on the page, in the API, on the command
line."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse

from gym.lmchallenge import counting, storage
from gym.lmchallenge.models import TextIndex
from lmgym.lmchallenge.cli.main import main
from lmgym.lmchallenge.cli.streams import Streams
from lmgym.lmchallenge.logs import coloured
from tests.lmchallenge.test_version_5 import RESULTS, a_log
from tests.lmchallenge.worlds import LOG, fresh, run_alone, upload
from tests.lmgym.lmchallenge.test_text_index import a_log as a_log_of_4
from tests.once import once_a_module
from tests.page_text import text_of

pytestmark = pytest.mark.django_db
LINES = [
    ("ann", [("Good", 1), ("day", 4)]),
    ("bob", [("Good", 2), ("night", None)]),
    ("ann", [("Bad", None), ("<b>", None)]),
]


def log_of(lines, times: int = 1) -> str:
    rows = [
        {
            "userId": user,
            "wordPredictions": [{"target": word, "rank": rank, "score": -1} for word, rank in words],
        }
        for user, words in lines
    ]
    return "".join(json.dumps(row) + "\n" for row in rows * times)


built, people, game = once_a_module(lambda people: upload(people.alice, log_of(LINES)))


def numbers(client, game, status: int = 200, **query) -> list[int]:
    """Return the numbers of the lines that the page shows."""
    answer = client.get(reverse("lmc-text", args=[game.key]), query)
    assert answer.status_code == status, answer.content
    return [int(one) for one in re.findall(r'<li value="(\d+)">', text_of(answer))]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"order": "worst"}, [3, 2, 1]),
        ({"outcome": "errors"}, [1, 2, 3]),
        ({"outcome": "missed"}, [2, 3]),
        ({"word": "good"}, [1, 2]),
        ({"word": "good", "outcome": "near"}, [2]),
        ({"user": "ann", "order": "worst"}, [3, 1]),
        ({"word": "nowhere"}, []),
    ],
)
def test_lines_are_ordered_and_found(client, game, query, found):
    assert numbers(client, game, filter="all", **query) == found


def test_a_line_is_jumped_to_also_among_those_that_were_found(client, people):
    game = upload(people.alice, log_of(LINES, times=40))
    assert numbers(client, game, line="119") == list(range(101, 121))
    worst = numbers(client, game, line="118", order="worst", filter="all")
    assert worst[-1] > 100
    assert 118 in worst
    text = client.get(
        reverse("lmc-text", args=[game.key]), {"line": "1", "outcome": "missed", "filter": "all"}
    )
    assert "Line 1 does not match" in text_of(text)
    assert '<h2 id="told">Line 1</h2>' in text_of(text)
    assert numbers(client, game, status=404, page="5", outcome="missed", filter="all") == []


def test_what_cannot_be_looked_for_is_named(client, game, people):
    page = reverse("lmc-text", args=[game.key])
    for query, words in (({"outcome": "x"}, "There is no outcome"), ({"order": "best"}, "There is no order")):
        answer = client.get(page, query)
        assert (answer.status_code, words in text_of(answer)) == (400, True)
    hidden = upload(people.alice, b"".join(storage.log_in(game, "lengths")).decode())
    answer = client.get(reverse("lmc-text", args=[hidden.key]), {"word": "good"})
    assert (answer.status_code, "no words" in text_of(answer)) == (400, True)
    assert numbers(client, hidden, order="worst") == [3, 2, 1]


def test_a_line_that_is_not_there_is_told_how_many_there_are(client, game):
    page = reverse("lmc-text", args=[game.key])
    for query in ({"line": "99"}, {"line": "99", "outcome": "missed"}):
        answer = client.get(page, query)
        text = text_of(answer)
        assert (answer.status_code, "The last line of the log is 3." in text, "Go to line" in text) == (
            400,
            True,
            True,
        )
    for line in ("abc", "-1", "0"):
        answer = client.get(page, {"line": line})
        assert f"“{line}” is not a line number." in text_of(answer)
        assert answer.status_code == 400
    assert client.get(page, {"line": ""}).status_code == 200


def test_a_parameter_that_cannot_be_looked_for_is_named_as_one(client, game):
    answer = client.get(reverse("api-lmc-log", args=[game.key, "text.html"]), {"outcome": "bogus"})
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, "?outcome")


def test_a_user_of_the_statistics_can_be_looked_for_in_the_text(client, people):
    rows = [{**json.loads(LOG.splitlines()[0]), "userId": user} for user in ("ann", None, 7)]
    made = upload(people.alice, "".join(json.dumps(row) + "\n" for row in rows))
    address = reverse("api-lmc-statistics", args=[made.key])
    users = [part["user"] for part in client.get(address, {"partition": "user"}).json()["parts"]]
    assert users == ["ann", None, 7]
    for number, user in enumerate(users, 1):
        sent = "null" if user is None else str(user)
        assert numbers(client, made, user=sent) == [number]


def test_a_game_of_an_earlier_version_of_the_site_is_searched_once_its_owner_counts_it_again(
    client, game, people
):
    TextIndex.objects.all().delete()
    answer = client.get(reverse("lmc-text", args=[game.key]), {"order": "worst"})
    assert "was counted by an earlier version of this site" in text_of(answer)
    assert "Count again" not in text_of(answer)
    assert numbers(client, game) == [1, 2, 3]
    client.force_login(people.alice)
    for address in (game.get_absolute_url(), reverse("lmc-text", args=[game.key]) + "?order=worst"):
        assert "Count again" in text_of(client.get(address))
    assert client.post(reverse("lmc-count-again", args=[game.key])).status_code == 302
    run_alone(fresh(game))
    assert "Count again" not in text_of(client.get(game.get_absolute_url()))
    assert numbers(client, game, order="worst", filter="all") == [3, 2, 1]


def test_a_log_whose_counting_was_cancelled_is_counted_on_request(client, game, people):
    client.force_login(people.alice)
    client.post(reverse("lmc-count-again", args=[game.key]))
    assert "Cancel</button>" in text_of(client.get(game.get_absolute_url()))
    client.post(reverse("lmc-cancel", args=[game.key]))
    page = text_of(client.get(game.get_absolute_url()))
    assert "The previous metrics are shown below." in page
    assert "Count again</button>" in page
    client.post(reverse("lmc-retry", args=[game.key]))
    run_alone(fresh(game))
    assert fresh(game).state == "done"


@pytest.mark.parametrize("keep", ["all", "alphaemoji"])
def test_the_outcomes_of_input_correction_are_those_of_the_mixture_that_the_filter_chose(
    client, people, keep
):
    log = b"".join(a_log_of_4("ic", 8)).decode()  # the first mixture breaks other lines
    game = upload(people.alice, log)
    mix = counting.mix_of(game, keep)
    drawn = [coloured.line_of(number, line, keep, mix) for number, line in storage.decoded(game)]
    broken = [line.number for line in drawn if "broken" in {piece.outcome for piece in line.pieces}]
    assert broken
    assert numbers(client, game, filter=keep, outcome="broken") == broken[:25]


@pytest.mark.parametrize("version", [4, 5])
def test_the_coloured_text_is_a_file_of_what_the_page_shows(client, people, version):
    game = upload(
        people.alice, log_of(LINES) if version == 4 else a_log(*RESULTS["wc"], targets=("<b>", "cat"))
    )
    whole = client.get(reverse("lmc-download", args=[game.key, "text.html"])).getvalue().decode()
    assert whole.startswith("<!doctype html>")
    assert "&lt;b&gt;</span>" in whole
    assert "<b>" not in whole
    assert "correct at rank 2 or 3" in whole
    if version == 4:
        assert "correct at rank 4 or later" in whole
        query = {"order": "worst", "outcome": "missed", "filter": "all"}
        for name in ("lmc-download", "api-lmc-log"):
            some = client.get(reverse(name, args=[game.key, "text.html"]), query).getvalue().decode()
            assert re.findall(r"<tr><th>(\d+)</th>", some) == ["3", "2"]
            assert "2 of 3 lines: worst first, not predicted" in some


def test_messages_of_version_5_are_ordered_whole(client, people):
    first = a_log({"logp": -1.0}, {"logp": -2.0})
    second = a_log({"logp": -9.0}, {"logp": -9.0}).replace('"message": 0', '"message": 1')
    game = upload(people.alice, first + second)
    assert numbers(client, game, order="worst") == [3, 1]
    assert numbers(client, game, outcome="errors") == [3]
    assert numbers(client, game, word="CAT", order="worst", line="2") == [3, 1]


@pytest.mark.parametrize("log", [log_of(LINES), a_log(*RESULTS["wr"])])
def test_the_command_line_writes_the_same_file(tmp_path, log):
    import io

    path = tmp_path / "my.log"
    path.write_text(log)
    out = io.BytesIO()
    streams = Streams(io.BytesIO(), out, io.StringIO())
    assert main(["pretty", "-o", "html", str(path)], streams=streams) == 0
    text = out.getvalue().decode()
    assert text.startswith("<!doctype html>")
    assert "my.log" in text
    assert main(["pretty", "-o", "html", str(path), str(path)], streams=streams) == 2
    path.write_text("")
    assert main(["pretty", "-o", "html", str(path)], streams=streams) == 2
