"""Queries for corpora and games. All start from `visible_to` or `games_for`."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from gym.accounts.models import AnyUser, User
from gym.lmchallenge import permissions
from gym.lmchallenge.models import Corpus, FormerGameKey, Game
from gym.sharing.models import Visibility
from gym.sharing.selectors import worked_on_by
from lmgym.lmchallenge.logs.measures import COUNTERPART_GAMES

HEAVY = ("packed", "shown", "warnings")
"""Large columns that lists do not need."""
HEAVY_GAME = ("words", "report")


def visible_to(user: AnyUser) -> QuerySet[Corpus]:
    """Return the corpora that this user may open."""
    rows = Corpus.objects.select_related("owner")
    if not user.is_authenticated:
        return rows.exclude(visibility=Visibility.PRIVATE)
    return (
        rows if user.is_staff else rows.filter(~Q(visibility=Visibility.PRIVATE) | worked_on_by(user, Corpus))
    )


def listed_for(user: AnyUser) -> QuerySet[Corpus]:
    """Return corpora for lists: all visible ones, except unlisted ones that the user neither owns nor collaborates
    on.
    """
    rows = visible_to(user).defer(*HEAVY)
    if user.is_authenticated:
        return rows.filter(~Q(visibility=Visibility.UNLISTED) | worked_on_by(user, Corpus))
    return rows.exclude(visibility=Visibility.UNLISTED)


def with_counts(rows: QuerySet[Corpus], user: AnyUser) -> QuerySet[Corpus]:
    """Annotate `n_games`, the number of games listed for this user."""
    shown = Q(games__in=listed_games(user).values("pk"))
    return rows.annotate(n_games=Count("games", filter=shown))


def games_for(user: AnyUser) -> QuerySet[Game]:
    """Return the games that this user may open: their own, and those that are not private, on a text that they may
    read, since a log contains the text; all for staff. Games without statistics are visible only to their owner and
    staff."""
    rows = Game.objects.select_related("corpus__owner", "owner", "model", "job").defer(
        "words", "corpus__packed", "corpus__shown", "corpus__warnings"
    )
    text = Q(corpus=None) | ~Q(corpus__visibility=Visibility.PRIVATE)
    if user.is_authenticated:
        text |= worked_on_by(user, Corpus, "corpus__")
    shown = text & Q(counted_at__isnull=False) & ~Q(visibility=Visibility.PRIVATE)
    if not user.is_authenticated:
        return rows.filter(shown)
    return rows if user.is_staff else rows.filter(shown | Q(owner=user))


def known_to(user: AnyUser) -> QuerySet[Corpus]:
    """Return the corpora whose address may be shown to this user."""
    return visible_to(user) if user.is_authenticated and user.is_staff else listed_for(user)


def game_at(user: AnyUser, key: str) -> QuerySet[Game]:
    """Return the visible game with this key. A former key works only for the game's owner, staff, and the owner and
    collaborators of the corpus, and only while the corpus's address may be shown to them.
    """
    before = Q(pk__in=FormerGameKey.objects.filter(key=key).values("game"))
    before &= Q(corpus=None) | Q(corpus__in=known_to(user).values("pk"))
    if not user.is_authenticated:
        before &= Q(pk=None)
    elif not user.is_staff:
        before &= Q(owner=user) | worked_on_by(user, Corpus, "corpus__")
    return games_for(user).filter(Q(key=key) | before)


def listed_games(user: AnyUser) -> QuerySet[Game]:
    """Return the games to list: all that the user may open, except other people's games that are unlisted or
    on an unlisted corpus on which the user does not work. The user's own games on such corpora are listed
    until the address of the corpus changes.
    """
    rows = games_for(user)
    if user.is_authenticated:
        mine = Q(owner=user) & (Q(former_keys=None) | ~_on_unlisted(user))
        return rows.filter(mine | (~Q(visibility=Visibility.UNLISTED) & ~_on_unlisted(user)))
    return rows.exclude(visibility=Visibility.UNLISTED).exclude(corpus__visibility=Visibility.UNLISTED)


def _on_unlisted(user: User) -> Q:
    return Q(corpus__isnull=False, corpus__visibility=Visibility.UNLISTED) & ~worked_on_by(
        user, Corpus, "corpus__"
    )


def comparable(game: Game, user: AnyUser) -> QuerySet[Game]:
    """Return other games with statistics on the same text that are listed for this user.

    Logs with and without words have different fingerprints, as do logs of versions 4 and 5 of LM Challenge; such pairs
    are matched by corpus instead.
    """
    same = Q(game=game.game, fingerprint=game.fingerprint)
    if game.corpus_id is not None:
        same |= Q(game=game.game, corpus=game.corpus_id, lines=game.lines, has_targets=not game.has_targets)
        alike = next((games - {game.game} for games in COUNTERPART_GAMES if game.game in games), set())
        same |= Q(game__in=alike, corpus=game.corpus_id, has_targets=True)
    return (
        listed_games(user).filter(same, counted_at__isnull=False).exclude(pk=game.pk).exclude(fingerprint="")
    )


# --- single objects for pages: Http404 or PermissionDenied ---


def get_corpus(user: AnyUser, slug: str) -> Corpus:
    return get_object_or_404(visible_to(user), slug=slug)


def get_editable_corpus(user: AnyUser, slug: str) -> Corpus:
    corpus = get_corpus(user, slug)
    permissions.require(permissions.can_edit(user, corpus))
    return corpus


def get_game(user: AnyUser, key: str) -> Game:
    return get_object_or_404(game_at(user, key))


def get_steered_game(user: AnyUser, key: str) -> Game:
    game = get_game(user, key)
    permissions.require(permissions.can_steer(user, game))
    return game


def get_counted_game(user: AnyUser, key: str) -> Game:
    game = get_game(user, key)
    if not game.is_counted:
        raise Http404("The statistics of this game have not been computed yet.")
    return game
