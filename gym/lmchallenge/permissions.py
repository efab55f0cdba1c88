"""Permissions on corpora and games, for services, pages and API."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied

from gym.accounts.models import AnyUser
from gym.lmchallenge.models import Corpus, Game
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns


def can_view(user: AnyUser, corpus: Corpus) -> bool:
    """Return whether the user may view the corpus: anyone who knows the address of a public or unlisted corpus; for a
    private corpus, its owner, collaborators and staff.
    """
    return corpus.visibility != Visibility.PRIVATE or may_read(user, corpus)


def can_edit(user: AnyUser, corpus: Corpus) -> bool:
    """Return whether the user may edit the details: the owner, staff, and collaborators with the role “edit”."""
    return may_edit(user, corpus)


def can_manage(user: AnyUser, corpus: Corpus) -> bool:
    """Return whether the user may change the visibility and delete the corpus: the owner and staff."""
    return owns(user, corpus)


def can_play(user: AnyUser, corpus: Corpus) -> bool:
    """Return whether the user may play on the corpus: anyone who is signed in and may view it."""
    return bool(user.is_authenticated and can_view(user, corpus))


def can_steer(user: AnyUser, game: Game) -> bool:
    """Return whether the user may cancel, resume, edit and delete the game: its owner and staff."""
    return owns(user, game)


def require(allowed: bool) -> None:
    """Raise PermissionDenied unless `allowed`."""
    if not allowed:
        raise PermissionDenied("this belongs to another user")
