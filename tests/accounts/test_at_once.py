"""Concurrent identical requests take effect once, and limits hold. Needs PostgreSQL."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from gym.accounts.models import ApiToken, User
from gym.accounts.quotas import OverQuota
from gym.accounts.tokens import MAX_LIVE, create_token
from gym.lmchallenge.models import Corpus
from gym.lmchallenge.services import create_corpus
from gym.pages.account_deletion import delete_account
from gym.propara.models import AnswerSet
from gym.propara.services import create_answer_set
from gym.sharing.invitations import accept, invite, offer_ownership
from models_registry.models import RegisteredModel
from models_registry.services import register_uploaded_model
from suites.models import Suite
from tests.accounts.test_password_reset import NEW, RESET, link_in
from tests.at_once import need_connections, together
from tests.factories import make_suite
from tests.lmgym.propara.worlds import LIGHT
from tests.people import make_people

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = 8


@pytest.fixture
def people(transactional_db):
    need_connections()
    return make_people()


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def posts(clients: list[Client], address: str, given: dict[str, str] | None = None, **more: str) -> list[int]:
    """Send the same POST with all clients at once; return the sorted status codes."""
    found: list[int] = []

    def post(client: Client):
        return lambda: found.append(client.post(address, given, **more).status_code)

    assert not together(*[post(client) for client in clients])
    return sorted(found)


def test_an_account_is_deleted_once_and_the_others_are_told(people):
    make_suite(people.alice, name="kept", collaborator=people.bob)
    clients = [signed_in(people.alice) for _ in range(TIMES)]
    statuses = posts(clients, reverse("account-delete"), {"password": "alice"})
    assert statuses[0] == 302
    assert set(statuses) <= {302, 409}
    assert not User.objects.filter(username="alice").exists()
    assert Suite.objects.get().owner.username == "(former member)"


def test_people_who_work_together_all_leave_at_once(people):
    leaving = [people.alice, people.bob, people.dora, people.charlie]
    for owner in leaving:
        for other in leaving:
            if owner != other:
                make_suite(owner, name=f"{owner}-{other}", collaborator=other)
    actions = [lambda person=person: delete_account(person) for person in leaving]
    assert not together(*actions)
    assert set(Suite.objects.values_list("owner__username", flat=True)) == {"(former member)"}


def test_the_last_administrator_stays(people):
    people.alice.is_superuser = True
    people.alice.save()
    both = [people.alice, people.staff]
    [refused] = together(*[lambda person=person: delete_account(person) for person in both])
    assert isinstance(refused, ValidationError)
    assert User.objects.filter(is_superuser=True).count() == 1


@pytest.mark.parametrize("through", ["page", "api"])
def test_a_suite_is_handed_over_once_and_the_others_are_told(people, through):
    suite = make_suite(people.alice, name="shared", collaborator=people.bob)
    offer = offer_ownership(suite, suite.collaborations.get(), actor=people.alice)
    clients = [signed_in(people.bob) for _ in range(TIMES)]
    address = f"/invitations/{offer.pk}/accept/"
    if through == "page":
        statuses, done = posts(clients, address), 302
    else:
        statuses, done = posts(clients, f"/api/v1{address}"), 200
    assert statuses[0] == done
    assert set(statuses[1:]) <= {404, 409}
    suite.refresh_from_db()
    assert suite.owner == people.bob
    assert [(one.user, one.role) for one in suite.collaborations.all()] == [(people.alice, "edit")]


def test_nobody_becomes_the_owner_of_more_than_the_limit(people, settings):
    settings.GYM_QUOTA_SUITES = (3, 0)
    offers = []
    for number in range(TIMES):
        suite = make_suite(people.staff, name=f"s{number}", collaborator=people.bob)
        offers.append(offer_ownership(suite, suite.collaborations.get(), actor=people.staff))
    wrong = together(*[lambda offer=offer: accept(offer, actor=people.bob) for offer in offers])
    assert [type(error) for error in wrong] == [OverQuota] * (TIMES - 3)
    assert Suite.objects.filter(owner=people.bob).count() == 3


def test_a_suite_of_somebody_who_leaves_goes_or_keeps_who_accepts_meanwhile(people):
    for number in range(TIMES):
        leaver = User.objects.create_user(f"leaver{number}")
        suite = make_suite(leaver, name=f"s{number}", visibility="private")
        offer = invite(suite, "bob", "edit", actor=leaver)
        told = together(
            lambda leaver=leaver: delete_account(leaver), lambda offer=offer: accept(offer, actor=people.bob)
        )
        there = Suite.objects.filter(pk=suite.pk).first()
        assert there is None or [row.user for row in there.collaborations.all()] == [people.bob]
        assert bool(told) == (there is None), told


def test_nobody_gets_more_tokens_than_the_limit(people):
    for number in range(MAX_LIVE - 3):
        create_token(actor=people.alice, name=f"t{number}", scopes=["read"])
    wrong = together(*[lambda: create_token(actor=people.alice, name="more", scopes=["read"])] * TIMES)
    assert [type(error) for error in wrong] == [ValidationError] * (TIMES - 3)
    assert ApiToken.objects.count() == MAX_LIVE


@pytest.mark.parametrize("what", ["corpus", "answer-set", "model"])
def test_things_of_one_title_all_get_an_address(people, what):
    owners = [people.alice, people.bob, people.charlie, people.dora]
    kind, make = {
        "corpus": (Corpus, lambda who: create_corpus(b"a line\n", actor=who, title="Same", form="text")),
        "answer-set": (AnswerSet, lambda who: create_answer_set(LIGHT.encode(), actor=who, title="Same")),
        "model": (RegisteredModel, lambda who: register_uploaded_model(actor=who, name="Same")),
    }[what]
    assert not together(*[lambda who=who: make(who) for who in owners * 5])
    assert kind.objects.count() == 20
    assert kind.objects.filter(slug="same").exists()


def test_one_link_changes_a_password_once(people, mailoutbox):
    Client().post(RESET, {"email": "alice@example.org"})
    clients = [Client() for _ in range(TIMES)]
    addresses = {client.get(link_in(mailoutbox[0]), follow=True).request["PATH_INFO"] for client in clients}
    [address] = addresses
    statuses = posts(clients, address, NEW)
    assert statuses.count(302) == 1
    assert set(statuses) <= {200, 302, 409}  # 200: the page for a used link
