"""Throttles as token buckets in the database: `tries` per `period`, refilled evenly, shared by all processes."""

from __future__ import annotations

import math
import time
import unicodedata
from dataclasses import dataclass

from django.conf import settings
from django.core import signing
from django.db.models import F, Value
from django.db.models.functions import Greatest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.crypto import get_random_string

from gym.accounts.models import TokenBucket
from gym.client_ip import client_ip
from lmgym.text import count

MINUTE, HOUR, DAY = 60, 3600, 86_400


class TooManyTries(Exception):
    """The bucket is empty. `wait`: seconds until the next try; `reason`: a sentence about the limit, or empty."""

    def __init__(self, wait: float, reason: str = "") -> None:
        self.wait, self.reason = max(1, math.ceil(wait)), reason
        super().__init__(f"{reason or 'Too many attempts.'} Try again in {in_words(self.wait)}.")


@dataclass(frozen=True)
class Limit:
    """A limit of at most `tries` at once, refilled evenly within `period` seconds. 0 tries = no limit. `reason` tells
    people who are refused why."""

    name: str
    tries: int
    period: int
    reason: str = ""

    @property
    def step(self) -> float:
        return self.period / self.tries

    def take(self, subject: object) -> None:
        """Use one try. Raises TooManyTries if none is left."""
        if not self.tries:
            return
        key = TokenBucket.key_of(self.name, subject)
        while True:
            now = time.time()
            taken = TokenBucket.objects.filter(pk=key, full_at__lte=now + self.period - self.step)
            if taken.update(full_at=Greatest(F("full_at"), Value(now)) + self.step):
                return
            full_at = TokenBucket.objects.filter(pk=key).values_list("full_at", flat=True).first()
            if full_at is None:
                self._open(key, now)
            elif full_at > now + self.period - self.step:
                raise TooManyTries(full_at - (now + self.period - self.step), self.reason)

    def give_back(self, subject: object) -> None:
        """Return one try to the bucket, because it succeeded or was refused by another limit."""
        if self.tries:
            key = TokenBucket.key_of(self.name, subject)
            TokenBucket.objects.filter(pk=key).update(full_at=F("full_at") - self.step)

    @staticmethod
    def _open(key: str, now: float) -> None:
        drop_full()
        TokenBucket.objects.bulk_create([TokenBucket(key=key, full_at=now)], ignore_conflicts=True)


def drop_full() -> int:
    """Delete buckets that have been full for a day, which need no row; return how many."""
    return TokenBucket.objects.filter(full_at__lt=time.time() - DAY).delete()[0]


def sign_in_by_account() -> Limit:
    return Limit("sign-in account", settings.GYM_SIGN_IN_TRIES_PER_ACCOUNT, 10 * MINUTE)


def sign_in_by_address() -> Limit:
    return Limit("sign-in address", settings.GYM_SIGN_IN_TRIES_PER_ADDRESS, 10 * MINUTE)


def sign_up_by_address() -> Limit:
    return _by_shared_address("sign-up address", "new account")


def reset_by_address() -> Limit:
    return _by_shared_address("reset address", "password link")


def _by_shared_address(name: str, what: str) -> Limit:
    tries = settings.GYM_SIGN_UPS_PER_ADDRESS
    reason = (
        f"This site allows {count(tries, what)} per internet address and hour, and a class or an institute often "
        "shares one address. An administrator can raise the limit (GYM_SIGN_UPS_PER_ADDRESS)."
    )
    return Limit(name, tries, HOUR, reason)


def reset_by_email() -> Limit:
    return Limit("reset e-mail", 3 if settings.GYM_SIGN_UPS_PER_ADDRESS else 0, HOUR)


def bad_token_by_address() -> Limit:
    return Limit("token address", settings.GYM_SIGN_IN_TRIES_PER_ADDRESS, 10 * MINUTE)


def own_password() -> Limit:
    return Limit("own password", settings.GYM_SIGN_IN_TRIES_PER_ACCOUNT, 10 * MINUTE)


def live_readings() -> Limit:
    """Previews of how a file is read, which take as much computing as its import."""
    return Limit("live reading", 100, MINUTE)


DEVICE_COOKIE = "known_device"
DEVICE_SALT = "gym.accounts.device"
DEVICE_AGE = 365 * DAY


def remember_device(request: HttpRequest, response: HttpResponse, username: str) -> None:
    """Give a browser that has signed in its own bucket, so that a stranger's wrong passwords do not lock out the owner
    (OWASP: device cookies)."""
    value = {
        "account": account_key(username),
        "device": _device_of(request, username) or get_random_string(22),
    }
    response.set_cookie(
        DEVICE_COOKIE,
        signing.dumps(value, salt=DEVICE_SALT),
        max_age=DEVICE_AGE,
        path=reverse("login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def throttle_subject(request: HttpRequest, username: str) -> str:
    """Return the key of the bucket for a sign-in: the account, or a browser that has signed in to it
    before."""
    device = _device_of(request, username)
    return f"{account_key(username)} on {device}" if device else account_key(username)


def _device_of(request: HttpRequest, username: str) -> str:
    try:
        value = signing.loads(request.COOKIES.get(DEVICE_COOKIE, ""), salt=DEVICE_SALT, max_age=DEVICE_AGE)
    except signing.BadSignature:
        return ""
    return str(value["device"]) if value["account"] == account_key(username) else ""


def take_all(*limits: tuple[Limit, object]) -> None:
    """Use one try from each limit. If any of them is exhausted, use none and raise TooManyTries."""
    taken: list[tuple[Limit, object]] = []
    for limit, subject in limits:
        try:
            limit.take(subject)
        except TooManyTries:
            give_back_all(*taken)
            raise
        taken.append((limit, subject))


def give_back_all(*taken: tuple[Limit, object]) -> None:
    for limit, subject in taken:
        limit.give_back(subject)


def account_key(name: str) -> str:
    """Normalise a user name or e-mail address, whether or not it exists, so that all spellings share a bucket."""
    return unicodedata.normalize("NFKC", name).casefold().strip()[:200]


def client_address(request: HttpRequest) -> str:
    """Return the client's IP address (see gym.client_ip)."""
    forwarded_for = request.META.get("HTTP_X_FORWARDED_FOR", "")
    return client_ip(
        request.META.get("REMOTE_ADDR", ""), forwarded_for, behind_proxy=settings.GYM_BEHIND_PROXY
    )


def in_words(seconds: int) -> str:
    """Format a duration for people: 90 -> 2 minutes."""
    if seconds < MINUTE:
        return "1 second" if seconds == 1 else f"{seconds} seconds"
    minutes = math.ceil(seconds / MINUTE)
    if minutes < 120:
        return "1 minute" if minutes == 1 else f"{minutes} minutes"
    return f"{math.ceil(minutes / 60)} hours"


def refusal(request: HttpRequest, error: TooManyTries) -> HttpResponse:
    """Return a 429 with Retry-After, as a page or as JSON."""
    if request.get_preferred_type(["text/html", "application/json"]) == "application/json":
        response: HttpResponse = JsonResponse({"detail": str(error)}, status=429)
    else:
        response = render(
            request, "429.html", {"wait": in_words(error.wait), "reason": error.reason}, status=429
        )
    response["Retry-After"] = str(error.wait)
    return response
