"""The users in tests: alice owns objects, bob may edit them, dora may view them, charlie is a stranger, staff
administers the site."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser

from gym.accounts.models import User


@dataclass(frozen=True)
class People:
    alice: User
    bob: User
    dora: User
    charlie: User
    staff: User
    nobody: AnonymousUser


def make_people() -> People:
    def make(name: str, **more: bool) -> User:
        return User.objects.create_user(name, email=f"{name}@example.org", password=name, **more)

    return People(
        alice=make("alice"),
        bob=make("bob"),
        dora=make("dora"),
        charlie=make("charlie"),
        staff=make("staff", is_staff=True, is_superuser=True),
        nobody=AnonymousUser(),
    )
