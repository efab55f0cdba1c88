"""Collaborators in the admin: found by user and by object, and removed there, but added elsewhere."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.sharing import invitations
from gym.sharing.selectors import tables
from tests.agents.site import make_suite as make_tests
from tests.factories import make_model, make_suite
from tests.human_data import experiments
from tests.lmchallenge.worlds import make_corpus
from tests.propara.worlds import make_set
from tests.sharing.test_people import make_list


def make_human_data(owner):
    return experiments.import_file(experiments.make_revision(owner), owner)


MAKERS = {
    "agentsuite": make_tests,
    "answerset": make_set,
    "corpus": make_corpus,
    "collection": make_list,
    "humandata": make_human_data,
    "registeredmodel": make_model,
    "suite": make_suite,
}


@pytest.fixture
def staff(client, people):
    client.force_login(people.staff)
    return client


def make(kind, people):
    """Create an object that alice owns and bob may edit."""
    made = MAKERS[kind](people.alice)
    made.collaborations.create(user=people.bob, role="edit")
    return made


@pytest.fixture(params=["suite", "registeredmodel"])
def thing(request, people):
    """An object of two kinds: one class is the admin of all collaborators."""
    return make(request.param, people)


def address(thing, what="changelist", *keys):
    names = thing.collaborations.model._meta
    return reverse(f"admin:{names.app_label}_{names.model_name}_{what}", args=keys)


def listed(client, thing, **query):
    return list(client.get(address(thing), query).context["cl"].queryset)


def test_every_room_has_a_list(people):
    kinds = {table._meta.get_field("thing").related_model._meta.model_name for table in tables()}
    assert kinds == set(MAKERS)


def test_the_list_names_the_thing_with_its_owner_and_leads_to_it(staff, thing):
    page = staff.get(address(thing)).content.decode()
    assert f'href="{thing.get_absolute_url()}"' in page
    assert page.count(">alice</td>") == 1


def test_a_person_a_thing_and_an_owner_are_found(staff, people, thing):
    thing.collaborations.create(user=people.dora, role="view")
    assert [row.user for row in listed(staff, thing, q="bob")] == [people.bob]
    for word in (thing.slug, "alice"):
        assert {row.user for row in listed(staff, thing, q=word)} == {people.bob, people.dora}
    assert [row.user for row in listed(staff, thing, role__exact="view")] == [people.dora]


def test_pages_open_and_change_nothing(staff, thing):
    row = thing.collaborations.get()
    assert staff.get(address(thing, "change", row.pk)).status_code == 200
    assert staff.post(address(thing, "change", row.pk), {"role": "view"}).status_code == 403
    assert staff.get(address(thing, "delete", row.pk)).status_code == 200
    row.refresh_from_db()
    assert row.role == "edit"


def test_staff_ends_one_place_or_several(staff, people, thing):
    staff.post(address(thing, "delete", thing.collaborations.get().pk), {"post": "yes"})
    assert not thing.collaborations.exists()
    chosen = [thing.collaborations.create(user=user).pk for user in (people.bob, people.dora)]
    staff.post(address(thing), {"action": "delete_selected", "_selected_action": chosen, "post": "yes"})
    assert not thing.collaborations.exists()


@pytest.mark.parametrize("kind", MAKERS)
def test_another_owner_is_one_place_less_and_open_invitations_end(staff, people, kind):
    """The admin's view needs a complete form, so this posts what its page shows, with another owner."""
    thing = make(kind, people)
    invitations.invite(thing, "dora", "edit", actor=people.alice)
    names = thing._meta
    page = reverse(f"admin:{names.app_label}_{names.model_name}_change", args=[thing.pk])
    form = staff.get(page).context["adminform"].form
    given = {name: "" if value is None else value for name, value in form.initial.items()}
    management = {
        f"{prefix}-{name}": 0
        for prefix in ("collaborations", "entries")
        for name in ("TOTAL_FORMS", "INITIAL_FORMS")
    }
    assert staff.post(page, given | management | {"owner": people.bob.pk}).status_code == 302
    thing.refresh_from_db()
    assert thing.owner == people.bob
    assert not thing.collaborations.exists()
    assert not thing.invitations.exists()
