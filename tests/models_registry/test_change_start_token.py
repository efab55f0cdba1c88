"""The owner of a model chooses its start token from those that the check tried; existing runs keep theirs, by
name."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.jobs.services import enqueue
from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.policies import policy_differences
from gym.runs.work.services import same_run
from gym.runs.work.start_tokens import name_if_former, plain
from lmgym.models.backends import ModelFacts
from lmgym.models.engine import ScoringPolicy
from models_registry import actors, services, warm
from models_registry.signals import start_token_settled
from tests.factories import make_model, make_revision
from tests.runs.boards import finished_run

TURN, END = "<|im_start|>", "<|endoftext|>"
TRIED = {
    "token": END,
    "declared": TURN,
    "reason": f"the declared token, {TURN}, opens a chat turn",
    "language": "en",
    "n_sentences": 100,
    "n_tokens": 919,
    "candidates": [
        {"token": TURN, "role": "declared", "bits": 6.42, "in_chat_template": True, "opens_turn": True},
        {"token": END, "role": "end of text", "bits": 5.23, "in_chat_template": False, "opens_turn": False},
        {"token": None, "role": "none", "bits": 6.16, "in_chat_template": False, "opens_turn": False},
    ],
}
FACTS = {"bos": END, "eos": None, "declared_bos": TURN, "dtype": "float32", "probe": {"start_tokens": TRIED}}
CONFIG = {"source": "directory", "path": "chat"}


@pytest.fixture
def model(people):
    return make_model(people.alice, slug="chat", backend="causal", config=dict(CONFIG), facts=dict(FACTS))


def run_with(model, revision, bos: str, stood: str | None) -> SuiteRun:
    run = finished_run(revision, model, [1, 0, 1], policy={"bos": bos})
    run.provenance = {"bos": stood, "declared_bos": TURN, "backend": "causal"}
    run.save()
    return run


def settle(model) -> None:
    start_token_settled.send(sender=type(model), model=model)


def test_the_owner_takes_a_token_that_the_check_tried(client, people, model):
    client.force_login(people.alice)
    address = reverse("model-start-token", args=["chat"])
    assert client.post(address, {"token": TURN}).status_code == 302
    model.refresh_from_db()
    assert (model.facts["bos"], model.config) == (TURN, {**CONFIG, "bos_token": TURN})
    client.post(address, {"token": ""})
    model.refresh_from_db()
    assert (model.facts["bos"], model.config) == (None, {**CONFIG, "bos_token": ""})
    client.post(address, {"token": END})
    model.refresh_from_db()
    assert (model.facts["bos"], model.config) == (END, CONFIG)


def test_other_tokens_and_other_people_are_refused(people, model):
    with pytest.raises(ValidationError, match="Choose a token that the check tried"):
        services.change_start_token(model, "<nowhere>", actor=people.alice)
    with pytest.raises(PermissionDenied):
        services.change_start_token(model, TURN, actor=people.bob)
    with pytest.raises(ValidationError, match="tried no start tokens"):
        services.change_start_token(make_model(people.alice, facts={}), TURN, actor=people.alice)
    model.check_job = enqueue("check_model", {"model": model.pk}, title="Check")
    model.save()
    with pytest.raises(ValidationError, match="is being checked"):
        services.change_start_token(model, TURN, actor=people.alice)


def test_the_page_says_what_the_check_found_and_offers_a_choice_to_the_owner(client, people, model):
    page = " ".join(client.get(model.get_absolute_url()).content.decode().split())
    assert "opens a chat turn" in page
    assert "6.42" in page
    assert "the tokenizer declares <code>&lt;|im_start|&gt;</code>" in page
    assert "Change start token" not in page
    client.force_login(people.alice)
    assert "Change start token" in client.get(model.get_absolute_url()).content.decode()


def test_workers_load_the_model_with_its_own_token(model):
    assert warm.effective_config(model)["bos_token"] == END
    model.facts["bos"] = None
    assert warm.effective_config(model)["bos_token"] == ""
    model.facts = {"bos": TURN}  # checked by an older version
    assert "bos_token" not in warm.effective_config(model)


def test_kept_runs_say_their_token_by_name_and_are_no_longer_usual(people, model):
    revision = make_revision(people.alice)
    former, current, none, never, named = (
        run_with(model, revision, bos, stood)
        for bos, stood in (("auto", TURN), ("auto", END), ("always", None), ("never", None), (END, END))
    )
    settle(model)
    for run, bos, standing in (
        (former, TURN, SuiteRun.Standing.OTHER),
        (current, "auto", SuiteRun.Standing.DEFAULT),
        (none, "never", SuiteRun.Standing.OTHER),
        (never, "never", SuiteRun.Standing.OTHER),
        (named, "auto", SuiteRun.Standing.DEFAULT),
    ):
        run.refresh_from_db()
        assert (run.policy["bos"], run.standing) == (bos, standing)
    assert policy_differences(former.policy, revision) == f"bos={TURN}"
    model.facts = {**FACTS, "bos": TURN}
    settle(model)
    former.refresh_from_db()
    current.refresh_from_db()
    assert (former.policy["bos"], current.policy["bos"]) == ("auto", END)


def test_a_run_of_before_is_not_taken_for_the_same(people, model):
    revision = make_revision(people.alice)
    usual = ScoringPolicy()
    former = run_with(model, revision, "auto", TURN)
    SuiteRun.objects.filter(pk=former.pk).update(policy=usual.to_dict())
    assert same_run(revision, model, usual, user=people.alice) == former
    settle(model)
    assert same_run(revision, model, usual, user=people.alice) is None
    by_name = ScoringPolicy(bos=TURN)
    assert same_run(revision, model, by_name, user=people.alice) == former


def test_a_policy_that_names_the_models_own_token_is_the_usual_one(model):
    assert plain(ScoringPolicy(bos=END), model) == ScoringPolicy()
    assert plain(ScoringPolicy(bos=TURN), model) == ScoringPolicy(bos=TURN)
    assert plain(ScoringPolicy(bos="never"), model) == ScoringPolicy(bos="never")


@pytest.mark.parametrize(
    ("asked", "named", "stood"),
    [
        ("auto", TURN, TURN),
        ("auto", "auto", END),
        (END, "auto", END),
        (TURN, TURN, TURN),
        ("never", "never", None),
    ],
)
def test_a_run_that_was_under_way_when_the_token_changed_says_the_same_as_kept_ones(
    people, model, asked, named, stood
):
    run = run_with(model, make_revision(people.alice), asked, stood)
    loaded = ModelFacts(
        parameters=1, vocabulary_size=9, tokenizer="", context_length=None, bos=stood, eos=None, dtype="float32",
        device="cpu", revision="", fingerprint="f" * 64, declared_bos=TURN,
    )  # fmt: skip
    name_if_former(run, loaded)
    run.refresh_from_db()
    assert run.policy["bos"] == named


def test_a_check_that_finds_another_token_names_the_former_one(people, model, monkeypatch):
    model.facts["bos"] = TURN
    model.save()
    former = run_with(model, make_revision(people.alice), "auto", TURN)
    facts = ModelFacts(
        parameters=1, vocabulary_size=9, tokenizer="", context_length=None, bos=END, eos=None, dtype="float32",
        device="cpu", revision="", fingerprint="f" * 64, declared_bos=TURN,
    )  # fmt: skip
    monkeypatch.setattr(
        actors, "_load_and_probe", lambda *_: actors.Checked(facts, {"start_tokens": TRIED}, 0.1)
    )
    services.check_model(model, actor=people.alice)
    run_pending()
    model.refresh_from_db()
    former.refresh_from_db()
    assert (model.facts["bos"], former.policy["bos"]) == (END, TURN)
