"""Models of the Hub on the site: the check downloads them with progress, can be cancelled, and stores current
names."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from gym.jobs.context import JobContext
from gym.jobs.errors import Cancelled
from gym.jobs.models import Job, State
from gym.jobs.testing import run_pending
from gym.runs.work.services import queue_run
from lmgym.models.backends import BackendUnavailable, hub, hub_cache
from models_registry import actors, services, warm, weights
from models_registry.models import RegisteredModel
from tests.factories import make_model, make_suite
from tests.lmgym.models import tiny
from tests.lmgym.models.hub_downloads import partials
from tests.lmgym.models.hub_server import hub_server, use_hub

REPO = "openai-community/gpt2"


@pytest.fixture(autouse=True)
def _cold():
    yield
    warm.forget()


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory):
    pytest.importorskip("torch")
    tokenizer = tiny.train("byte-bpe")
    return tiny.save(
        tmp_path_factory.mktemp("tiny") / "gpt2", tiny.gpt2(tokenizer.get_vocab_size()), tiny.fast(tokenizer)
    )


@pytest.fixture
def server(monkeypatch, tmp_path, tiny_folder):
    with hub_server() as there:
        use_hub(monkeypatch, there.url, tmp_path / "cache")
        there.add(REPO, tiny_folder)
        there.old_names = {"gpt2": REPO}
        yield there


def of_the_hub(people, repo: str = REPO, slug: str = "gpt2", **more) -> RegisteredModel:
    config = {"source": "hub", "repo": repo, "device": "cpu"}
    return make_model(people.staff, slug=slug, backend="causal", config=config, **{"ready": False} | more)


def check(model, actor) -> Job:
    services.check_model(model, actor=actor)
    [job] = run_pending()
    model.refresh_from_db()
    return job


def test_a_short_name_is_checked_in_a_child_and_stored_as_the_present_one(people, server):
    model = of_the_hub(people, "gpt2")
    job = check(model, people.staff)
    assert (model.status, model.status_reason) == ("ready", "")
    assert model.config["repo"] == REPO
    assert model.source_revision == server.repos[REPO].refs["main"]
    assert model.licence == "apache-2.0"  # as stated by the Hub
    assert (job.unit, job.done) == ("kB", job.total)
    server.close()
    with warm.loaded_model(model) as backend:  # from the cache
        assert backend.facts.fingerprint == model.fingerprint


def test_a_hub_that_is_down_breaks_a_new_model_and_not_one_that_is_checked_again(people, server, no_child):
    server.fail("/revision/", times=9, status=503)
    model = of_the_hub(people)
    check(model, people.staff)
    assert (model.status, "returned HTTP 503" in model.status_reason) == ("broken", True)
    server.faults.clear()
    check(model, people.staff)
    assert model.status == "ready"
    hub_cache.delete(hub_cache.marked())
    server.fail("/revision/", times=9, status=503)
    with pytest.raises(BackendUnavailable, match="returned HTTP 503"):
        actors.inspect(model, repin=False, recheck=True)


def test_a_cancelled_download_ends_at_once_and_leaves_no_partial_file(people, server):
    class Stopped(BaseException):
        pass

    seen: list[float] = []

    def tick():
        if partials():
            seen.append(time.monotonic())
            raise Stopped

    server.fail("/repos/", method="GET", bytes_per_second=1000)
    with pytest.raises(Stopped):
        actors.inspect(of_the_hub(people), tick=tick)
    assert time.monotonic() - seen[0] < 2
    assert partials() == []


def test_a_run_on_another_machine_downloads_first_and_can_be_cancelled(people, server, no_child, monkeypatch):
    model = of_the_hub(people, visibility="public")
    check(model, people.staff)
    hub_cache.delete(hub_cache.marked())  # as on a machine that did not check it
    revision = make_suite(people.staff).latest_frozen
    server.fail("/repos/", method="GET", bytes_per_second=1000)

    def check_context(context):
        if partials():
            Job.objects.filter(pk=context.job_id).update(cancel_requested=True)
            raise Cancelled

    with monkeypatch.context() as patch:
        patch.setattr(JobContext, "check", check_context)
        queue_run(revision, model, actor=people.staff)
        [job] = run_pending()
    assert job.state == "cancelled"
    server.faults.clear()
    queue_run(revision, model, actor=people.staff)
    [job] = run_pending()
    assert (job.state, job.error) == ("done", "")
    assert [cached.repo for cached in hub_cache.marked()] == [REPO]


def test_the_page_shows_bytes_and_lets_editors_cancel(client, people):
    model = of_the_hub(people, visibility="public")
    services.check_model(model, actor=people.staff)
    Job.objects.update(
        state=State.RUNNING,
        unit="kB",
        done=1536,
        total=4096,
        started=timezone.now(),
        heartbeat_at=timezone.now(),
        claimed_by="a worker",
        lease_until=timezone.now() + timedelta(minutes=1),
    )
    status = reverse("model-status", args=[model.slug])
    page = client.get(status).content.decode()
    assert "Downloading: 1.5\xa0MB of 3.9\xa0MB." in page
    assert "Cancel" not in page
    with pytest.raises(PermissionDenied):
        services.cancel_check(model, actor=people.charlie)
    client.force_login(people.staff)
    assert "Cancel" in client.get(status).content.decode()
    client.post(reverse("model-cancel-check", args=[model.slug]))
    assert Job.objects.get().cancel_requested
    assert "Stopping…" in client.get(status).content.decode()


def test_a_site_keeps_no_more_than_its_limit(people, server, settings, no_child):
    settings.GYM_HUB_CACHE_GB = 1
    server.repos[REPO].sizes["model.safetensors"] = 2 * 10**9
    model = of_the_hub(people)
    check(model, people.staff)
    assert model.status == "broken"
    assert (
        "This site may keep 1.0 GB of downloaded models on this machine, and already keeps 0.0 MB."
        in model.status_reason
    )
    assert server.asked("/resolve/") == []


# --- weights that no model uses ---


def test_weights_go_with_the_last_model_that_uses_them(people, server, capsys):
    commit = server.repos[REPO].refs["main"]
    hub.fetch(REPO, "main", budget=0)
    first = of_the_hub(people, source_revision=commit, ready=True)
    second = of_the_hub(people, slug="again", source_revision=commit, ready=True)
    for model in (first, second):
        assert weights.unused() == []
        model.delete()
    [left] = weights.unused()
    assert (left.repo, left.commit) == (REPO, commit)
    call_command("delete_unused_weights", "--dry-run")
    assert f"{REPO} at {commit[:12]}" in capsys.readouterr().out
    assert weights.unused() == [left]
    call_command("delete_unused_weights")
    assert "freed." in capsys.readouterr().out
    assert (hub_cache.marked(), hub_cache.used_bytes()) == ([], 0)


def test_an_old_commit_goes_when_a_model_has_moved_to_a_new_one(people, server, tiny_folder):
    old = hub.fetch(REPO, "main", budget=0)
    files = {path.name: path.read_bytes() for path in tiny_folder.iterdir()}
    new = server.repos[REPO].commit(files | {"generation_config.json": b"{}"})
    hub.fetch(REPO, "main", budget=0)
    of_the_hub(people, source_revision=new, ready=True)
    assert [cached.commit for cached, _ in weights.delete_unused()] == [old.commit]
    assert hub.fetch(REPO, new).folder.is_dir()


@pytest.mark.parametrize("repo", [REPO, "gpt2"], ids=["same name", "old name"])
def test_what_a_running_check_downloads_stays(people, server, repo):
    model = of_the_hub(people, repo)
    services.check_model(model, actor=people.staff)
    hub.fetch(repo, "main", budget=0)
    assert weights.unused() == []


def test_what_other_programs_downloaded_stays(people, server):
    hub.fetch(REPO, "main")
    assert weights.unused() == []


def test_staff_delete_unused_weights_with_a_button(client, people, server):
    hub.fetch(REPO, "main", budget=0)
    client.force_login(people.staff)
    assert "Models downloaded from the Hub" in client.get(reverse("staff")).content.decode()
    client.post(reverse("staff-weights"))
    [job] = run_pending()
    assert (job.state, job.title) == ("done", "Delete unused weights")
    assert f"Deleted {REPO} at " in job.log
    assert " freed." in client.get(reverse("staff")).content.decode()
    assert hub_cache.marked() == []
