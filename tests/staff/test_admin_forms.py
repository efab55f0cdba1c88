"""Every admin form can be opened and saved unchanged, and adds or changes only what needs no service."""

from __future__ import annotations

from datetime import datetime
from html.parser import HTMLParser

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.urls import reverse

from gym.accounts.models import User
from gym.agents.models import AgentRun
from gym.lmchallenge.models import Game
from gym.propara.models import Submission
from gym.runs.models import SuiteRun
from models_registry.models import RegisteredModel
from models_registry.services import register_uploaded_model
from suites.models import Tag
from tests.factories import make_model
from tests.staff.rows import make

MODELS = list(admin.site._registry)
ADDED_HERE = {User, Group, Tag}
"""Models whose rows can be added. All others are created by a service, with rows, jobs or files that belong
to them."""


def _is_sent(given: dict[str, str | None]) -> bool:
    ticked = given.get("type") not in ("checkbox", "radio") or "checked" in given
    return ticked and given.get("type") not in ("submit", "file")


class Filled(HTMLParser):
    """Parser that collects the data a browser would send for the unchanged form."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.data: dict[str, list[str]] = {}
        self.select = self.area = ""
        self.within = False
        self.feed(page)

    def handle_starttag(self, tag, attrs) -> None:
        given = dict(attrs)
        name, value = given.get("name", ""), given.get("value", "")
        if tag == "form":
            self.within = given.get("id", "").endswith("_form")
        if tag == "select":
            self.select = name
        elif tag == "textarea":
            self.area = name
            self._put(name, "")
        elif tag == "option" and "selected" in given:
            self._put(self.select, value)
        elif tag == "input" and _is_sent(given):
            self._put(name, given.get("value", "on" if given.get("type") == "checkbox" else ""))

    def handle_data(self, data: str) -> None:
        if self.area and self.within:
            self.data[self.area][-1] += data

    def handle_endtag(self, tag) -> None:
        if tag == "textarea" and self.area:
            if self.within:
                self.data[self.area][-1] = self.data[self.area][-1].removeprefix("\n")  # as browsers do
            self.area = ""
        elif tag == "form":
            self.within = False

    def _put(self, name: str, value: str) -> None:
        if self.within and name:
            self.data.setdefault(name, []).append(value)


@pytest.fixture
def staff(client, people):
    client.force_login(people.staff)
    return client


def change_of(row) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def save(client, row, **changes):
    page = client.get(change_of(row))
    assert page.status_code == 200
    return client.post(change_of(row), Filled(page.content.decode()).data | changes)


def problems_of(response) -> list:
    return response.context["errors"] if response.status_code == 200 else []


def values_of(row) -> dict[str, str]:
    """Return the values of a row, with times to the second, as in forms."""
    found = {field.attname: getattr(row, field.attname) for field in row._meta.fields}
    return {
        name: str(value.replace(microsecond=0) if isinstance(value, datetime) else value)
        for name, value in found.items()
    }


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_what_is_unchanged_can_be_saved(staff, rf, people, model):
    row = make(1)[model]
    request = rf.get("/")
    request.user = people.staff
    if not admin.site._registry[model].has_change_permission(request):
        assert staff.post(change_of(row), {}).status_code == 403
        return
    response = save(staff, row)
    assert response.status_code == 302, problems_of(response)
    before = values_of(row)
    row.refresh_from_db()
    after = values_of(row)
    assert {name for name in before if before[name] != after[name]} <= {"updated"}


@pytest.mark.parametrize("model", [AgentRun, Game, Submission, SuiteRun], ids=lambda model: model.__name__)
def test_what_nobody_owns_any_more_can_be_saved(staff, model):
    row = make(1)[model]
    model.objects.filter(pk=row.pk).update(owner=None)
    response = save(staff, row)
    assert response.status_code == 302, problems_of(response)


def test_what_a_service_makes_is_not_added_here(staff, rf, people):
    request = rf.get("/")
    request.user = people.staff
    assert {
        model for model in MODELS if admin.site._registry[model].has_add_permission(request)
    } == ADDED_HERE
    for model in ADDED_HERE:
        assert staff.get(add(model)).status_code == 200
    for deed in (staff.get, staff.post):
        assert deed(add(SuiteRun)).status_code == 403


def add(model) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")


def test_the_card_of_an_uploaded_model_can_be_saved(staff, people):
    model = register_uploaded_model(actor=people.alice, name="Elsewhere")
    assert save(staff, model, authorship="Somebody").status_code == 302
    model.refresh_from_db()
    assert (model.authorship, model.config) == ("Somebody", {})


def test_what_a_model_is_stays_as_registered(staff, people):
    model = make_model(people.alice)
    before = model.config
    save(staff, model, backend="nonsense", config='{"vocabulary_size": 2}', name="Renamed")
    model.refresh_from_db()
    assert (model.backend, model.config, model.name) == ("uniform", before, "Renamed")


def approve(client, *models):
    address = reverse("admin:models_registry_registeredmodel_changelist")
    chosen = [model.pk for model in models]
    given = {"action": "approve", "_selected_action": chosen}
    return client.post(address, given, follow=True).content.decode()


def test_what_cannot_be_approved_is_said_and_the_rest_is_approved(staff, people):
    card = register_uploaded_model(actor=people.alice, name="Elsewhere")
    waiting = make_model(people.alice, slug="waits", status="unapproved")
    page = approve(staff, card, waiting)
    assert "Elsewhere is not hosted here" in page
    assert "1 check queued." in page
    waiting.refresh_from_db()
    assert waiting.status == RegisteredModel.Status.UNCHECKED


def test_a_model_under_check_gets_no_second_one(staff, people):
    waiting = make_model(people.alice, slug="waits", status="unapproved")
    approve(staff, waiting)
    waiting.refresh_from_db()
    first = waiting.check_job
    assert "queued." not in approve(staff, waiting)
    waiting.refresh_from_db()
    assert waiting.check_job == first


def test_a_new_owner_gets_none_of_the_secrets(staff, people):
    model = make_model(people.alice, slug="elsewhere")
    model.secrets = {"api_key": "stored"}
    model.save(update_fields=["secrets"])
    assert save(staff, model, owner=people.bob.pk).status_code == 302
    model.refresh_from_db()
    assert (model.owner, model.secrets) == (people.bob, {})
