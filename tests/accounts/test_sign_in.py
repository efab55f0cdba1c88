"""Signing in and out, and who may use published passwords."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.demo.loader import ACCOUNTS, accounts_wanted, load_demo

LOGIN = "/accounts/login/"
LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]


def sign_in(client, username="alice", password="alice", **more):
    return client.post(LOGIN, {"username": username, "password": password, **more})


def signed_in(client) -> bool:
    return "_auth_user_id" in client.session


def test_the_right_password_opens_the_front_page(client, people):
    response = sign_in(client)
    assert (response.status_code, response.url) == (302, "/")
    assert "Sign out" in client.get("/").content.decode()


@pytest.mark.parametrize(
    ("username", "password"), [("alice", "wrong"), ("nobody", "alice"), ("alice", ""), ("", "")]
)
def test_a_wrong_name_and_a_wrong_password_look_the_same(client, people, username, password):
    response = sign_in(client, username, password)
    assert response.status_code == 200
    assert not signed_in(client)
    if username and password:
        assert "Please enter a correct username and password" in response.content.decode()


def test_a_disabled_account_stays_out(client, people):
    people.alice.is_active = False
    people.alice.save()
    sign_in(client)
    assert not signed_in(client)


def test_signing_out_takes_a_post(client, people):
    client.force_login(people.alice)
    assert client.get("/accounts/logout/").status_code == 405
    assert signed_in(client)
    response = client.post("/accounts/logout/")
    assert (response.status_code, response.url) == (302, "/")
    assert not signed_in(client)


def test_a_page_for_members_comes_back_after_signing_in(client, people):
    address = reverse("suite-import")
    sent = client.get(address)
    assert sent.url == f"{LOGIN}?next={address}"
    page = client.get(sent.url).content.decode()
    assert f'<input type="hidden" name="next" value="{address}">' in page
    assert sign_in(client, next=address).url == address


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example",
        "http:evil.example",
        "javascript:alert(1)",
        "/\\evil.example",
        "\\\\evil.example",
        "ftp://testserver/",
    ],
)
def test_next_stays_on_the_site(client, people, elsewhere):
    assert sign_in(client, next=elsewhere).url == "/"
    client.post("/accounts/logout/")
    assert client.post(f"{LOGIN}?next={elsewhere}", {"username": "alice", "password": "alice"}).url == "/"
    assert client.post("/accounts/logout/", {"next": elsewhere}).url in ("/", "/accounts/logout/")


def test_whoever_is_signed_in_is_sent_on(client, people):
    client.force_login(people.alice)
    assert client.get(LOGIN).url == "/"
    assert client.get(f"{LOGIN}?next=https://evil.example/").url == "/"


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
def test_demo_accounts_are_made_only_where_nobody_else_can_reach_the_site(db, settings, hosts, flag, wanted):
    from gym.accounts.models import User

    settings.ALLOWED_HOSTS, settings.GYM_DEMO_ACCOUNTS = hosts, flag
    assert accounts_wanted() is wanted
    list(load_demo(queue_runs=False))
    made = set(User.objects.exclude(username="demo").values_list("username", flat=True))
    assert made == (set(ACCOUNTS) if wanted else set())
    assert not User.objects.get(username="demo").has_usable_password()


@pytest.fixture
def laptop(db, settings):
    """A site that only this machine reaches, with its demo accounts."""
    settings.ALLOWED_HOSTS, settings.GYM_DEMO_ACCOUNTS = LOOPBACK, True
    list(load_demo(queue_runs=False))


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
    from gym.accounts.models import User

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
