"""Use cases for corpora."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Q

from gym.accounts.models import User
from gym.addresses import slug_from
from gym.jobs import services as jobs
from gym.lmchallenge import permissions
from gym.lmchallenge.models import RESERVED, Corpus, Game
from gym.lmchallenge.quotas import CORPORA
from gym.lmchallenge.storage import bounded_lines, named, pack
from gym.sharing import addresses
from gym.sharing.models import Visibility
from gym.sharing.selectors import shared_by
from lmgym.files.bounded import Limits, opened
from lmgym.lmchallenge import corpus as corpora
from lmgym.lmchallenge import corpus_tools
from lmgym.lmchallenge.errors import CorpusError

MAX_BYTES = 20_000_000
"""Maximum size of a corpus in bytes, both as uploaded and uncompressed."""
MAX_LINES = 200_000
LINE_BYTES = 1_000_000
SECONDS = 60
SHOWN_CHARACTERS = 400
"""Maximum number of characters of a line in the preview."""
ABOUT = ("title", "visibility", "language", "licence", "description")


@dataclass(frozen=True)
class ReadCorpus:
    """A corpus that has been read and checked but not saved."""

    data: bytes
    form: str
    preview: dict[str, Any]

    @property
    def json_as_text(self) -> int:
        """Number of lines that look like JSON with a text, if they are most of a corpus read as plain text; else 0."""
        n = sum(warning["count"] for warning in self.preview["warnings"] if warning["code"] == "json-as-text")
        return n if 2 * n > self.preview["lines"] else 0


def read_corpus(data: bytes, form: str = "auto", source: str = "the corpus") -> ReadCorpus:
    """Decompress a corpus and check every line. Raises CorpusError, which names the line if it is about one."""
    limits = Limits(bytes=MAX_BYTES, lines=MAX_LINES, line_bytes=LINE_BYTES, seconds=SECONDS)
    with named(source, CorpusError):
        raw = opened(io.BytesIO(data), limits).read()
    if not raw:
        raise CorpusError(f"{source}: the file is empty.", "Enter text with at least one line.")
    form = corpora.sniff(raw) if form == "auto" else form
    lines = bounded_lines(io.BytesIO(raw), source, limits, CorpusError)
    preview = corpus_tools.preview(corpora.read(lines, form, source), form, characters=SHOWN_CHARACTERS)
    preview["shown"] = [_showable(line) for line in preview["shown"]]
    return ReadCorpus(raw, form, preview)


def _showable(line: dict[str, Any]) -> dict[str, Any]:
    """Cut long texts, and replace lone surrogates, which neither pages nor databases accept."""
    user, time = line["user"], str(line["timestamp"] or "")
    shown = {"text": line["text"], "user": user if user is None else str(user), "timestamp": time}
    return line | {key: text and _encodable(text[:SHOWN_CHARACTERS]) for key, text in shown.items()}


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def create_corpus(
    data: bytes | ReadCorpus,
    *,
    actor: User,
    title: str,
    slug: str = "",
    form: str = "auto",
    filename: str = "the corpus",
    visibility: str = Visibility.PRIVATE,
    language: str = "",
    licence: str = "",
    description: str = "",
) -> Corpus:
    """Save a corpus from bytes or a ReadCorpus. Raises CorpusError if it is empty or for the first unreadable line,
    ValidationError for invalid details, PermissionDenied, and OverQuota."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to add a corpus")
    if visibility not in Visibility.values:
        raise ValidationError({"visibility": [f"Choose one of {', '.join(Visibility.values)}."]})
    read = data if isinstance(data, ReadCorpus) else read_corpus(data, form, filename)
    with CORPORA.growing(actor, new=True):
        preview = read.preview
        made = Corpus(
            title=title,
            owner=actor,
            visibility=visibility,
            language=language,
            licence=licence,
            description=description,
            form=read.form,
            packed=pack(read.data),
            sha256=hashlib.sha256(read.data).hexdigest(),
            size=len(read.data),
            **{
                name: preview[name]
                for name in ("lines", "characters", "tokens", "users", "warnings", "shown")
            },
        )

        made.full_clean(exclude=["slug", "warnings", "shown", "packed"])
        addresses.assign_slug(made, _slug_of(slug or title))
        return made


def _slug_of(name: str) -> str:
    base = slug_from(name, "corpus")
    return f"{base}-corpus" if base in RESERVED else base


def edit_corpus(corpus: Corpus, *, actor: User, **fields: str) -> None:
    """Change title, language, licence, description and, for the owner and staff, visibility. The text never changes.
    Raises ValidationError, e.g. if the corpus would become private while other people's games depend on it,
    PermissionDenied, and OverQuota."""
    permissions.require(permissions.can_edit(actor, corpus))
    if fields.get("visibility", corpus.visibility) != corpus.visibility:
        permissions.require(permissions.can_manage(actor, corpus))
    hides = fields.get("visibility") == Visibility.PRIVATE
    if hides and (n := _by_others(corpus)):
        raise ValidationError(
            f"This corpus cannot become private, because other people's games depend on it (games: {n})."
        )
    was = corpus.visibility
    for name in ABOUT:
        if name in fields:
            setattr(corpus, name, fields[name])
    corpus.full_clean(exclude=["warnings", "shown", "packed"])
    with CORPORA.growing(corpus.owner, actor=actor):
        addresses.save_with_visibility(corpus, was, [*ABOUT, "updated"])
        if "former_address_note" in fields:
            addresses.leave_note(corpus, fields["former_address_note"])


def delete_corpus(corpus: Corpus, *, actor: User, note: str = "") -> None:
    """Delete a corpus with its games. Raises ValidationError while other people's games depend on it, and
    PermissionDenied unless the actor is its owner or staff."""
    permissions.require(permissions.can_manage(actor, corpus))
    if n := _by_others(corpus):
        raise ValidationError(
            f"This corpus cannot be deleted, because other people's games depend on it (games: {n})."
        )
    with transaction.atomic():
        for game in corpus.games.select_related("job"):
            jobs.stop(game.job, actor=actor)
        corpus.delete()
        addresses.leave_note_of_deleted(corpus, note)


def _by_others(corpus: Corpus) -> int:
    return corpus.games.exclude(owner=corpus.owner_id).count()


# --- account deletion ---


def kept_corpora(user: User) -> Any:
    """Return the user's corpora that other people depend on: public corpora, and corpora with collaborators or other
    people's games.
    """
    others = Game.objects.filter(corpus__isnull=False).exclude(owner=user).values("corpus")
    relied_on = Q(visibility=Visibility.PUBLIC) | Q(pk__in=others) | shared_by(user, Corpus)
    return Corpus.objects.filter(owner=user).filter(relied_on)


def doomed_corpora(user: User) -> Any:
    return Corpus.objects.filter(owner=user).exclude(pk__in=kept_corpora(user).values("pk"))


def doomed_games(user: User) -> Any:
    """Return the user's games that only they and staff could see, and their games on corpora to be deleted."""
    hidden = Q(visibility=Visibility.PRIVATE) | Q(counted_at=None)
    return Game.objects.filter(hidden | Q(corpus__in=doomed_corpora(user).values("pk")), owner=user)


def delete_or_hand_over(user: User, heir: User) -> None:
    """Delete the corpora and games of an account that is being deleted, except those on which others depend: such
    corpora go to `heir`, and such games lose their owner with the account. Call inside a transaction."""
    kept = list(kept_corpora(user).values_list("pk", flat=True))
    doomed = list(doomed_corpora(user).values_list("pk", flat=True))
    Game.objects.filter(pk__in=list(doomed_games(user).values_list("pk", flat=True))).delete()
    Corpus.objects.filter(pk__in=doomed).delete()
    Corpus.objects.filter(pk__in=kept).update(owner=heir)
