"""Runs with a named start token; and special tokens spelled out in a sentence."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.policies import policy_differences
from gym.runs.read.presenters import reproduce_command
from gym.runs.work import services
from lmgym.models.backends import ModelFacts
from lmgym.models.engine import ScoringPolicy
from lmgym.runs import score_store
from lmgym.suites.formats import read_suite
from suites import services as suites
from tests.factories import checked, make_model, make_revision
from tests.lmgym.models.conftest import tiny_models  # noqa: F401
from tests.lmgym.suites.documents import suite_bytes


@pytest.fixture
def tiny(people, settings, tiny_models):  # noqa: F811
    settings.GYM_MODEL_DIR = tiny_models
    config = {"source": "directory", "path": "no-bos", "device": "cpu"}
    return checked(make_model(people.alice, slug="tiny", backend="causal", config=config))


def start(client, user, revision, **given):
    client.force_login(user)
    form = {"models": ["tiny"], "join": "space", "metric": "sum"}
    return client.post(reverse("run-start", args=[revision.suite.slug, 1]), form | given, follow=True)


def test_a_run_with_a_named_token(client, people, tiny, tmp_path):
    revision = make_revision(people.alice)
    start(client, people.alice, revision, bos="named", bos_token="</s>")
    run_pending()
    run = SuiteRun.objects.get()
    assert (run.state, run.policy["bos"]) == ("done", "</s>")
    assert (run.provenance["bos"], run.provenance["declared_bos"]) == ("</s>", None)
    assert run.provenance["first_token_scored"] is True
    assert (policy_differences(run.policy, revision), run.standing) == ("bos=</s>", SuiteRun.Standing.OTHER)
    page = " ".join(client.get(run.get_absolute_url()).content.decode().split())
    assert "named: <code>&lt;/s&gt;</code> first, not scored itself" in page
    assert "--bos '</s>' --join" in reproduce_command(run)
    told = json.loads(client.get(reverse("run-download", args=[run.key, "json"])).content)
    assert (told["policy"]["bos"], told["provenance"]["bos"]) == ("</s>", "</s>")
    suite, out = tmp_path / "s.json", io.StringIO()
    suite.write_bytes(suite_bytes())
    call_command("evaluate", str(suite), "--model", "tiny", "--bos", "</s>", "--format", "json", stdout=out)
    assert json.loads(out.getvalue())["items"] == told["items"]


def test_a_token_that_the_vocabulary_lacks_fails_the_run_with_its_name(people, tiny):
    run = services.queue_run(
        make_revision(people.alice), tiny, ScoringPolicy(bos="<nowhere>"), actor=people.alice
    )
    run_pending()
    run.refresh_from_db()
    assert (run.state, "has no token '<nowhere>'" in run.job.error) == ("failed", True)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"bos": "named"}, "Enter the token"),
        ({"bos": "auto", "bos_token": "</s>"}, "Choose “another token”"),
        ({"bos": "named", "bos_token": "no"}, "choose one of auto, always, never"),
    ],
)
def test_the_form_says_what_is_wrong_with_a_start_token(client, people, given, says):
    make_model(people.alice, slug="tiny")
    page = start(client, people.alice, make_revision(people.alice), **given)
    assert says in page.content.decode()
    assert not SuiteRun.objects.exists()


def test_scores_are_kept_by_the_token_that_stood_first():
    def key(bos, own):
        facts = ModelFacts(
            parameters=1, vocabulary_size=9, tokenizer="", context_length=None, bos=own, eos=None, dtype="float32",
            device="cpu", revision="", fingerprint="f" * 64,
        )  # fmt: skip
        return score_store.scorer_key(facts, ScoringPolicy(bos=bos))

    assert key("auto", "<s>") == key("always", "<s>") == key("<s>", "</s>") == key("<s>", None)
    assert key("auto", None) == key("never", "<s>")
    assert len({key("auto", "<s>"), key("auto", "</s>"), key("never", "<s>")}) == 3


def test_a_token_that_the_tokenizer_does_not_declare_is_in_the_command_and_on_the_page(client, people):
    model = make_model(people.alice, slug="chat")
    run = services.queue_run(make_revision(people.alice), model, actor=people.alice)
    run_pending()
    run.refresh_from_db()
    assert "--bos auto" in reproduce_command(run)
    run.provenance |= {"backend": "causal", "bos": "<|endoftext|>", "declared_bos": "<|im_start|>"}
    run.save()
    assert "--bos '<|endoftext|>'" in reproduce_command(run)
    page = " ".join(client.get(run.get_absolute_url()).content.decode().split())
    assert "&lt;|im_start|&gt;" in page


def test_special_tokens_that_sentences_spell_out_are_a_notice_on_the_run(client, people, tiny):
    document = json.loads(suite_bytes(items=3))
    document["items"][1]["conditions"][0]["regions"][2]["content"] = "all day.</s>"
    suite = suites.import_suite(read_suite(json.dumps(document).encode()), actor=people.alice)
    suites.freeze(suite, actor=people.alice)
    run = services.queue_run(suite.latest_frozen, tiny, actor=people.alice)
    run_pending()
    run.refresh_from_db()
    assert run.provenance["special_in_text"] == {"tokens": ["</s>"], "sentences": 1, "items": [2]}
    client.force_login(people.alice)
    page = " ".join(client.get(run.get_absolute_url()).content.decode().split())
    assert "Special tokens in 1 sentence:" in page
    other = services.queue_run(make_revision(people.alice, name="plain"), tiny, actor=people.alice)
    run_pending()
    other.refresh_from_db()
    assert other.provenance["special_in_text"] == {}
