"""A site behind a proxy that terminates TLS: sign-in, the page for refused forms, the doctor, health
checks."""

from __future__ import annotations

import http.client
import re
import warnings
from urllib.parse import urlencode

import pytest
from django.test import Client

from gym import doctor
from gym.middleware import StaticFiles
from tests.process.live import LiveSite
from tests.test_house import ROOT

LOGIN = "/accounts/login/"
HOST = "gym.example.org"
ALICE = {"username": "alice", "password": "alice"}


def documented() -> dict[str, str]:
    """Return the variables that the deploy page sets for a TLS proxy."""
    text = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    block = text.split("## Behind a TLS proxy")[1].split("```sh\n")[1].split("```")[0]
    return dict(re.findall(r"\b(GYM_[A-Z_]+)=(\S+)", block))


class Browser:
    """Client whose requests reach the site as if sent to https://gym.example.org through the documented
    proxy."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, path: str, form: dict[str, str] | None = None, **more: str) -> tuple[int, str]:
        headers = {"Host": HOST, "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"} | more
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if form is not None:
            headers |= {"Origin": f"https://{HOST}", "Content-Type": "application/x-www-form-urlencoded"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, urlencode(form) if form is not None else None, headers)
        answer = connection.getresponse()
        for header in answer.headers.get_all("Set-Cookie") or []:
            assert "Secure" in header
            name, value = header.split(";")[0].split("=", 1)
            self.cookies[name] = value
        body = answer.read().decode()
        connection.close()
        return answer.status, body


@pytest.mark.process
@pytest.mark.long
def test_following_the_deploy_page_people_sign_in(tmp_path):
    site = LiveSite(tmp_path, GYM_SECRET_KEY="a key of its own", **documented())
    try:
        browser = Browser(site.port)
        status, page = browser.ask("GET", LOGIN)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert (status, bool(token)) == (200, True)
        status, _ = browser.ask("POST", LOGIN, {**ALICE, "csrfmiddlewaretoken": token[1]})
        assert status == 302
        assert "sessionid" in browser.cookies
        assert Browser(site.port).ask("GET", LOGIN, **{"X-Forwarded-Proto": "http"})[0] == 301
    finally:
        site.close()


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "10.1.2.3", "no such host", "gym.example.org"])
def test_a_probe_gets_a_sign_of_life_whatever_its_host_header(client, db, settings, host):
    settings.ALLOWED_HOSTS = ["gym.example.org"]
    settings.SECURE_SSL_REDIRECT = True
    answer = client.get("/healthz", HTTP_HOST=host)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert client.get("/about/", HTTP_HOST="10.1.2.3").status_code == 400


@pytest.fixture
def visitor(settings):
    settings.ALLOWED_HOSTS = [HOST]
    return Client(enforce_csrf_checks=True, headers={"Host": HOST})


def refused(visitor, **more) -> str:
    answer = visitor.post(LOGIN, ALICE, **more)
    assert answer.status_code == 403
    page = " ".join(answer.content.decode().split())
    assert "Form rejected" in page
    return page


def test_a_form_of_the_site_s_own_https_pages_says_what_the_administrator_sets(visitor, people):
    visitor.get(LOGIN)
    page = refused(visitor, HTTP_ORIGIN=f"https://{HOST}")
    assert "GYM_BEHIND_PROXY=1" in page
    assert "GYM_HTTPS=1" in page


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://<b>x</b>"])
def test_a_form_of_another_site_names_it_and_says_nothing_of_settings_to_change(visitor, people, origin):
    page = refused(visitor, HTTP_ORIGIN=origin)
    assert "was not sent from a page of this site" in page
    assert "GYM_" not in page
    assert ("evil.example" in page) is ("evil" in origin)
    assert "<b>x" not in page


def test_without_cookies_the_page_says_so(visitor, people):
    assert "Allow cookies for this site" in refused(visitor, HTTP_ORIGIN=f"http://{HOST}")


def test_a_form_that_is_out_of_date_is_sent_again(visitor, people):
    visitor.get(LOGIN)
    assert "Reload that page" in refused(visitor, HTTP_ORIGIN=f"http://{HOST}")


@pytest.mark.parametrize(
    ("hosts", "behind", "https", "said", "level", "words"),
    [
        ([HOST], False, False, "", doctor.BAD, "sign-in fails behind a proxy with TLS"),
        ([HOST], False, False, "0", doctor.WARN, "passwords travel unencrypted"),
        ([HOST], False, True, "1", doctor.BAD, "redirects to itself"),
        (["localhost"], False, True, "1", doctor.BAD, "redirects to itself"),
        ([HOST], True, False, "", doctor.WARN, "GYM_BEHIND_PROXY=1 without GYM_HTTPS=1"),
        ([HOST], True, True, "1", doctor.OK, "TLS is terminated by a proxy"),
        (["localhost", "127.0.0.1"], False, False, "", None, ""),
    ],
)
def test_the_doctor_finds_half_a_setting(db, settings, monkeypatch, hosts, behind, https, said, level, words):
    settings.ALLOWED_HOSTS, settings.GYM_BEHIND_PROXY, settings.HTTPS = hosts, behind, https
    monkeypatch.setenv("GYM_HTTPS", said)
    found = [(grade, text) for grade, text in doctor.findings() if "TLS" in text or "GYM_HTTPS" in text]
    assert [grade for grade, _ in found] == [level] * bool(level)
    assert all(words in text for _, text in found)


def test_files_that_were_never_collected_are_served_without_a_warning(settings, tmp_path):
    settings.STATIC_ROOT, settings.WHITENOISE_AUTOREFRESH = tmp_path / "not-there", False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        middleware = StaticFiles(lambda request: None)
    assert "/static/css/pages.css" in middleware.files
