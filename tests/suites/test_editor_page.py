"""The page of the grid editor."""

from __future__ import annotations

from django.urls import reverse
from django.utils import timezone

from gym.runs.models import SuiteRun
from gym.runs.work.services import queue_run
from models_registry.models import RegisteredModel
from suites.selectors import document_of
from tests.factories import make_model, make_revision, make_suite


def test_a_click_opens_a_draft_that_copies_the_newest_revision(client, people):
    suite = make_suite(people.alice)
    client.force_login(people.alice)
    address = reverse("suite-editor", args=[suite.slug])
    for _ in range(2):
        answer = client.post(address, follow=True)
        assert answer.redirect_chain == [(address, 302)]
        assert answer.context["draft"].number == 2
        assert document_of(suite.draft) == document_of(suite.latest_frozen)
    assert suite.revisions.count() == 2


def test_looking_at_the_editor_of_a_frozen_suite_changes_nothing(client, people):
    suite = make_suite(people.alice)
    client.force_login(people.alice)
    answer = client.get(reverse("suite-editor", args=[suite.slug]))
    assert "Open a draft" in answer.content.decode()
    assert "draft" not in answer.context
    assert suite.draft is None
    assert suite.revisions.count() == 1


def test_a_stranger_cannot_open_a_draft(client, people):
    suite = make_suite(people.alice)
    client.force_login(people.charlie)
    assert client.post(reverse("suite-editor", args=[suite.slug])).status_code == 403
    assert suite.draft is None


def test_every_endpoint_is_named(client, people):
    suite = make_suite(people.alice, frozen=False)
    client.force_login(people.alice)
    endpoints = client.get(reverse("suite-editor", args=[suite.slug])).context["endpoints"]
    assert set(endpoints) == {
        "draft",
        "cells",
        "preview",
        "lint",
        "formula",
        "design",
        "freeze",
        "history",
        "sheet",
    }
    assert endpoints["draft"] == f"/api/v1/suites/{suite.slug}/draft/"
    assert endpoints["formula"] == "/api/v1/formulas/explain/"


def test_the_strongest_model_comes_first_and_is_what_the_preview_begins_with(client, people):
    make_model(people.alice, slug="uniform", parameters=0)
    for slug, parameters in (("large", 10**9), ("counts", None), ("small", 10**6)):
        make_model(people.alice, slug=slug, backend="causal", parameters=parameters)
    make_model(people.alice, slug="n-grams", backend="ngram", parameters=10**10)
    queue_run(
        make_revision(people.alice, name="asked"), make_model(people.alice, slug="tried"), actor=people.alice
    )
    RegisteredModel.objects.filter(slug="tried").update(backend="openai", parameters=None)
    SuiteRun.objects.update(completed_at=timezone.now())
    make_model(people.alice, slug="unready", ready=False)
    make_model(people.bob, slug="bobs", visibility="private")
    suite = make_suite(people.alice, frozen=False)
    client.force_login(people.alice)
    models = client.get(reverse("suite-editor", args=[suite.slug])).context["models"]
    assert [model["slug"] for model in models] == ["large", "small", "counts", "tried", "n-grams", "uniform"]


def test_a_reader_is_told_and_a_stranger_finds_nothing(client, people):
    private = make_suite(people.alice, name="p", visibility="private")
    public = make_suite(people.alice, name="q")
    client.force_login(people.charlie)
    assert client.get(reverse("suite-editor", args=[private.slug])).status_code == 404
    assert client.get(reverse("suite-editor", args=[public.slug])).status_code == 403
    assert public.draft is None
