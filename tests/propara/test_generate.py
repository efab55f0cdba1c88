"""A registered model answers: constrained, repeatable, and resumed process by process."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.accounts import daily_sentences
from gym.demo.catalogue import MODELS_DIR
from gym.jobs.models import Job, State
from gym.jobs.testing import run_pending
from gym.propara import actors, generation
from gym.propara.models import GeneratedProcess, Submission
from gym.propara.services import About
from lmgym.models.engine import ScoringFailure, TokenScores
from lmgym.propara.generate import GenerationError, answer_process, spans
from lmgym.propara.grid import read_grids
from tests.factories import make_model
from tests.propara.worlds import make_shipped, make_version

TEA = ["Water is poured from the tap into a kettle.", "The hot water makes tea in the pot."]


def scorer(cheap: dict[str, float], longest: int = 10_000):
    """10 bits a word, or what `cheap` says of the words after a paragraph; counts what it was asked."""

    def score(texts: Sequence[str]) -> list[TokenScores | ScoringFailure]:
        score.calls += 1
        return [
            _scores(text, cheap) if len(text) <= longest else ScoringFailure("too long") for text in texts
        ]

    score.calls = 0
    return score


def _scores(text: str, cheap: dict[str, float]) -> TokenScores:
    offsets, start = [], 0
    for word in text.split(" "):
        offsets.append((max(start - 1, 0), start + len(word)))
        start += len(word) + 1
    bits: list[float | None] = [10.0] * len(offsets)
    for ending, value in cheap.items():
        if text.endswith(ending) and text.count(".") > 1:
            bits[-1] = value
    names = text.split(" ")
    return TokenScores(names, [0] * len(names), offsets, bits, [False] * len(names))


def test_spans_are_runs_without_function_words():
    assert spans(TEA[0]) == ["water", "poured", "tap", "kettle"]
    assert spans("Magma, very hot rock, rises quickly.") == [
        "magma", "hot rock", "hot", "rock", "rises quickly", "rises", "quickly",
    ]  # fmt: skip
    assert len(spans(" ".join(f"w{k}" for k in range(100)))) == 24


def test_the_cheapest_continuations_become_the_answers():
    cheap = {"the tea does not exist yet.": 1, "Now the tea comes into being.": 1, "Now the tea is in the pot.": 1,
             "Now the tea goes to another place.": 5}  # fmt: skip
    answer = answer_process(3, TEA, ["tea"], scorer(cheap))
    # Nothing else is cheaper than its rivals, so NONE comes first in step 1 only where creation costs more.
    grid = read_grids(answer.text, "x")[3]
    assert grid.actions["tea"][-1] in ("CREATE", "MOVE")
    assert grid.locations["tea"][-1] == "pot"


def test_what_is_impossible_is_never_chosen():
    cheap = {f"Now the tea{words}": 0.0 for words in (" is no longer there.", " comes into being.")}
    for name in ("tea", "the tea; hot tea"):
        grid = read_grids(answer_process(1, TEA * 3, [name], scorer(cheap)).text, "x")[1]
        exists = grid.locations[name][0] != "null"
        for action in grid.actions[name]:
            assert action in (("NONE", "MOVE", "DESTROY") if exists else ("NONE", "CREATE"))
            exists = {"CREATE": True, "DESTROY": False}.get(action, exists)


def test_ties_are_always_decided_the_same_way():
    answers = {answer_process(1, TEA, ["tea", "water"], scorer({})).text for _ in range(3)}
    assert len(answers) == 1


def test_a_paragraph_that_is_too_long_is_read_sentence_by_sentence():
    assert answer_process(1, TEA * 5, ["tea"], scorer({}, longest=130)).text.count("\n") == 10
    with pytest.raises(GenerationError):
        answer_process(1, TEA, ["tea"], scorer({}, longest=20))


@pytest.fixture
def ngram(people, settings):
    """The demo's 5-gram model, ready."""
    shutil.copytree(MODELS_DIR / "demo-ngram", settings.GYM_MODEL_DIR / "demo-ngram")
    config = {"path": "demo-ngram"}
    return make_model(people.alice, slug="demo-ngram", backend="ngram", config=config)


def test_a_model_answers_and_is_named(client, people, ngram):
    version = make_shipped(people.alice)
    client.force_login(people.bob)
    address = reverse("propara-generate", args=["shipped", 1])
    page = client.post(address, {"model": ngram.slug, "visibility": "public"}).url
    assert "next in the queue" in client.get(page).content.decode()
    [job] = run_pending()
    assert (job.state, job.error) == ("done", "")
    submission = Submission.objects.get()
    assert (submission.state, submission.source, submission.model) == ("scored", "generated", ngram)
    assert submission.provenance["prompt"]
    assert submission.provenance["policy"]["bos"] == "auto"
    assert submission.generated.count() == version.n_processes
    html = client.get(page).content.decode()
    assert "generated here" in html
    assert "constrained choice by surprisal" in html


def test_its_steps_count_for_the_day(client, people, ngram, settings):
    version = make_shipped(people.alice)
    steps = sum(version.events.values())
    settings.GYM_MAX_SENTENCES_PER_DAY = steps
    generation.queue_generation(version, ngram, About("x"), actor=people.bob)
    assert daily_sentences.used_by(people.bob) == steps
    client.force_login(people.bob)
    address = reverse("propara-generate", args=["shipped", 1])
    page = client.post(address, {"model": ngram.slug, "visibility": "public"}).content.decode()
    assert "in the last 24 hours" in page
    assert Submission.objects.count() == 1


def test_the_same_model_gives_the_same_answers(people, ngram):
    version = make_shipped(people.alice)
    for _ in range(2):
        generation.queue_generation(version, ngram, About("x"), actor=people.bob)
    run_pending()
    first, second = Submission.objects.all()
    assert first.file_sha256 == second.file_sha256 != ""


def test_a_later_attempt_goes_on_where_the_first_one_stopped(people, ngram, monkeypatch):
    version = make_shipped(people.alice)
    submission = generation.queue_generation(version, ngram, About("x"), actor=people.bob)
    done = 0

    def breaks(pid, *rest):
        nonlocal done
        if done == 5:
            raise MemoryError("gone")
        done += 1
        return answer_process(pid, *rest)

    monkeypatch.setattr(actors, "answer_process", breaks)
    Job.objects.update(max_attempts=1)
    run_pending()
    assert (submission.generated.count(), Job.objects.get().state) == (5, State.FAILED)
    kept = list(submission.generated.values_list("pk", flat=True))
    monkeypatch.setattr(actors, "answer_process", answer_process)
    generation.retry_generation(submission, actor=people.bob)
    run_pending()
    submission.refresh_from_db()
    assert submission.state == "scored"
    assert list(GeneratedProcess.objects.values_list("pk", flat=True))[:5] == kept


def test_what_cannot_be_generated_is_refused(people, ngram):
    bare = make_version(people.alice, slug="bare", sentences="")
    with pytest.raises(ValidationError):
        generation.queue_generation(bare, ngram, About("x"), actor=people.bob)
    secret = make_version(people.alice, slug="secret", visibility="private")
    with pytest.raises(PermissionDenied):
        generation.queue_generation(secret, ngram, About("x"), actor=people.bob)
    unready = make_model(people.alice, slug="unready", ready=False)
    with pytest.raises(ValidationError):
        generation.queue_generation(make_version(people.alice), unready, About("x"), actor=people.bob)
    assert not Job.objects.exists()


def test_only_its_owner_sees_and_stops_it(client, people, ngram):
    submission = generation.queue_generation(
        make_version(people.alice), ngram, About("x", visibility="public"), actor=people.bob
    )
    client.force_login(people.charlie)
    assert client.get(submission.get_absolute_url()).status_code == 404
    client.force_login(people.bob)
    client.post(reverse("propara-submission-cancel", args=[submission.key]))
    assert Job.objects.get().state == State.CANCELLED
    client.post(reverse("propara-submission-retry", args=[submission.key]))
    assert Job.objects.get().state == State.QUEUED
