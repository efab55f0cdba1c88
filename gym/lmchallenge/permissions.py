"""Who may do what with corpora and games. One table, asked by services, pages and API alike."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied

from gym.accounts.models import AnyUser
from gym.lmchallenge.models import Corpus, Game
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns


def can_view(user: AnyUser, corpus: Corpus) -> bool:
    """Public and unlisted ones are for everybody who knows the address; private ones for their people and staff."""
    return corpus.visibility != Visibility.PRIVATE or may_read(user, corpus)


def can_edit(user: AnyUser, corpus: Corpus) -> bool:
    """What is said about it: the owner, staff and collaborators who may edit."""
    return may_edit(user, corpus)


def can_manage(user: AnyUser, corpus: Corpus) -> bool:
    """Who sees it, and its end: the owner and staff."""
    return owns(user, corpus)


def can_play(user: AnyUser, corpus: Corpus) -> bool:
    """Whoever has an account and may read the text."""
    return bool(user.is_authenticated and can_view(user, corpus))


def can_steer(user: AnyUser, game: Game) -> bool:
    """Cancel, go on, edit, delete: the person who started it, and staff."""
    return owns(user, game)


def require(allowed: bool) -> None:
    """Raise PermissionDenied for what only its people may do."""
    if not allowed:
        raise PermissionDenied("this belongs to somebody else")
