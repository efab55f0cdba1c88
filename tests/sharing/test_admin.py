"""Collaborations in the admin: found by person and by thing, ended there, and given elsewhere."""

from __future__ import annotations

import pytest

from gym.sharing.models import Collaboration
from suites.models import SuiteCollaborator
from tests.agents.site import make_suite as make_tests
from tests.factories import make_model, make_suite
from tests.lmchallenge.site.worlds import make_corpus
from tests.propara.site.worlds import make_set

SHARES = "/admin/sharing/collaboration/"
SUITES = "/admin/suites/suitecollaborator/"


@pytest.fixture
def staff(client, people):
    client.force_login(people.staff)
    return client


@pytest.fixture
def shared(people):
    """One of alice's things of each kind, which bob edits."""
    things = {
        "agent_suite": make_tests(people.alice),
        "answer_set": make_set(people.alice),
        "corpus": make_corpus(people.alice),
        "model": make_model(people.alice),
    }
    for name, thing in things.items():
        Collaboration.objects.create(user=people.bob, **{name: thing})
    return things


def listed(client, address, **query):
    return list(client.get(address, query).context["cl"].queryset)


def test_the_list_names_every_thing_with_its_owner_and_leads_to_it(staff, shared):
    page = staff.get(SHARES).content.decode()
    for thing in shared.values():
        assert f'href="{thing.get_absolute_url()}"' in page
    assert page.count(">alice</td>") == len(shared)


def test_one_kind_of_thing_can_be_looked_for(staff, shared):
    for name, thing in shared.items():
        assert [row.thing for row in listed(staff, SHARES, thing=name)] == [thing]


def test_a_person_a_thing_and_an_owner_are_found(staff, people, shared):
    Collaboration.objects.create(user=people.dora, model=shared["model"], role="view")
    assert len(listed(staff, SHARES, q="bob")) == len(shared)
    assert {row.user for row in listed(staff, SHARES, q=shared["model"].slug)} == {people.bob, people.dora}
    assert len(listed(staff, SHARES, q="alice")) == len(shared) + 1
    assert [row.user for row in listed(staff, SHARES, role__exact="view")] == [people.dora]


def test_places_in_suites_have_a_list_of_their_own(staff, people):
    suite = make_suite(people.alice, collaborator=people.bob)
    assert [row.user for row in listed(staff, SUITES, q="bob")] == [people.bob]
    assert f'href="{suite.get_absolute_url()}"' in staff.get(SUITES).content.decode()


def test_pages_open_and_change_nothing(staff, people, shared):
    make_suite(people.alice, collaborator=people.bob)
    for address, model in ((SHARES, Collaboration), (SUITES, SuiteCollaborator)):
        for row in model.objects.all():
            assert staff.get(f"{address}{row.pk}/change/").status_code == 200
            assert staff.post(f"{address}{row.pk}/change/", {"role": "view"}).status_code == 403
            assert staff.get(f"{address}{row.pk}/delete/").status_code == 200
            row.refresh_from_db()
            assert row.role == "edit"


def test_staff_ends_one_place_or_several(staff, people, shared):
    make_suite(people.alice, collaborator=people.bob)
    place = SuiteCollaborator.objects.get()
    staff.post(f"{SUITES}{place.pk}/delete/", {"post": "yes"})
    assert not SuiteCollaborator.objects.exists()
    chosen = list(Collaboration.objects.values_list("pk", flat=True))
    staff.post(SHARES, {"action": "delete_selected", "_selected_action": chosen, "post": "yes"})
    assert not Collaboration.objects.exists()
