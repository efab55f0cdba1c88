"""Unknown words of a run, from the model's tokens to pages, API and files."""

from __future__ import annotations

import csv
import io
import json
import shutil

import pytest
from django.urls import reverse

from gym.demo.catalogue import MODELS_DIR
from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.work import preview, services
from tests.factories import make_model, make_revision, make_suite
from tests.runs.boards import finished_run


@pytest.fixture
def ngram(people, settings):
    shutil.copytree(MODELS_DIR / "demo-ngram", settings.GYM_MODEL_DIR / "demo-ngram")
    return make_model(people.alice, slug="ngram", backend="ngram", config={"path": "demo-ngram"})


@pytest.fixture
def run(people, ngram):
    """A real run of the demo's 5-gram on the factory's suite."""
    queued = services.queue_run(make_revision(people.alice), ngram, actor=people.alice)
    run_pending()
    queued.refresh_from_db()
    return queued


def known_share(run, n_unknown):
    """Change a finished run so that `n_unknown` of its ten words are unknown."""
    SuiteRun.objects.filter(pk=run.pk).update(
        n_words=10, n_unknown_words=n_unknown, unknown_words=["dax", "wug", "blick", "fep"][:n_unknown]
    )
    return run


def page_of(client, address):
    return " ".join(client.get(address).content.decode().split())


def test_a_run_counts_the_words_its_model_does_not_know(run):
    stored = {
        str(token[0]) for row in run.sentence_scores.all() for token in row.tokens if token[0] == "<unk>"
    }
    spelled = {
        row.text[token[2] : token[3]]
        for row in run.sentence_scores.all()
        for token in row.tokens
        if token[0] == "<unk>"
    }
    assert stored == {"<unk>"}
    assert set(run.unknown_words) == {word for word in spelled if word.isalpha()}
    assert (run.n_unknown_words, run.n_words) == (len(run.unknown_words), 14)


def test_counting_words_changes_no_number_and_no_cache_key(run, people, monkeypatch):
    scores = list(run.scores.order_by("rule").values("rate", "chance", "mean_margin"))
    monkeypatch.setattr("gym.runs.work.actors.coverage_of_run", lambda facts, result: None)
    again = services.queue_run(run.revision, run.model, actor=people.alice)
    run_pending()
    again.refresh_from_db()
    assert (again.n_words, again.scorer, again.n_cached) == (None, run.scorer, run.n_unique)
    assert list(again.scores.order_by("rule").values("rate", "chance", "mean_margin")) == scores


def test_the_uniform_model_knows_every_word(people):
    queued = services.queue_run(make_revision(people.alice), make_model(people.alice), actor=people.alice)
    run_pending()
    queued.refresh_from_db()
    assert (queued.n_words, queued.n_unknown_words, queued.coverage_words) == (None, None, "")


def test_the_run_page_names_the_words(client, run):
    page = page_of(client, run.get_absolute_url())
    assert run.coverage_words.capitalize() in page
    assert ", ".join(run.unknown_words) in page


def test_the_run_page_counts_the_words_that_are_not_kept_by_name(client, people):
    run = finished_run(make_revision(people.alice, items=20), make_model(people.alice), [1] * 20)
    words = [f"wug{k}" for k in range(200)]
    SuiteRun.objects.filter(pk=run.pk).update(n_words=2_000, n_unknown_words=1_205, unknown_words=words)
    page = page_of(client, run.get_absolute_url())
    assert f"{words[-1]}</span> and 1,005 more" in page


def test_the_item_page_names_those_of_the_item(client, run):
    page = page_of(client, reverse("run-item", args=[run.key, 1]))
    own = [
        word
        for word in run.unknown_words
        if any(word in row.text for row in run.sentence_scores.filter(sentence__item=1))
    ]
    assert f'<span class="user-text">{", ".join(own)}</span>' in page


def test_low_coverage_takes_above_chance_from_page_and_board(client, people):
    revision = make_revision(people.alice, items=20)
    run = known_share(finished_run(revision, make_model(people.alice), [1] * 20), 1)
    assert "above chance (50" in page_of(client, run.get_absolute_url())
    assert "cell cell-unknown-words" not in page_of(client, reverse("leaderboard"))
    known_share(run, 4)
    page = page_of(client, run.get_absolute_url())
    assert "above chance (50" not in page
    assert "not compared with chance: too many unknown words (50" in page
    board = page_of(client, reverse("leaderboard"))
    assert "cell cell-unknown-words" in board
    assert "coverage 60%: 4 words this model does not know" in board
    for address in (revision.get_absolute_url(), run.model.get_absolute_url(), reverse("home")):
        assert "coverage 60%: 4 words this model does not know" in page_of(client, address)


@pytest.fixture
def spelled(people, settings):
    """A run of the demo's GPT-2, whose 878 pieces spell words that the demo's grammar lacks."""
    shutil.copytree(MODELS_DIR / "demo-gpt2", settings.GYM_MODEL_DIR / "demo-gpt2")
    config = {"source": "directory", "path": "demo-gpt2", "device": "cpu"}
    model = make_model(people.alice, slug="gpt2", backend="causal", config=config)
    queued = services.queue_run(make_revision(people.alice, items=5), model, actor=people.alice)
    run_pending()
    queued.refresh_from_db()
    return queued


def test_words_spelled_in_pieces_weigh_as_unknown_ones_and_the_page_names_threshold_and_words(
    client, spelled
):
    assert spelled.provenance["spelling"]["n_words"] == 18  # without “The”, “My” and “Some”
    assert {"friend", "plays", "play"} <= set(spelled.unknown_words)
    page = page_of(client, spelled.get_absolute_url())
    assert ", ".join(spelled.unknown_words) in page
    assert spelled.spelling.words in page
    assert "Above 1.8 pieces per word" in spelled.spelling.words
    assert "so nothing here counts as above chance" in page


def test_the_item_page_names_words_in_pieces_of_a_run_that_is_spelled(client, spelled):
    page = page_of(client, reverse("run-item", args=[spelled.key, 3]))
    assert "friend, " in page.partition("this model does not know")[2].partition("</div>")[0]


def test_a_tie_on_every_item_is_no_difference(client, people):
    run = finished_run(make_revision(people.alice, items=20), make_model(people.alice), [2] * 20)
    page = page_of(client, run.get_absolute_url())
    assert "no difference: ties (50" in page
    assert "below chance" not in page
    assert "cell cell-tied" in page_of(client, reverse("leaderboard"))


def test_old_runs_say_nothing(client, people):
    run = finished_run(make_revision(people.alice), make_model(people.alice), [1, 1, 1])
    page = page_of(client, run.get_absolute_url())
    assert "overage" not in page
    found = client.get(reverse("api-run", args=[run.key])).json()
    assert (found["n_words"], found["n_unknown_words"], found["coverage"], found["unknown_words"]) == (
        None, None, None, [],
    )  # fmt: skip


def test_api_and_files_have_the_counts(client, people):
    run = known_share(finished_run(make_revision(people.alice), make_model(people.alice), [1, 1, 1]), 4)
    found = client.get(reverse("api-run", args=[run.key])).json()
    assert (found["n_words"], found["n_unknown_words"], found["coverage"]) == (10, 4, 0.6)
    assert found["unknown_words"] == ["dax", "wug", "blick", "fep"]
    everything = json.loads(client.get(reverse("run-download", args=[run.key, "json"])).content)
    assert everything["coverage"]["unknown_words"] == found["unknown_words"]
    answer = client.get(reverse("run-download", args=[run.key, "scores.csv"]))
    [first, *_] = csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode()))
    assert (first["n_words"], first["n_unknown_words"], first["coverage"]) == ("10", "4", "0.6")
    board = client.get(reverse("api-leaderboard")).json()
    [row] = board["results"] if "results" in board else board["models"]
    [cell] = row["suites"].values()
    assert (cell["n_words"], cell["n_unknown_words"], cell["coverage"]) == (10, 4, 0.6)


def test_the_preview_tells_the_words_of_each_sentence(client, people, ngram, monkeypatch):
    monkeypatch.setattr(preview, "WAIT_SECONDS", 0)
    client.force_login(people.alice)
    suite = make_suite(people.alice, frozen=False)
    ask = {"model": "ngram", "items": [1]}
    address = reverse("api-preview", args=[suite.slug])
    assert client.post(address, ask, content_type="application/json").status_code == 202
    run_pending("preview")
    [row, _] = client.post(address, ask, content_type="application/json").json()["rows"]
    assert set(row["known_words"]) | set(row["unknown_words"]) == {
        "The", "woman", "plays", "all", "day",
    }  # fmt: skip
    assert "plays" in row["unknown_words"]
