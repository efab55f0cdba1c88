"""Pages of corpora and games: uploads are checked, and the results of games are shown."""

from __future__ import annotations

import gzip
import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.lmchallenge import services, storage
from gym.lmchallenge.models import Corpus, Game
from gym.lmchallenge.storage import reduced
from tests.lmchallenge.test_version_5 import a_log
from tests.lmchallenge.worlds import LOG, TEXT, USERS, make_corpus, play, upload
from tests.page_text import text_of

pytestmark = pytest.mark.django_db
SEEDS = [
    {"wordPredictions": [{"target": "Hi", "rank": 1, "score": 3}, {"target": "you", "score": None}]},
    {"textCompletions": [{"target": "He"}, {"target": "llo", "rank": 2, "score": 1}]},
    {
        "inputCorrections": [
            {
                "target": "Hi",
                "verbatim": "Ho",
                "score": [-1, None],
                "candidates": [["Ho", 0, -2], ["Hop", -3, None], ["Hi", -1, -1]],
            }
        ]
    },
]


def page(client, name: str, *args, status: int = 200, **query) -> str:
    response = client.get(reverse(name, args=args), query)
    assert response.status_code == status, response
    return text_of(response)


def send(client, name: str, *args, **data):
    return client.post(reverse(name, args=args), data)


def file(data: bytes, name: str = "mine.txt") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


def test_a_corpus_comes_in_and_goes_out_byte_for_byte(client, people):
    client.force_login(people.alice)
    data = b"Ein Satz.\r\n\tNoch einer\n\nletzte Zeile"
    given = {"form": "auto", "title": "Sätze", "visibility": "private"}
    answer = send(client, "lmc-corpus-new", file=file(gzip.compress(data)), **given)
    assert answer.status_code == 302
    corpus = Corpus.objects.get()
    assert (corpus.form, corpus.lines, corpus.tokens, corpus.size) == ("text", 4, 7, len(data))
    answer = client.get(reverse("lmc-corpus-download", args=[corpus.slug, "corpus.txt"]))
    assert answer.getvalue() == data
    rows = client.get(reverse("lmc-corpus-download", args=[corpus.slug, "corpus.jsonl"])).getvalue().decode()
    assert json.loads(rows.splitlines()[1]) == {"text": "\tNoch einer", "timestamp": 2}
    assert "A tab in the text" in page(client, "lmc-corpus", corpus.slug)


def test_checking_a_corpus_shows_tokens_and_keeps_nothing(client, people):
    client.force_login(people.alice)
    answer = send(client, "lmc-corpus-new", file=file(USERS.encode()), form="auto", check="1")
    text = answer.content.decode()
    assert answer.status_code == 200
    assert not Corpus.objects.exists()
    assert '<span class="lm-token">cat</span>' in text
    assert "12 lines" in text
    assert "3 users" in text


@pytest.mark.parametrize(
    ("data", "form", "says"),
    [
        (b"good\nb\xffd\n", "text", "line 2"),
        (b'{"text": "a"}\n{"txt": "b"}\n', "auto", "line 2"),
        (b'{"text": "a"}\nnonsense\n', "json", "line 2"),
        (b"\x1f\x8bbroken", "text", "compressed data is damaged"),
    ],
)
def test_a_corpus_that_cannot_be_read_is_refused_by_line(client, people, data, form, says):
    client.force_login(people.alice)
    answer = send(client, "lmc-corpus-new", file=file(data), form=form, title="Bad", visibility="private")
    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert not Corpus.objects.exists()


def test_a_pasted_corpus_is_one_and_json_that_comes_as_plain_text_is_asked_about(client, people):
    client.force_login(people.alice)
    given = {"title": "Mine", "visibility": "private"}
    answer = send(client, "lmc-corpus-new", pasted="One.\r\n two\r\n", form="auto", **given)
    assert (answer.status_code, bytes(gzip.decompress(Corpus.objects.get().packed))) == (302, b"One.\n two\n")
    given |= {"title": "Rows", "pasted": USERS}
    answer = send(client, "lmc-corpus-new", form="text", **given)
    text = text_of(answer)
    assert "12 lines look like JSON" in text
    assert "Save as JSON lines" in text
    assert "The cat 3 sat" in text
    assert not Corpus.objects.filter(title="Rows").exists()
    assert send(client, "lmc-corpus-new", form="auto", read_as="text", **given).status_code == 302
    assert Corpus.objects.get(title="Rows").form == "text"
    as_json = {**given, "title": "As JSON"}
    assert send(client, "lmc-corpus-new", form="text", read_as="json", **as_json).status_code == 302
    assert Corpus.objects.get(title="As JSON").form == "json"
    answer = send(client, "lmc-corpus-new", form="auto", file=file(b"a"), **given)
    assert "Choose either a file or pasted text, not both." in answer.content.decode()
    assert "Choose a file, or paste the text" in send(client, "lmc-corpus-new", form="auto").content.decode()


def test_a_packed_corpus_cannot_grow_past_the_limit(client, people, monkeypatch):
    monkeypatch.setattr(services, "MAX_BYTES", 10_000)
    client.force_login(people.alice)
    bomb = gzip.compress(b"a" * 1_000_000)
    answer = send(client, "lmc-corpus-new", file=file(bomb), form="text", title="Bomb", visibility="private")
    assert answer.status_code == 400
    assert "more than" in answer.content.decode()


@pytest.mark.parametrize("kind", ["wp", "tc", "ic"])
def test_a_game_is_started_played_and_read(client, people, kind):
    corpus = make_corpus(people.alice, USERS)
    client.force_login(people.alice)
    answer = send(client, "lmc-start", corpus.slug, game=kind, player="adaptive", train="on", targets="on",
                  predictions="on", visibility="private")  # fmt: skip
    game = Game.objects.get()
    assert answer.url == game.get_absolute_url()
    assert "queued" in page(client, "lmc-game", game.key)
    run_pending()
    for keep in ("all", "alphaonly"):
        for partition in ("", "user", "line"):
            assert "Metrics" in page(client, "lmc-game", game.key, filter=keep, partition=partition)
    text = page(client, "lmc-text", game.key, line="5")
    assert "data-words=" in text
    assert "Line 5" in text
    assert page(client, "lmc-list").count(game.get_absolute_url()) == 1


def test_numbers_below_zero_have_a_minus_sign_and_mixtures_one_form(client, people):
    rows = [
        {"verbatim": "cap", "results": [["cap", -1.0, -8.0], ["cat", -2.0, -1.5]]},
        {"verbatim": "the", "results": [["the", -1.0, -2.0], ["he", -3.0, -7.0]]},
    ]
    new = upload(people.alice, a_log(*rows, targets=("cat", "the")))
    old = play(make_corpus(people.alice), people.alice, "ic")
    for game in (new, old):
        for name in ("lmc-game", "lmc-search", "lmc-text"):
            text = re.sub(
                r"<svg.*?</svg>|<script.*?</script>", "", page(client, name, game.key), flags=re.DOTALL
            )
            assert not re.search(r"[>\s]-\d", text), name
            mixtures = re.findall(r"(?:[Aa]lpha|OOV penalty|beta) (−?[\d.]+\d)", text)
            assert all(re.fullmatch(r"−?\d\.\d{3}", one) for one in mixtures), mixtures


def test_a_corpus_of_any_version_can_be_played_says_its_empty_list(client, people):
    assert "Play games of LM Challenge 4 and 5" in page(client, "lmc-corpus", make_corpus(people.alice).slug)


def test_a_wrong_filter_or_page_is_not_there(client, people):
    game = play(make_corpus(people.alice), people.alice)
    for query in ({"filter": "x"}, {"partition": "x"}, {"partition": "line", "page": "99"}):
        page(client, "lmc-game", game.key, status=404, **query)
    page(client, "lmc-text", game.key, status=404, page="99")


def test_the_form_names_what_does_not_fit(client, people):
    corpus = make_corpus(people.alice)
    client.force_login(people.alice)
    answer = send(client, "lmc-start", corpus.slug, game="ic", player="adaptive", train="on",
                  visibility="private", seed="0", p_anykey="2")  # fmt: skip
    assert answer.status_code == 400
    assert not Game.objects.exists()


def test_the_form_folds_version_5_until_one_of_its_games_is_ticked(client, people):
    corpus = make_corpus(people.alice)
    client.force_login(people.alice)
    folded = re.compile(r'<details class="disclosure"( open)?><summary>Games of LM Challenge 5')
    assert folded.search(page(client, "lmc-start", corpus.slug))[1] is None
    answer = send(client, "lmc-start", corpus.slug, game="wr", visibility="private")
    assert folded.search(answer.content.decode())[1]


@pytest.mark.parametrize("row", SEEDS, ids=["wp", "tc", "ic"])
def test_foreign_logs_are_counted_and_coloured_whatever_their_shape(client, people, row):
    client.force_login(people.alice)
    data = gzip.compress((json.dumps(row) + "\n\n" + json.dumps(row) + "\n").encode())
    answer = send(client, "lmc-upload", file=file(data, "run.log.gz"), visibility="private")
    assert answer.status_code == 302
    run_pending()
    game = Game.objects.get()
    assert (game.title, game.lines, game.state, game.is_uploaded) == ("run.log.gz", 2, "done", True)
    assert game.game in ("wp", "tc", "ic")
    page(client, "lmc-game", game.key)
    page(client, "lmc-text", game.key, line="1")


def test_several_logs_come_in_together_or_none_does(client, people):
    client.force_login(people.alice)
    logs = [file(LOG.encode(), "a.log"), file(LOG.encode() + b"{cut off", "b.log")]
    answer = send(client, "lmc-upload", file=logs, visibility="private")
    assert (answer.status_code, "b.log, line 3" in answer.content.decode()) == (400, True)
    assert not Game.objects.exists()
    logs = [file(LOG.encode(), name) for name in ("a.log", "b.log")]
    answer = send(client, "lmc-upload", file=logs, title="Tuned", visibility="private")
    assert answer.url == reverse("lmc-list")
    assert set(Game.objects.values_list("title", flat=True)) == {"Tuned, a.log", "Tuned, b.log"}


def test_lines_without_a_user_are_told_as_such(client, people):
    rows = [{"userId": user, **SEEDS[0]} if user else SEEDS[0] for user in ("ann", None)]
    game = upload(people.alice, "".join(json.dumps(row) + "\n" for row in rows))
    text = page(client, "lmc-game", game.key, partition="user")
    parts = text.partition("By user</caption>")[2].partition("</table>")[0]
    assert re.findall(r'<th scope="row">\s*([^<]+)</th>', parts) == ["ann", "(no user)"]


def test_a_log_that_cannot_be_read_leaves_nothing(client, people):
    client.force_login(people.alice)
    answer = send(
        client, "lmc-upload", file=file(LOG.encode() + b"{cut off", "run.log"), visibility="private"
    )
    assert answer.status_code == 400
    assert "line 3" in answer.content.decode()
    assert not Game.objects.exists()
    answer = send(client, "lmc-upload", file=file(b"\n\n", "run.log"), visibility="private")
    assert answer.status_code == 400
    assert "empty" in answer.content.decode()


def test_ic_has_a_heat_map_and_others_have_not(client, people):
    corpus = make_corpus(people.alice, USERS)
    game = play(corpus, people.alice, "ic")
    text = page(client, "lmc-search", game.key)
    assert text.count("<td class=") == 55
    assert text.count("lm-best") == 1
    page(client, "lmc-search", play(corpus, people.alice).key, status=404)


def test_games_on_the_same_text_are_compared_and_others_refused(client, people):
    corpus = make_corpus(people.alice, USERS)
    first = play(corpus, people.alice)
    second = upload(people.alice, "".join(
        json.dumps({**row, "wordPredictions": [{"target": e["target"]} for e in row["wordPredictions"]]}) + "\n"
        for row in rows_of(first)
    ))  # fmt: skip
    text = page(client, "lmc-compare", first=first.key, second=second.key, filter="all")
    assert "McNemar" in text
    assert "worse" in text or "no significant difference" in text
    other = play(make_corpus(people.alice, slug="other"), people.alice)
    assert "different text" in page(client, "lmc-compare", first=first.key, second=other.key, status=400)
    ic = play(corpus, people.alice, "ic")
    assert "Compare games of the same kind" in page(
        client, "lmc-compare", first=first.key, second=ic.key, status=400
    )
    hidden = play(corpus, people.alice, visibility="private")
    page(client, "lmc-compare", first=first.key, second=hidden.key, status=404)


def without_words(game: Game, owner, **changes) -> Game:
    """Upload the game's log without words as another game."""
    rows = [{**reduced(row, "lengths"), **changes} for row in rows_of(game)]
    return upload(owner, "".join(json.dumps(row) + "\n" for row in rows), corpus=game.corpus, title="Hidden")


@pytest.mark.parametrize("kind", ["wp", "tc", "ic"])
def test_a_log_without_words_says_that_all_tokens_count(client, people, kind):
    corpus = make_corpus(people.alice)
    game = without_words(play(corpus, people.alice, kind), people.alice)
    text = page(client, "lmc-game", game.key)
    assert "all tokens: the log has no words" in text
    assert "tokens with a letter" not in text
    filtered = page(client, "lmc-game", game.key, filter="alphaonly")
    assert text.partition("<main")[2] == filtered.partition("<main")[2]
    if kind == "ic":
        assert "all tokens: the log has no words" in page(client, "lmc-search", game.key)
    found = json.loads(client.get(reverse("lmc-download", args=[game.key, "statistics.json"])).content)
    assert found["filter"] == "all"
    for name, args in (("lmc-list", []), ("lmc-corpus", [corpus.slug])):
        text = page(client, name, *args)
        assert text.count('<span class="quiet">all tokens</span>') == 1
        assert "over all tokens if the log has no words" in text


@pytest.mark.parametrize("kind", ["tc", "ic"])
def test_a_game_is_compared_with_its_log_without_words_by_all_tokens(client, people, kind):
    corpus = make_corpus(people.alice, USERS)
    first = play(corpus, people.alice, kind)
    second = without_words(first, people.alice)
    for games in ([first.key, second.key], [second.key, first.key]):
        assert f'<option value="{games[1]}">' in page(client, "lmc-game", games[0])
        text = page(client, "lmc-compare", first=games[0], second=games[1], filter="alphaonly")
        assert "on a different text" not in text
        assert '<td class="num nowrap">0.0000' in text
        assert "Hidden: no words in the log." in text
        assert 'name="filter" disabled' in text
    other = play(make_corpus(people.alice, USERS.replace("mat", "sofa"), slug="other"), people.alice, kind)
    assert "different text" in page(client, "lmc-compare", first=second.key, second=other.key, status=400)


def test_what_cannot_be_tested_is_said_to_be_so(client, people):
    corpus = make_corpus(people.alice)
    keys = [play(corpus, people.alice).key for _ in range(2)]
    text = page(client, "lmc-compare", first=keys[0], second=keys[1], cluster="user")
    assert "cannot be tested: only one user" in text
    assert "no significant difference" not in text
    assert "cannot be tested" not in page(
        client, "lmc-compare", first=keys[0], second=keys[1], cluster="line"
    )


def rows_of(game: Game) -> list[dict]:
    return [json.loads(line) for line in storage.log_lines(game)]


def test_downloads_say_what_is_kept(client, people):
    game = play(make_corpus(people.alice), people.alice, "wp", predictions=True)
    for form in ("predictions.log", "targets.log", "lengths.log"):
        answer = client.get(reverse("lmc-download", args=[game.key, form]))
        packed = client.get(reverse("lmc-download", args=[game.key, f"{form}.gz"]))
        assert gzip.decompress(packed.getvalue()) == answer.getvalue()
    found = json.loads(client.get(reverse("lmc-download", args=[game.key, "statistics.json"])).content)
    assert found["statistics"]["all"][0]["lines"] == 4
    assert found["text_fingerprint"] == game.fingerprint
    table = client.get(reverse("lmc-download", args=[game.key, "statistics.csv"])).content.decode()
    assert table.startswith("lines,users,")
    assert table.count("\r\n") == 2
    private = play(make_corpus(people.alice, slug="two"), people.alice, "wp", targets=False)
    assert client.get(reverse("lmc-download", args=[private.key, "targets.log"])).status_code == 404


def test_a_private_corpus_hides_the_logs_of_its_text(client, people):
    game = play(make_corpus(people.alice, visibility="private"), people.alice, visibility="public")
    client.force_login(people.charlie)
    page(client, "lmc-game", game.key, status=404)
    assert game.title not in page(client, "lmc-list")


def test_a_corpus_with_games_of_others_stays_and_stays_open(client, people):
    corpus = make_corpus(people.alice)
    play(corpus, people.bob)
    client.force_login(people.alice)
    send(client, "lmc-corpus-delete", corpus.slug)
    answer = send(client, "lmc-corpus-edit", corpus.slug, title="x", visibility="private", confirmed="1")
    assert answer.status_code == 400
    assert Corpus.objects.get().visibility == "public"


def test_names_and_texts_are_escaped(client, people):
    corpus = make_corpus(people.alice, "<script>alert(1)</script> <b>\n")
    game = play(corpus, people.alice, predictions=True)
    for text in (page(client, "lmc-corpus", corpus.slug), page(client, "lmc-text", game.key, line="1")):
        assert "<script>alert" not in text


def test_lists_take_as_many_queries_with_many_games_as_with_one(
    client, people, django_assert_max_num_queries
):
    corpus = make_corpus(people.alice, TEXT)
    for _ in range(6):
        play(corpus, people.alice)
    with django_assert_max_num_queries(10):
        page(client, "lmc-list")
    with django_assert_max_num_queries(10):
        page(client, "lmc-corpus", corpus.slug)
    key = Game.objects.first().key
    with django_assert_max_num_queries(10):
        page(client, "lmc-text", key)
    with django_assert_max_num_queries(10):
        page(client, "lmc-game", key)


def test_an_account_that_goes_takes_what_only_it_could_see(people):
    from gym.pages.account_deletion import delete_account

    public = make_corpus(people.alice, slug="public")
    make_corpus(people.alice, slug="mine", visibility="private")
    shown = play(public, people.alice)
    play(public, people.alice, visibility="private")
    delete_account(people.alice)
    assert list(Corpus.objects.values_list("slug", flat=True)) == ["public"]
    assert list(Game.objects.values_list("key", "owner")) == [(shown.key, None)]


def test_a_player_is_told_what_the_form_says_and_others_are_passed_over(client, people):
    client.force_login(people.alice)
    corpus = make_corpus(people.alice)
    given = {"game": "wp", "player": "adaptive", "train": "on", "targets": "on"}
    given["visibility"] = "private"
    assert "Spellings summed per candidate" in page(client, "lmc-start", corpus.slug)
    answer = send(client, "lmc-start", corpus.slug, **given, player_order="2", player_beam="4")
    assert answer.status_code == 302
    assert Game.objects.get().options["player"] == {"order": 2}
    answer = send(client, "lmc-start", corpus.slug, **given, player_order="9")
    assert answer.status_code == 400


def test_the_list_of_games_leads_to_their_comparison(client, people):
    play(make_corpus(people.alice), people.alice)
    assert reverse("lmc-compare") in page(client, "lmc-list")


def test_the_form_of_logs_has_the_field_that_is_read(client, people):
    client.force_login(people.alice)
    text = page(client, "lmc-upload")
    assert re.search(r'<input type="file"[^>]* name="file"', text)
    assert '<label class="form-label" for="id_file">Logs</label>' in text


def test_ticked_games_lead_to_the_comparison_with_the_first_one(client, people):
    corpus = make_corpus(people.alice)
    one, two, three = (play(corpus, people.alice).key for _ in range(3))
    answer = client.get(reverse("lmc-compare"), {"game": [one, two, three], "filter": "all"})
    assert answer.url == f"{reverse('lmc-compare')}?filter=all&first={one}&second={two}&second={three}"
    assert client.get(answer.url).context["first"].key == one
