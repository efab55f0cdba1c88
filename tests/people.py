"""The people of the tests: alice owns things, bob collaborates, charlie is a stranger, staff runs the site."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser

from gym.accounts.models import User


@dataclass(frozen=True)
class People:
    alice: User
    bob: User
    charlie: User
    staff: User
    nobody: AnonymousUser


def make_people() -> People:
    make = User.objects.create_user
    return People(
        alice=make("alice", email="alice@example.org", password="alice"),
        bob=make("bob", email="bob@example.org", password="bob"),
        charlie=make("charlie", email="charlie@example.org", password="charlie"),
        staff=make("staff", email="staff@example.org", password="staff", is_staff=True, is_superuser=True),
        nobody=AnonymousUser(),
    )
