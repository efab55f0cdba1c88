"""Who may do what with corpora and games. One table, asked by services, pages and API alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gym.lmchallenge.models import Corpus, Game
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User


def can_view(user: User | AnonymousUser, corpus: Corpus) -> bool:
    """Public and unlisted ones are for everybody who knows the address; private ones for their people and staff."""
    return corpus.visibility != Visibility.PRIVATE or may_read(user, corpus)


def can_edit(user: User | AnonymousUser, corpus: Corpus) -> bool:
    """What is said about it: the owner, staff and collaborators who may edit."""
    return may_edit(user, corpus)


def can_manage(user: User | AnonymousUser, corpus: Corpus) -> bool:
    """Who sees it, and its end: the owner and staff."""
    return owns(user, corpus)


def can_play(user: User | AnonymousUser, corpus: Corpus) -> bool:
    """Whoever has an account and may read the text."""
    return bool(user.is_authenticated and can_view(user, corpus))


def can_steer(user: User | AnonymousUser, game: Game) -> bool:
    """Cancel, go on, edit, delete: the person who started it, and staff."""
    return owns(user, game)
