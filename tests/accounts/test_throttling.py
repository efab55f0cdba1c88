"""Password guessing is throttled by account and by IP address, across processes and restarts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.test import RequestFactory

from gym.accounts import throttle
from gym.accounts.models import TokenBucket
from gym.accounts.throttle import Limit, TooManyTries, client_address

ROOT = Path(__file__).resolve().parents[2]
LOGIN = "/accounts/login/"


@pytest.fixture
def clock(monkeypatch):
    """The throttle's clock; tests set `clock.now`."""

    class Clock:
        now = 1_800_000_000.0

    # Not time.time itself: REST framework would keep the fake if a test were the first to import it.
    monkeypatch.setattr("gym.accounts.throttle.time", SimpleNamespace(time=lambda: Clock.now))
    return Clock


def sign_in(client, username="alice", password="wrong", **more):
    return client.post(LOGIN, {"username": username, "password": password}, **more)


def test_a_bucket_gives_so_many_at_once_and_refills_evenly(db, clock):
    limit = Limit("test", 3, 60)
    for _ in range(3):
        limit.take("x")
    with pytest.raises(TooManyTries) as refused:
        limit.take("x")
    assert refused.value.wait == 20
    clock.now += 19
    with pytest.raises(TooManyTries):
        limit.take("x")
    clock.now += 1
    limit.take("x")
    with pytest.raises(TooManyTries):
        limit.take("x")
    clock.now += 1000
    for _ in range(3):
        limit.take("x")


def test_every_subject_has_its_own_and_zero_means_no_limit(db, clock):
    limit = Limit("test", 1, 60)
    limit.take("x")
    limit.take("y")
    Limit("other", 1, 60).take("x")
    for _ in range(100):
        Limit("none", 0, 60).take("x")


def test_what_is_given_back_can_be_taken_again(db, clock):
    limit = Limit("test", 1, 60)
    for _ in range(5):
        limit.take("x")
        limit.give_back("x")


def test_all_limits_are_charged_or_none(db, clock):
    roomy, tight = Limit("roomy", 2, 60), Limit("tight", 1, 60)
    tight.take("x")
    for _ in range(5):
        with pytest.raises(TooManyTries):
            throttle.take_all((roomy, "x"), (tight, "x"))
    roomy.take("x")
    roomy.take("x")


def test_full_buckets_are_swept_away_and_hold_no_names(db, clock):
    Limit("test", 1, 60).take("alice")
    assert "alice" not in str(TokenBucket.objects.values())
    clock.now += 2 * 86_400
    Limit("test", 1, 60).take("bob")
    assert TokenBucket.objects.count() == 1


TAKE = """
import django
django.setup()
from gym.accounts.throttle import Limit, TooManyTries
taken = 0
for _ in range(10):
    try:
        Limit("test", 15, 36_000).take("x")
        taken += 1
    except TooManyTries:
        pass
print(taken)
"""


@pytest.mark.process
def test_processes_share_a_bucket_and_a_restart_forgets_nothing(tmp_path):
    """Four concurrent processes try ten times each; fifteen of the forty tries are allowed. A process started
    later gets none.
    """
    env = {"PATH": "/usr/bin:/bin", "DJANGO_SETTINGS_MODULE": "gym.settings", "GYM_VAR_DIR": str(tmp_path)}

    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True
        )

    assert start("manage.py", "migrate", "accounts", "-v0").wait(timeout=120) == 0
    processes = [start("-c", TAKE) for _ in range(4)]
    assert sum(int(process.communicate(timeout=120)[0]) for process in processes) == 15
    assert int(start("-c", TAKE).communicate(timeout=120)[0]) == 0


@pytest.mark.parametrize("name", ["alice", "nobody-has-this-name"])
def test_wrong_passwords_for_one_account_end_whether_or_not_it_exists(client, people, clock, name):
    answers = [sign_in(client, name) for _ in range(12)]
    assert [answer.status_code for answer in answers] == [200] * 10 + [429] * 2
    refused = answers[-1]
    assert refused["Retry-After"] == "60"
    assert "Try again in 1 minute" in refused.content.decode()
    assert "alice" not in refused.content.decode()


def test_the_right_password_waits_too_and_works_afterwards(client, people, clock):
    for _ in range(10):
        sign_in(client)
    assert sign_in(client, password="alice").status_code == 429
    clock.now += 60
    assert sign_in(client, password="alice").status_code == 302


def test_signing_in_costs_nothing(client, people, clock, settings):
    settings.GYM_SIGN_IN_TRIES_PER_ACCOUNT = 1
    for _ in range(5):
        assert sign_in(client, password="alice").status_code == 302
        client.logout()


def test_one_account_does_not_shut_out_another(client, people, clock):
    for _ in range(11):
        sign_in(client)
    assert sign_in(client, "bob", "bob").status_code == 302


def test_one_address_cannot_try_many_accounts(client, people, clock, settings):
    settings.GYM_SIGN_IN_TRIES_PER_ADDRESS = 5
    answers = [sign_in(client, f"name{number}").status_code for number in range(7)]
    assert answers == [200] * 5 + [429] * 2
    assert sign_in(client, "bob", "bob", REMOTE_ADDR="192.0.2.7").status_code == 302


@pytest.mark.parametrize("written", ["ALICE", " alice ", "ａｌｉｃｅ"])
def test_another_way_to_write_the_name_is_the_same_account(client, people, clock, written):
    for _ in range(10):
        sign_in(client)
    assert sign_in(client, written).status_code == 429


def test_a_program_gets_json(client, people, clock):
    for _ in range(10):
        sign_in(client)
    refused = sign_in(client, headers={"accept": "application/json"})
    assert refused.json() == {"detail": "Too many attempts. Try again in 1 minute."}
    assert refused["Retry-After"] == "60"


def test_the_administration_has_no_door_of_its_own(client, people):
    given = {"username": "staff", "password": "staff"}
    response = client.post("/admin/login/?next=/admin/jobs/", given)
    assert response.url == f"{LOGIN}?next=/admin/jobs/"
    assert "_auth_user_id" not in client.session
    client.post(response.url, given)
    assert "_auth_user_id" in client.session


@pytest.mark.parametrize(
    ("behind", "forwarded", "remote", "expected"),
    [
        (False, "203.0.113.9", "192.0.2.1", "192.0.2.1"),
        (True, "203.0.113.9", "127.0.0.1", "203.0.113.9"),
        (True, "1.2.3.4, 203.0.113.9", "127.0.0.1", "203.0.113.9"),  # the proxy adds only the last entry
        (True, "", "127.0.0.1", "127.0.0.1"),
        (True, "nonsense", "127.0.0.1", "unknown"),
        (False, "", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        (False, "", "::ffff:192.0.2.1", "192.0.2.1"),
        (False, "", "", "unknown"),
    ],
)
def test_the_address_is_what_our_proxy_saw_and_nothing_a_client_says(
    settings, behind, forwarded, remote, expected
):
    settings.GYM_BEHIND_PROXY = behind
    headers = {"x-forwarded-for": forwarded} if forwarded else {}
    request = RequestFactory().get("/", headers=headers, REMOTE_ADDR=remote)
    assert client_address(request) == expected


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (61, "2 minutes"), (7200, "2 hours")],
)
def test_waits_are_said_in_words(seconds, words):
    assert throttle.in_words(seconds) == words


def test_a_stranger_keeps_nobody_out_who_signed_in_on_this_device_before(client, people, clock, settings):
    settings.GYM_SIGN_IN_TRIES_PER_ACCOUNT = 3
    sign_in(client, password="alice")
    client.post("/accounts/logout/")
    stranger = client.__class__()
    for _ in range(4):
        status = sign_in(stranger, REMOTE_ADDR="10.0.0.9").status_code
    assert status == 429
    assert sign_in(client, password="alice").status_code == 302


def test_a_known_device_has_tries_without_end_neither(client, people, clock, settings):
    settings.GYM_SIGN_IN_TRIES_PER_ACCOUNT = 3
    sign_in(client, password="alice")
    client.post("/accounts/logout/")
    assert [sign_in(client).status_code for _ in range(4)] == [200, 200, 200, 429]


@pytest.mark.parametrize("account", ["bob", "alice"])
def test_a_device_is_known_for_the_account_that_signed_in_and_cannot_be_made_up(
    client, people, clock, settings, account
):
    settings.GYM_SIGN_IN_TRIES_PER_ACCOUNT = 1
    sign_in(client, username="bob", password="bob")
    client.post("/accounts/logout/")
    if account == "bob":
        client.cookies["known_device"] = client.cookies["known_device"].value + "x"
    sign_in(client.__class__(), username=account)
    assert sign_in(client, username=account).status_code == 429
