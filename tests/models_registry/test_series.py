"""Checkpoints of a Hub model: reviewed, registered and approved in one step, and linked with each other."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.jobs.testing import run_pending
from models_registry import series, services, warm
from models_registry.models import RegisteredModel
from tests.factories import make_model
from tests.lmgym.models import tiny
from tests.lmgym.models.hub_server import hub_server, use_hub

REPO = "org/pythia"
CONFIG = {"source": "hub", "repo": REPO, "device": "cpu"}
STEPS = (0, 1000, 2000)
FILES = {"config.json": b"{}", "model.safetensors": b"x" * 1000}


@pytest.fixture(autouse=True)
def _cold():
    yield
    warm.forget()


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A Hub with a model that has three checkpoints."""
    with hub_server() as there:
        use_hub(monkeypatch, there.url, tmp_path / "cache")
        there.add(REPO, FILES)
        for step in STEPS:
            there.repos[REPO].commit(FILES | {"config.json": b'{"step": %d}' % step}, f"step{step}")
        yield there


def register(actor, revisions="step*", slug="pythia", **more):
    return series.register_series(
        actor=actor, slug=slug, name="Pythia", backend="causal", config=CONFIG, revisions=revisions, **more
    )


def post(client, revisions="step*", **more):
    data = {"kind": "hub", "repo": REPO, "slug": "pythia", "name": "Pythia", "visibility": "private"}
    return client.post(reverse("model-register"), data | {"revisions": revisions} | more)


def test_each_checkpoint_is_a_model_with_its_revision_group_and_step(people, server):
    models = register(people.alice, tags=["small"])
    assert [(one.slug, one.name, one.config["revision"], one.tags) for one in models] == [
        ("pythia-step0", "Pythia, step 0", "step0", ["small", "group:pythia", "step:0"]),
        ("pythia-step1000", "Pythia, step 1,000", "step1000", ["small", "group:pythia", "step:1000"]),
        ("pythia-step2000", "Pythia, step 2,000", "step2000", ["small", "group:pythia", "step:2000"]),
    ]
    assert {one.status for one in models} == {"unapproved"}


def test_each_checkpoint_is_checked_at_its_own_commit(people, server, tmp_path, no_child):
    pytest.importorskip("torch")
    tokenizer = tiny.train("byte-bpe")
    folder = tiny.save(tmp_path / "m", tiny.gpt2(tokenizer.get_vocab_size()), tiny.fast(tokenizer))
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    for step in STEPS[1:]:
        server.repos[REPO].commit(files | {"README.txt": str(step).encode()}, f"step{step}")
    models = register(people.alice, "step1000, step2000")
    series.approve_series(models[0], actor=people.staff)
    run_pending()
    checked = RegisteredModel.objects.order_by("slug")
    assert [(one.status, one.status_reason) for one in checked] == [("ready", "")] * 2
    assert [one.source_revision for one in checked] == [
        server.repos[REPO].refs[f"step{step}"] for step in STEPS[1:]
    ]


@pytest.mark.parametrize(
    ("revisions", "message"),
    [
        ("step1000, step3000", "no branch or tag step3000"),
        ("main", "names no training step"),
        ("step1000 step2000 x;y", "is not a branch"),
    ],
)
def test_a_revision_that_is_missing_is_named_and_nothing_registered(people, server, revisions, message):
    with pytest.raises(ValidationError, match=message):
        register(people.alice, revisions)
    assert not RegisteredModel.objects.exists()


def test_an_address_that_is_taken_registers_nothing(people, server):
    make_model(people.bob, slug="pythia-step1000")
    with pytest.raises(
        ValidationError,
        match=r"Nothing was registered, because checkpoint step1000 was refused as pythia-step1000",
    ):
        register(people.alice)
    assert RegisteredModel.objects.count() == 1


def test_the_quota_counts_every_checkpoint(people, server, settings):
    settings.GYM_QUOTA_MODELS = (2, 0)
    with pytest.raises(ValidationError, match="Adding 3 would exceed it"):
        register(people.alice)
    assert not RegisteredModel.objects.exists()


def test_the_review_shows_files_and_bytes_before_anything_is_registered(people, server, client):
    client.force_login(people.alice)
    page = post(client).content.decode()
    assert "Review 3 checkpoints" in page
    assert "6 in all" in page
    assert all(server.repos[REPO].refs[f"step{step}"][:12] in page for step in STEPS)
    assert not RegisteredModel.objects.exists()
    assert post(client, reviewed="yes").url == reverse("model-detail", args=["pythia-step0"])
    assert RegisteredModel.objects.count() == 3


def test_the_form_names_what_is_wrong_with_a_series(people, server, client):
    client.force_login(people.alice)
    missing = post(client, "step7")
    assert (missing.status_code, "no branch or tag step7" in missing.content.decode()) == (400, True)
    both = post(client, revision="step1000")
    assert (both.status_code, "Name either one revision or a series" in both.content.decode()) == (400, True)
    server.close()
    down = post(client)
    assert (down.status_code, "could not be reached" in down.content.decode()) == (400, True)
    assert not RegisteredModel.objects.exists()


def test_a_source_without_checkpoints_ignores_the_field(people, client):
    client.force_login(people.alice)
    post(client, "step*", kind="uniform", vocabulary_size=8)
    assert RegisteredModel.objects.get().backend == "uniform"


def test_staff_approve_a_series_in_one_step_after_a_review(people, server, client):
    models = register(people.alice)
    other = register(people.bob, slug="bobs", tags=["group:pythia"])
    client.force_login(people.staff)
    assert b"Approve 3 checkpoints" in client.get(models[1].get_absolute_url()).content
    address = reverse("model-approve-series", args=[models[1].slug])
    assert "Review 3 checkpoints" in client.post(address).content.decode()
    client.post(address, {"reviewed": "yes"})
    statuses = dict(RegisteredModel.objects.values_list("slug", "status"))
    assert {statuses[one.slug] for one in models} == {"unchecked"}
    assert {statuses[one.slug] for one in other} == {"unapproved"}  # a group has one owner


def test_members_do_not_approve(people, server):
    models = register(people.alice)
    with pytest.raises(PermissionDenied):
        series.approve_series(models[0], actor=people.alice)


def test_the_page_of_each_checkpoint_links_the_others_that_its_reader_may_see(people, server, client):
    models = register(people.alice)
    client.force_login(people.alice)
    page = client.get(models[1].get_absolute_url()).content.decode()
    assert all(f'href="{one.get_absolute_url()}"' in page for one in (models[0], models[2]))
    for one in models[:2]:
        services.edit_card(one, actor=people.alice, visibility="public")
    client.force_login(people.charlie)
    page = client.get(models[1].get_absolute_url()).content.decode()
    assert models[0].get_absolute_url() in page
    assert models[2].get_absolute_url() not in page


def test_the_api_registers_and_approves_a_series(people, server, client):
    client.force_login(people.staff)
    body = {
        "slug": "pythia",
        "name": "Pythia",
        "backend": "causal",
        "config": CONFIG,
        "revisions": "step{1000..2000..1000}",
    }
    made = client.post("/api/v1/model-series/", body, content_type="application/json")
    assert (made.status_code, [row["slug"] for row in made.json()["models"]]) == (
        201,
        ["pythia-step1000", "pythia-step2000"],
    )
    wrong = client.post(
        "/api/v1/model-series/", body | {"revisions": "step7"}, content_type="application/json"
    )
    assert (wrong.status_code, "step7" in wrong.content.decode()) == (400, True)
    waiting = register(people.alice, slug="alices")
    approved = client.post(f"/api/v1/models/{waiting[0].slug}/approve-series/")
    assert (approved.status_code, len(approved.json()["models"])) == (202, 3)
