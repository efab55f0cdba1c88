"""Security headers of every response."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.urls import reverse

from gym.accounts.tokens import create_token
from gym.jobs.testing import run_pending
from gym.runs.work import services
from tests.factories import make_model, make_revision

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "/",
    "/about/",
    "/suites/",
    "/models/",
    "/leaderboard/",
    "/queue/",
    "/accounts/login/",
    "/api/v1/",
    "/healthz",
]
MISSING = ["/no/such/page", "/suites/nothing/", "/api/v1/suites/nothing/"]


@pytest.mark.parametrize("address", PAGES + MISSING)
def test_every_answer_forbids_inline_code_sniffing_framing_and_referrers(client, db, address):
    response = client.get(address)
    assert response.status_code == (404 if address in MISSING else 200)
    policy = response["Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert "unsafe" not in policy
    assert "*" not in policy
    assert "http:" not in policy
    assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["form-action"] == "'self'"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"


def test_no_page_has_inline_code_or_style(client, people):
    run = services.queue_run(make_revision(people.alice), make_model(people.alice), actor=people.alice)
    run_pending()
    client.force_login(people.alice)
    addresses = [
        *PAGES[:7],
        run.revision.get_absolute_url(),
        run.get_absolute_url(),
        reverse("run-item", args=[run.key, 1]),
        run.model.get_absolute_url(),
        "/suites/import/",
        "/models/register/",
    ]
    for address in addresses:
        page = client.get(address, follow=True).content.decode()
        for inline in ("<script>", "<style", ' style="', " onclick=", " onload=", "javascript:", "hx-on"):
            assert inline not in page, (address, inline)


def test_downloads_are_attachments_that_are_not_sniffed(client, people):
    run = services.queue_run(make_revision(people.alice), make_model(people.alice), actor=people.alice)
    run_pending()
    slug = run.revision.suite.slug
    kinds = {f"/suites/{slug}/r1/{form}/": kind for form, kind in (
        ("json", "application/json"), ("csv", "text/csv"), ("tsv", "text/tab-separated-values")
    )} | {
        f"/runs/{run.key}/download/json/": "application/json",
        f"/runs/{run.key}/download/regions.csv/": "text/csv",
        reverse("run-chart", args=[run.key]): "image/svg+xml",
        reverse("leaderboard-download", args=["csv"]): "text/csv",
    }  # fmt: skip
    for address, kind in kinds.items():
        response = client.get(address)
        assert response["Content-Type"] == f"{kind}; charset=utf-8", address
        assert response["Content-Disposition"].startswith('attachment; filename="'), address
        assert response["X-Content-Type-Options"] == "nosniff"


def test_cookies_are_out_of_reach_of_scripts_and_of_other_sites(client, people):
    client.get("/accounts/login/")
    client.post("/accounts/login/", {"username": "alice", "password": "alice"})
    session, csrf = client.cookies["sessionid"], client.cookies["csrftoken"]
    assert session["httponly"]
    assert session["samesite"] == csrf["samesite"] == "Lax"
    assert not session["domain"]
    assert not session["secure"]  # a laptop has no TLS


SCRIPT = """
import django
from django.conf import settings
from django.core import checks
django.setup()
print(settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, settings.SECURE_SSL_REDIRECT,
      settings.SECURE_HSTS_SECONDS, settings.DEBUG, settings.SECURE_PROXY_SSL_HEADER)
security = [checks.Tags.security]
print(sorted(found.id for found in checks.run_checks(tags=security, include_deployment_checks=True)))
"""


def test_with_https_cookies_travel_over_tls_only(tmp_path):
    env = {
        "PATH": "/usr/bin:/bin",
        "DJANGO_SETTINGS_MODULE": "gym.settings",
        "GYM_VAR_DIR": str(tmp_path),
        "GYM_HTTPS": "1",
        "GYM_BEHIND_PROXY": "1",
        "GYM_SECRET_KEY": "k3-" + "".join(chr(65 + number % 58) for number in range(60)),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    flags, found = done.stdout.splitlines()
    assert flags == "True True True 31536000 False ('HTTP_X_FORWARDED_PROTO', 'https')"
    # Only a site that owns its whole domain can promise HTTPS for subdomains and preloading.
    assert found == "['security.W005', 'security.W021']"


@pytest.mark.parametrize("address", ["/", "/suites/", "/api/v1/suites/", "/accounts/profile/", "/admin/"])
def test_what_somebody_sees_who_is_signed_in_is_in_no_cache(client, people, address):
    client.force_login(people.staff)
    assert client.get(address, follow=True)["Cache-Control"] == "private, no-store"


def test_nor_what_a_token_reads(client, people):
    _, plain = create_token(actor=people.alice, name="test", scopes=["read"])
    answer = client.get("/api/v1/suites/", headers={"authorization": f"Bearer {plain}"})
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize("address", ["/admin/", "/admin/accounts/user/", "/admin/accounts/user/add/"])
def test_the_admin_has_the_same_policy_and_nothing_inline(client, people, address):
    client.force_login(people.staff)
    answer = client.get(address)
    assert "script-src 'self'" in answer["Content-Security-Policy"]
    page = answer.content.decode()
    for inline in ("<script>", "<style", " onclick=", " onload=", "javascript:"):
        assert inline not in page, inline
