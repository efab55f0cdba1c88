"""Collaborators of a suite, and the address of an unlisted one."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError

from gym.sharing import services as sharing
from suites import services
from tests.factories import make_suite


@pytest.fixture
def suite(people):
    return make_suite(people.alice, name="mine", visibility="private", collaborator=people.bob)


@pytest.fixture
def bobs(suite):
    return suite.collaborations.get()


def people_page(client, suite):
    return client.get(f"/suites/{suite.slug}/people/")


def test_a_role_is_changed(client, people, suite, bobs):
    client.force_login(people.alice)
    client.post(f"/suites/{suite.slug}/people/{bobs.pk}/role/", {"role": "view"})
    client.force_login(people.bob)
    assert client.get(f"/suites/{suite.slug}/edit/").status_code == 403


def test_somebody_removed_sees_nothing_any_more(client, people, suite, bobs):
    client.force_login(people.alice)
    client.post(f"/suites/{suite.slug}/people/{bobs.pk}/remove/")
    client.force_login(people.bob)
    assert client.get(suite.get_absolute_url()).status_code == 404


def test_a_collaborator_sees_the_people_and_may_only_leave(client, people, suite, bobs):
    client.force_login(people.bob)
    page = people_page(client, suite).content.decode()
    assert "Leave this suite" in page
    assert "Invite a collaborator" not in page
    assert (
        client.post(f"/suites/{suite.slug}/people/", {"username": "charlie", "role": "edit"}).status_code
        == 403
    )
    assert client.post(f"/suites/{suite.slug}/people/{bobs.pk}/role/", {"role": "owner"}).status_code == 403
    assert client.post(f"/suites/{suite.slug}/leave/").url == "/suites/"
    assert not suite.collaborations.exists()


def test_a_collaboration_of_another_suite_is_out_of_reach(client, people, suite, bobs):
    other = make_suite(people.charlie, name="other", collaborator=people.alice)
    client.force_login(people.alice)
    for what in ("role", "remove"):
        address = f"/suites/{suite.slug}/people/{other.collaborations.get().pk}/{what}/"
        assert client.post(address, {"role": "view"}).status_code == 404
    assert other.collaborations.get().role == "edit"


def test_only_owner_and_staff_change_roles(people, suite, bobs):
    for actor in (people.bob, people.charlie, people.nobody):
        with pytest.raises(PermissionDenied):
            sharing.set_role(suite, bobs, "view", actor=actor)
    sharing.set_role(suite, bobs, "view", actor=people.staff)


def test_a_new_secret_address_ends_the_old_one(client, people):
    suite = make_suite(people.alice, name="blind", visibility="unlisted")
    old = suite.get_absolute_url()
    client.force_login(people.alice)
    assert "New secret address" in people_page(client, suite).content.decode()
    response = client.post(f"{old}new-address/")
    suite.refresh_from_db()
    assert response.url == f"{suite.get_absolute_url()}people/"
    client.logout()
    assert client.get(old).status_code == 404
    assert client.get(suite.get_absolute_url()).status_code == 200


def test_only_an_unlisted_suite_has_a_secret_address(people, suite):
    with pytest.raises(ValidationError, match="unlisted"):
        services.new_secret_address(suite, actor=people.alice)
    unlisted = make_suite(people.alice, name="blind", visibility="unlisted")
    with pytest.raises(PermissionDenied):
        services.new_secret_address(unlisted, actor=people.charlie)
