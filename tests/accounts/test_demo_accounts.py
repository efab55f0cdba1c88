"""Who may sign in with the published passwords of the demo accounts."""

from __future__ import annotations

import pytest
from django.test import override_settings

from gym.accounts.backends import ACCOUNTS, demo_accounts_allowed
from gym.accounts.models import User
from gym.demo.loader import load_demo
from tests.accounts.test_sign_in import LOGIN, sign_in, signed_in

LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]


@pytest.mark.parametrize(
    ("hosts", "flag", "wanted"),
    [
        (LOOPBACK, True, True),
        (["localhost"], True, True),
        (LOOPBACK, False, False),
        ([*LOOPBACK, "gym.example.org"], True, False),
        (["*"], True, False),
        (["0.0.0.0"], True, False),
        ([".localhost"], True, False),
    ],
)
def test_demo_accounts_are_wanted_only_where_nobody_else_can_reach_the_site(settings, hosts, flag, wanted):
    settings.ALLOWED_HOSTS, settings.GYM_DEMO_ACCOUNTS = hosts, flag
    assert demo_accounts_allowed() is wanted


@pytest.fixture(scope="module")
def demo(module_db):
    """The demo data with its accounts."""
    with override_settings(ALLOWED_HOSTS=LOOPBACK, GYM_DEMO_ACCOUNTS=True):
        list(load_demo(queue_runs=False))


@pytest.fixture
def laptop(db, demo, settings):
    """A site that only this machine can reach, with its demo accounts."""
    settings.ALLOWED_HOSTS, settings.GYM_DEMO_ACCOUNTS = LOOPBACK, True


def test_the_demo_makes_the_accounts_that_are_wanted_and_an_owner_without_a_password(laptop):
    made = set(User.objects.exclude(username="demo").values_list("username", flat=True))
    assert made == set(ACCOUNTS)
    assert not User.objects.get(username="demo").has_usable_password()


def test_the_demo_makes_no_accounts_where_others_reach_the_site(laptop, settings):
    User.objects.filter(username__in=ACCOUNTS).delete()
    settings.ALLOWED_HOSTS = ["*"]
    list(load_demo(queue_runs=False))
    assert set(User.objects.values_list("username", flat=True)) == {"demo"}


def test_on_a_laptop_the_sign_in_page_offers_accounts_that_work(client, laptop):
    page = client.get(LOGIN, headers={"host": "localhost"}).content.decode()
    for name, (password, _) in ACCOUNTS.items():
        assert password in page
        client.post(LOGIN, {"username": name, "password": password}, headers={"host": "localhost"})
        assert signed_in(client)
        client.logout()


@pytest.mark.parametrize(
    ("hosts", "flag"), [([*LOOPBACK, "testserver"], True), (["testserver"], True), (LOOPBACK, False)]
)
def test_published_passwords_open_nothing_once_others_reach_the_site(client, laptop, settings, hosts, flag):
    settings.ALLOWED_HOSTS, settings.GYM_DEMO_ACCOUNTS = hosts, flag
    host = {"host": hosts[-1] if hosts != LOOPBACK else "localhost"}
    assert "demo-admin" not in client.get(LOGIN, headers=host).content.decode()
    for name, (password, _) in ACCOUNTS.items():
        for address in (LOGIN, "/admin/login/"):
            client.post(address, {"username": name, "password": password}, headers=host)
            assert not signed_in(client), (name, address)


def test_a_demo_account_with_a_password_of_its_own_is_an_account(client, laptop, settings):
    alice = User.objects.get(username="alice")
    alice.set_password("something nobody has published")
    alice.save()
    settings.ALLOWED_HOSTS = ["testserver"]
    sign_in(client, password="something nobody has published")
    assert signed_in(client)


def test_whoever_owns_the_demo_cannot_sign_in(client, laptop):
    for password in ("", "demo", "!"):
        client.post(LOGIN, {"username": "demo", "password": password}, headers={"host": "localhost"})
        assert not signed_in(client)


@pytest.mark.parametrize(
    ("listens_on", "behind_proxy", "remote", "headers"),
    [
        ("0.0.0.0", False, "127.0.0.1", {}),
        ("10.0.0.7", False, "127.0.0.1", {}),
        ("127.0.0.1", True, "127.0.0.1", {}),
        ("127.0.0.1", False, "10.0.0.9", {}),
        ("127.0.0.1", False, "127.0.0.1", {"x-forwarded-for": "10.0.0.9"}),
        ("127.0.0.1", False, "127.0.0.1", {"forwarded": "for=10.0.0.9"}),
        ("127.0.0.1", False, "127.0.0.1", {"x-forwarded-host": "gym.example.org"}),
    ],
)
def test_published_passwords_open_nothing_to_others_who_say_localhost(
    client, laptop, settings, listens_on, behind_proxy, remote, headers
):
    settings.GYM_LISTENS_ON, settings.GYM_BEHIND_PROXY = listens_on, behind_proxy
    more = {"headers": {"host": "localhost", **headers}, "REMOTE_ADDR": remote}
    assert "demo-admin" not in client.get(LOGIN, **more).content.decode()
    client.post(LOGIN, {"username": "admin", "password": "demo-admin"}, **more)
    assert not signed_in(client)
