"""Permissions on corpora and games, for services, pages and API."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied

from gym.accounts.models import AnyUser
from gym.lmchallenge.models import Corpus, Game
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns


def can_view(user: AnyUser, corpus: Corpus) -> bool:
    """May see the corpus. Public and unlisted corpora: everybody who knows the address. Private ones: owner,
    collaborators and staff.
    """
    return corpus.visibility != Visibility.PRIVATE or may_read(user, corpus)


def can_edit(user: AnyUser, corpus: Corpus) -> bool:
    """May edit the details: the owner, staff and collaborators with the role “edit”."""
    return may_edit(user, corpus)


def can_manage(user: AnyUser, corpus: Corpus) -> bool:
    """May change visibility and delete: the owner and staff."""
    return owns(user, corpus)


def can_play(user: AnyUser, corpus: Corpus) -> bool:
    """May play on the corpus: everybody who is signed in and may see it."""
    return bool(user.is_authenticated and can_view(user, corpus))


def can_steer(user: AnyUser, game: Game) -> bool:
    """May cancel, resume, edit and delete: the person who started it, and staff."""
    return owns(user, game)


def require(allowed: bool) -> None:
    """Raise PermissionDenied unless `allowed`."""
    if not allowed:
        raise PermissionDenied("this belongs to another user")
