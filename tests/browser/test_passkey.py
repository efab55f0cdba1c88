"""A passkey as the second step of signing in, and the way to an OpenID Connect issuer and back, under the site's
Content-Security-Policy. Chromium has a virtual authenticator."""

from __future__ import annotations

import re

import pytest
from allauth.mfa.models import Authenticator

from gym.accounts.models import User
from tests.accounts.issuer import CLIENT_ID, CLIENT_SECRET, running_issuer

pytestmark = pytest.mark.chromium_only
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def page(browser, live_server, settings):
    address = live_server.url.replace("127.0.0.1", "localhost")  # passkeys belong to names, not to addresses
    context = browser.new_context(base_url=address)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    yield page
    context.close()


def enter_password(page):
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill("clerk")
    page.get_by_label("Password").fill("clerk")
    page.get_by_role("main").get_by_role("button", name="Sign in", exact=True).click()


def test_staff_set_up_a_passkey_and_sign_in_with_it(page, settings):
    settings.GYM_REQUIRE_2FA = "staff"
    clerk = User.objects.create_user("clerk", password="clerk", is_staff=True)
    enter_password(page)
    page.get_by_role("link", name="Add passkey").click()
    page.get_by_label("Password").fill("clerk")
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Add passkey").click()
    page.get_by_text("You have new recovery codes").wait_for()
    assert Authenticator.objects.filter(user=clerk, type="webauthn").count() == 1
    page.get_by_role("button", name="Sign out", exact=True).click()
    enter_password(page)
    page.get_by_role("heading", name="Second step").wait_for()
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_role("link", name="Administration").click()
    page.get_by_role("heading", name="Administration").wait_for()


def test_a_browser_follows_the_way_to_an_issuer_and_back(page, settings):
    with running_issuer() as issuer:
        settings.GYM_OIDC_ISSUER, settings.GYM_OIDC_NAME = issuer.address, "University"
        settings.GYM_OIDC_CLIENT_ID, settings.GYM_OIDC_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
        page.goto("/accounts/login/?next=/suites/")
        page.get_by_role("button", name="Sign in with University").click()
        page.get_by_label("Username").wait_for()
        assert page.get_by_label("Username").input_value() == "anna"
        page.get_by_role("button", name="Create account").click()
        page.wait_for_url(re.compile(r"/suites/$"))
