"""Every list of the admin can be searched and filtered, and costs few queries however many rows there are."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone

from gym.accounts.models import ApiToken, User
from gym.evaluations.models import ResultUpload, ScoreCache, SuiteRun
from gym.jobs.models import Job, Message, WorkerHeartbeat
from models_registry.models import RegisteredModel
from suites.models import Suite, SuiteRevision, Tag
from tests.factories import make_model, make_revision

OURS = [model for model in admin.site._registry if model is not Group]
QUERIES = 14
ROWS = 100


@pytest.fixture
def crowded(people):
    """100 rows of everything, each with an owner of its own where there is one."""
    users = [User(username=f"u{n}", email=f"u{n}@example.org") for n in range(ROWS)]
    users = User.objects.bulk_create(users)
    now = timezone.now()
    Suite.objects.bulk_create(Suite(slug=f"s{n}", title=f"S {n}", owner=users[n]) for n in range(ROWS))
    suites = list(Suite.objects.all())
    SuiteRevision.objects.bulk_create(SuiteRevision(suite=suite, number=1) for suite in suites)
    revisions = list(SuiteRevision.objects.all())
    RegisteredModel.objects.bulk_create(
        RegisteredModel(slug=f"m{n}", name=f"M {n}", owner=users[n], backend="uniform") for n in range(ROWS)
    )
    models = list(RegisteredModel.objects.all())
    for n in range(ROWS):
        SuiteRun.objects.create(revision=revisions[n], model=models[n], owner=users[n], policy={})
        ResultUpload.objects.create(owner=users[n], kind="outcomes", files=[{"name": f"f{n}"}])
        ScoreCache.objects.create(scorer="x", text_sha256=str(n), scores={})
        Job.objects.create(kind="k", owner=users[n], title=f"j{n}")
        Message.objects.create(queue="default", body="{}")
        WorkerHeartbeat.objects.create(id=f"w{n}", host="h", pid=n)
        Tag.objects.create(name=f"t{n}")
        ApiToken.objects.create(
            user=users[n], name=f"k{n}", digest=str(n), expires=now + timedelta(days=1), scopes=["read"]
        )
    make_model(people.alice)
    make_revision(people.alice)


@pytest.mark.parametrize("model", OURS, ids=lambda model: model._meta.label)
def test_a_list_costs_few_queries(client, people, crowded, model, django_assert_max_num_queries):
    client.force_login(people.staff)
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    with django_assert_max_num_queries(QUERIES):
        response = client.get(address)
    assert response.status_code == 200
    assert client.get(address, {"q": "7"}).status_code == 200


@pytest.mark.parametrize("model", OURS, ids=lambda model: model._meta.label)
def test_a_list_can_be_searched_and_filtered(model):
    listing = admin.site._registry[model]
    assert listing.search_fields
    assert listing.list_filter or model is Tag


def test_limits_of_an_account_are_changed_there(client, people):
    client.force_login(people.staff)
    address = reverse("admin:accounts_user_change", args=[people.alice.pk])
    text = client.get(address).content.decode()
    assert 'name="max_runs"' in text
