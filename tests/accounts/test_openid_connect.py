"""Signing in through an OpenID Connect issuer, which runs in the test."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group
from django.test import Client

from gym.accounts import invitations
from gym.accounts.confirmed import has_confirmed_address
from gym.accounts.models import User
from gym.accounts.tokens import create_token, live_tokens
from tests.accounts.issuer import CLIENT_ID, CLIENT_SECRET, _key, running_issuer

LOGIN = "/accounts/login/"
START = "/accounts/services/oidc/start/"
SIGN_UP = "/accounts/services/sign-up/"
CONNECTIONS = "/accounts/services/"


@pytest.fixture(scope="module")
def running():
    with running_issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(running, settings):
    key = running.key
    running.__init__(running.address)
    running.key = running.signing_key = key
    settings.GYM_OIDC_ISSUER = running.address
    settings.GYM_OIDC_CLIENT_ID, settings.GYM_OIDC_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
    settings.GYM_OIDC_NAME = "University"
    return running


def walk(client, issuer, **form):
    """Press the button and sign in at the issuer; return the site's response to what the issuer sends back."""
    page = client.post(START, form)
    assert page.status_code == 200, page.content.decode()
    address = unescape(re.search(r'content="0; url=([^"]+)"', page.content.decode())[1])
    assert address.startswith(f"{issuer.address}/authorize?")
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert query["redirect_uri"] == "http://testserver/accounts/services/oidc/callback/"
    back = urlsplit(issuer.authorize(query))
    return client.get(f"{back.path}?{back.query}")


def sign_up(client, issuer, username="anna", **form):
    assert walk(client, issuer, **form).url == SIGN_UP
    return client.post(SIGN_UP, {"username": username})


def signed_in(client) -> str:
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


def test_a_new_person_chooses_a_name_and_comes_back_as_the_same_account(client, db, issuer):
    issuer.person |= {"email": "anna@example.org", "email_verified": True, "name": "Anna Lind"}
    assert walk(client, issuer, next="/suites/").url == SIGN_UP
    assert 'value="anna"' in client.get(SIGN_UP).content.decode()
    assert client.post(SIGN_UP, {"username": "anna"}).url == "/suites/"
    anna = User.objects.get(username="anna")
    assert (anna.email, anna.get_full_name(), anna.has_usable_password()) == (
        "anna@example.org",
        "Anna Lind",
        False,
    )
    assert EmailAddress.objects.get(user=anna).verified
    client.post("/accounts/logout/")
    issuer.person["preferred_username"] = "renamed"
    assert walk(client, issuer).url == "/"
    assert signed_in(client) == "anna"
    assert User.objects.count() == 1


@pytest.mark.parametrize("name", ["admin", "Alice", "pаypal", "two words", ""])
def test_the_rules_for_names_hold(client, people, issuer, name):
    assert sign_up(client, issuer, name).status_code == 400
    assert not SocialAccount.objects.exists()


@pytest.mark.parametrize("next_page", ["https://evil.example/", "//evil.example/", "/accounts/login/"])
def test_next_stays_on_the_site(client, db, issuer, next_page):
    assert sign_up(client, issuer, next=next_page).url == "/"


def test_an_answer_without_the_state_of_this_browser_is_refused(client, db, issuer):
    assert client.get("/accounts/services/oidc/callback/?code=x&state=y").status_code == 401
    assert not signed_in(client)


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"aud": "another client"},
        {"iss": "https://evil.example"},
        {"exp": 1_000_000_000},
    ],
)
def test_an_id_token_for_another_sign_in_client_issuer_or_time_is_refused(client, db, issuer, claims):
    issuer.forged = claims
    assert walk(client, issuer).status_code == 401
    assert not client.session.get("socialaccount_sociallogin")


def test_a_wrong_signature_and_another_subject_are_refused(client, db, issuer):
    issuer.signing_key = _key()
    assert walk(client, issuer).status_code == 401
    issuer.signing_key, issuer.other_subject = issuer.key, "somebody-else"
    assert walk(client, issuer).status_code == 401


def test_cancelling_leads_back_to_the_sign_in_page(client, db, issuer):
    issuer.refuses = True
    assert walk(client, issuer).url == "/accounts/services/cancelled/"
    assert client.get("/accounts/services/cancelled/").url == LOGIN


def test_an_issuer_that_does_not_answer_is_no_error_of_the_site(client, db, issuer, settings):
    settings.GYM_OIDC_ISSUER = "http://127.0.0.1:1"
    assert client.post(START).status_code == 503


def test_an_unconfirmed_address_is_not_taken_over(client, people, issuer, settings):
    settings.GYM_LINK_BY_EMAIL = True
    issuer.person |= {"email": "alice@example.org"}
    sign_up(client, issuer)
    assert signed_in(client) == "anna"
    assert User.objects.get(username="anna").email == ""


def test_a_confirmed_address_of_an_account_leads_to_its_password_unless_the_site_links(
    client, people, issuer, settings
):
    issuer.person |= {"email": "Alice@example.org", "email_verified": True}
    assert walk(client, issuer).status_code == 409
    assert not signed_in(client)
    settings.GYM_LINK_BY_EMAIL = True
    assert walk(client, issuer).url == "/"
    assert signed_in(client) == "alice"


def test_linking_an_account_whose_address_was_never_confirmed_shuts_out_who_made_it(
    client, people, issuer, settings, mailoutbox
):
    settings.GYM_LINK_BY_EMAIL = True
    create_token(actor=people.alice, name="theirs", scopes=["read"])
    SocialAccount.objects.create(user=people.alice, provider="github", uid="theirs")
    TOTP.activate(people.alice, "A" * 32)
    people.alice.set_unusable_password()  # made through GitHub: allauth would find no password to delete
    people.alice.save()
    theirs = Client()
    theirs.force_login(people.alice)
    issuer.person |= {"email": "alice@example.org", "email_verified": True}
    walk(client, issuer)
    assert not live_tokens(people.alice).exists()
    assert [account.provider for account in people.alice.socialaccount_set.all()] == ["oidc"]
    assert not Authenticator.objects.exists()
    assert theirs.get("/accounts/profile/").status_code == 302
    assert signed_in(client) == "alice"
    assert "with another service" in mailoutbox[0].body


def test_accounts_of_staff_are_never_linked_by_address(client, people, issuer, settings):
    settings.GYM_LINK_BY_EMAIL = True
    issuer.person |= {"email": "staff@example.org", "email_verified": True}
    assert walk(client, issuer).status_code == 409


def test_a_disabled_account_stays_out(client, db, issuer):
    sign_up(client, issuer)
    client.post("/accounts/logout/")
    User.objects.update(is_active=False)
    assert walk(client, issuer).status_code == 403
    assert not signed_in(client)


def test_groups_decide_who_may_sign_in_and_who_is_staff(client, db, issuer, settings):
    settings.GYM_SIGN_IN_GROUPS, settings.GYM_STAFF_GROUPS = ["lab"], ["lab-admins"]
    settings.GYM_GROUP_MAP = {"lab": "editors", "lab-admins": "operators"}
    issuer.person["groups"] = ["students"]
    assert walk(client, issuer).status_code == 403
    issuer.person["groups"] = ["lab", "lab-admins"]
    sign_up(client, issuer)
    anna = User.objects.get()
    assert anna.is_staff
    by_hand = Group.objects.create(name="by hand")
    anna.groups.add(by_hand)
    client.post("/accounts/logout/")
    issuer.person["groups"] = ["lab"]
    walk(client, issuer)
    anna.refresh_from_db()
    assert not anna.is_staff
    assert {group.name for group in anna.groups.all()} == {"editors", "by hand"}


def test_closed_sign_up_can_be_open_for_one_kind_of_sign_in(client, db, issuer, settings):
    settings.GYM_SIGN_UP = False
    assert walk(client, issuer).status_code == 403
    settings.GYM_SIGN_UP_FROM = ["oidc"]
    sign_up(client, issuer)
    assert signed_in(client) == "anna"


def test_an_invited_person_may_use_the_service_instead_of_a_password(client, people, issuer, settings):
    settings.GYM_SIGN_UP = False
    [(row, token)] = invitations.invite(["new@example.org"], actor=people.staff)
    assert "Sign in with University" in client.get(f"/accounts/invitation/{token}/").content.decode()
    sign_up(client, issuer)
    anna = User.objects.get(username="anna")
    assert (anna.email, has_confirmed_address(anna)) == ("new@example.org", True)
    row.refresh_from_db()
    assert row.account == anna
    client.post("/accounts/logout/")
    issuer.person["sub"] = "another"
    assert walk(client, issuer).status_code == 403  # the invitation is used up


def test_new_accounts_are_limited_per_address(client, db, issuer, settings):
    settings.GYM_SIGN_UPS_PER_ADDRESS = 1
    sign_up(client, issuer)
    client.post("/accounts/logout/")
    issuer.person["sub"] = "another"
    assert sign_up(client, issuer, "second").status_code == 429


def confirm_password(client, response):
    """Answer the question for the password, and return the response to what was asked for."""
    assert response.url.startswith("/accounts/reauthenticate/"), response.url
    return client.post(response.url, {"password": "alice"})


def test_a_member_connects_after_the_password_and_disconnects(client, people, issuer):
    client.force_login(people.alice)
    page = confirm_password(client, client.post(START, {"connect": "1"}))
    assert page.status_code == 200
    assert walk(client, issuer, connect="1").url == CONNECTIONS
    account = SocialAccount.objects.get(user=people.alice)
    assert "University" in client.get(CONNECTIONS).content.decode()
    assert client.post(f"/accounts/services/{account.pk}/disconnect/").url == CONNECTIONS
    assert not SocialAccount.objects.exists()


def test_the_only_way_in_cannot_be_disconnected(client, db, issuer):
    sign_up(client, issuer)
    account = SocialAccount.objects.get()
    client.post(f"/accounts/services/{account.pk}/disconnect/")
    assert SocialAccount.objects.exists()


def test_what_is_connected_to_another_account_is_not_moved(client, people, issuer):
    sign_up(client, issuer)
    client.post("/accounts/logout/")
    client.force_login(people.alice)
    confirm_password(client, client.post(START, {"connect": "1"}))
    walk(client, issuer, connect="1")
    assert SocialAccount.objects.get().user.username == "anna"


def test_an_account_without_a_password_is_deleted_with_its_name(client, db, issuer):
    sign_up(client, issuer)
    assert client.get("/accounts/password/").status_code == 404
    assert client.post("/accounts/delete/", {"password": "wrong"}).status_code == 400
    assert client.post("/accounts/delete/", {"password": "anna"}).url == "/"
    assert not User.objects.filter(username="anna").exists()
    assert not SocialAccount.objects.exists()


def test_orcid_is_an_issuer_too(client, db, issuer, settings):
    settings.GYM_ORCID_ISSUER = issuer.address
    settings.GYM_ORCID_CLIENT_ID, settings.GYM_ORCID_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
    settings.GYM_OIDC_ISSUER = ""
    page = client.post("/accounts/services/orcid/start/").content.decode()
    assert "scope=openid&amp;" in page
    assert client.post(START).status_code == 404
