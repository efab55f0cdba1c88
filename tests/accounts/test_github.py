"""Signing in through GitHub, whose answers the test writes."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from gym.accounts.models import User

ANSWERS: dict[str, Any] = {
    "https://github.com/login/oauth/access_token": {"access_token": "x"},
    "https://api.github.com/user": {"id": 17, "login": "anna", "name": "Anna Lind"},
    "https://api.github.com/user/emails": [
        {"email": "old@example.org", "primary": False, "verified": False},
        {"email": "anna@example.org", "primary": True, "verified": True},
    ],
}


@pytest.fixture(autouse=True)
def _github(settings, monkeypatch, db):
    settings.GYM_GITHUB_CLIENT_ID, settings.GYM_GITHUB_CLIENT_SECRET = "gym", "secret"

    def answer(self: requests.Session, method: str, url: str, **more: Any) -> requests.Response:
        response = requests.Response()
        response.status_code = 200
        response.headers["content-type"] = "application/json"
        response._content = json.dumps(ANSWERS[url]).encode()
        return response

    monkeypatch.setattr(requests.Session, "request", answer)


def test_a_person_of_github_gets_an_account_with_the_confirmed_address(client):
    page = client.post("/accounts/services/github/start/").content.decode()
    address = unescape(re.search(r'content="0; url=([^"]+)"', page)[1])
    query = parse_qs(urlsplit(address).query)
    assert address.startswith("https://github.com/login/oauth/authorize?")
    assert query["scope"] == ["user:email"]
    callback = urlsplit(query["redirect_uri"][0]).path
    assert (
        client.get(callback, {"code": "c", "state": query["state"][0]}).url == "/accounts/services/sign-up/"
    )
    client.post("/accounts/services/sign-up/", {"username": "anna"})
    anna = User.objects.get()
    assert (anna.username, anna.email, anna.get_full_name()) == ("anna", "anna@example.org", "Anna Lind")


def test_a_site_for_certain_groups_makes_no_accounts_for_people_without_groups(client, settings):
    settings.GYM_SIGN_IN_GROUPS = ["lab"]
    page = client.post("/accounts/services/github/start/").content.decode()
    state = re.search(r"state=([^&\"]+)", unescape(page))[1]
    answer = client.get("/accounts/services/github/callback/", {"code": "c", "state": state})
    assert answer.status_code == 403
    assert "sign-up is closed" in answer.content.decode()
