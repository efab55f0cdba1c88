"""Quotas: how many things of a kind one account may keep, and how many bytes they may take up.

This module knows no room. A room registers each kind of thing with the tables that hold it; number and bytes are
counted from these tables, so that no counter can go wrong. Staff is exempt, and so are accounts that nobody can use
(they keep what deleted accounts left). 0 = no limit.

Bytes are those of texts, JSON and files in the database, and ROW for every row, because a million empty rows fill a
disk, too. Indexes do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Aggregate, BigIntegerField, Count, F, Func, OuterRef, Q, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from gym.accounts.models import User

ROW = 100
"""Bytes that a row takes beside its texts, about."""
ADVICE = "Delete some that you no longer need, or ask staff for more."


class OverQuota(ValidationError):
    """The account keeps as much of this kind as it may keep."""


class _StoredBytes(Func):
    """Bytes of one text, JSON or binary column. PostgreSQL knows them without reading the value; of JSON it knows
    those that it stores, packed."""

    template = "LENGTH(CAST(%(expressions)s AS BLOB))"
    output_field = BigIntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        is_json = isinstance(self.get_source_expressions()[0].output_field, models.JSONField)
        function = "PG_COLUMN_SIZE" if is_json else "OCTET_LENGTH"
        return self.as_sql(compiler, connection, template=f"{function}(%(expressions)s)", **context)


def stored(*columns: str) -> Any:
    """Bytes of these columns of a row."""
    return reduce(add, (Coalesce(_StoredBytes(F(name)), Value(0)) for name in columns))


@dataclass(frozen=True)
class Part:
    """A table that holds things of a kind. `owner` leads from its rows to the account; `size`: bytes of a row beside
    ROW, None where bytes are not counted."""

    rows: type[models.Model]
    owner: str = "owner"
    size: Any = None

    def column(self, figure: Aggregate, only: Q | None = None) -> Coalesce:
        """This figure of an account's rows (`only` these), as a column of the account."""
        mine = self.rows._base_manager.filter(only or Q(), **{self.owner: OuterRef("pk")}).order_by()
        return Coalesce(
            Subquery(mine.values(self.owner).annotate(found=figure).values("found")),
            Value(0),
            output_field=BigIntegerField(),
        )


@dataclass(frozen=True)
class Limit:
    """0 = none."""

    number: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Kept:
    number: int
    bytes: int


@dataclass(frozen=True)
class Kind:
    """Things that an account keeps. The rows of the first part are their number; the bytes are those of all parts."""

    key: str
    noun: str
    plural: str
    parts: tuple[Part, ...]
    limit_of: Callable[[User], Limit]

    @property
    def has_bytes(self) -> bool:
        return any(part.size is not None for part in self.parts)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """Number and bytes as columns of accounts."""
        sums = [part.column(Sum(part.size + ROW)) for part in self.parts if part.size is not None]
        return {
            f"{self.key}_number": self.parts[0].column(Count("pk")),
            f"{self.key}_bytes": reduce(add, sums) if sums else Value(0),
        }

    def kept_by(self, user: User) -> Kept:
        row = get_user_model().objects.filter(pk=user.pk).annotate(**self.columns).values(*self.columns).get()
        return _kept_in(row, self)

    def number_of(self, user: User) -> int:
        things = self.parts[0]
        return things.rows._base_manager.filter(**{things.owner: user.pk}).count()

    def require_room(self, owner: User, number: int) -> None:
        """Raise OverQuota if this account may not keep so many things more. Call it in the transaction that makes
        them: it locks the account, so that the limit holds for simultaneous requests, too."""
        owner.hold()
        if not _is_exempt(owner):
            self._check_number(self.limit_of(owner), self.number_of(owner), number)

    @contextmanager
    def growing(self, owner: User, *, actor: User | None = None, new: bool = False) -> Iterator[None]:
        """Everything within becomes part of what the account keeps, or is undone with OverQuota if that is too much.
        What makes things smaller is always allowed. `actor` is who does it, if not the owner.

        `new`: it makes things. The account is locked then, so the number holds for simultaneous requests, too. What
        makes things grow locks nothing (it would wait for, and deadlock with, whatever else locks them), so two
        requests at once may exceed the bytes by one of them."""
        with transaction.atomic():
            if new:
                owner.hold()
            limit = self.limit_of(owner)
            if limit == Limit() or _is_exempt(owner) or (actor is not None and actor.is_staff):
                yield
                return
            # What is made always takes up more, so the bytes before it need not be counted.
            before = Kept(self.number_of(owner), 0) if new else self.kept_by(owner)
            if new:
                self._check_number(limit, before.number, 1)
            yield
            after = self.kept_by(owner)
            self._check_number(limit, before.number, after.number - before.number)
            self._check_bytes(limit, before.bytes, after.bytes, owner, actor or owner)

    def require_bytes(self, owner: User, grown: int, *, actor: User) -> None:
        """Raise OverQuota if the account keeps too many bytes now that what it keeps has grown by so many. For what is
        changed all the time and knows by how much: it counts once, and `growing` twice. Call it in the transaction."""
        limit = self.limit_of(owner)
        if grown <= 0 or not limit.bytes or _is_exempt(owner) or actor.is_staff:
            return
        kept = self.kept_by(owner).bytes
        self._check_bytes(limit, kept - grown, kept, owner, actor)

    def _check_number(self, limit: Limit, kept: int, more: int) -> None:
        if more <= 0 or not limit.number or kept + more <= limit.number:
            return
        with_these = "" if more == 1 else f" With these {more:,} it would be more."
        raise OverQuota(
            f"You keep {kept:,} {self.noun if kept == 1 else self.plural}, and {limit.number:,} is the limit."
            f"{with_these} {ADVICE}"
        )

    def _check_bytes(self, limit: Limit, before: int, after: int, owner: User, actor: User) -> None:
        if after <= before or not limit.bytes or after <= limit.bytes:
            return
        if actor != owner:
            raise OverQuota(
                f"{owner.display_name} owns this and may keep {said(limit.bytes)} of {self.plural}. With this it "
                "would be more. Ask the owner to delete some, or ask staff for more."
            )
        raise OverQuota(
            f"With this your {self.plural} would take up {said(after)}, and {said(limit.bytes)} is the limit. {ADVICE}"
        )


def _is_exempt(user: User) -> bool:
    return user.is_staff or not user.is_active


_kinds: dict[str, Kind] = {}


def register(
    key: str,
    noun: str,
    plural: str,
    *parts: Part,
    setting: str = "",
    limit_of: Callable[[User], Limit] | None = None,
) -> Kind:
    """A kind of thing and its limit: a setting (number, bytes), times the account's `quota_factor`; or a function."""
    kind = Kind(key, noun, plural, parts, limit_of or (lambda user: _of_setting(setting, user)))
    _kinds[key] = kind
    return kind


def _of_setting(name: str, user: User) -> Limit:
    factor = 1 if user.quota_factor is None else user.quota_factor
    number, size = getattr(settings, name)
    return Limit(number * factor, size * factor)


def kinds() -> list[Kind]:
    """Every kind that a room has registered, in the order of the rooms in INSTALLED_APPS."""
    rooms = [config.label for config in apps.get_app_configs()]
    return sorted(_kinds.values(), key=lambda kind: rooms.index(kind.parts[0].rows._meta.app_label))


# --- reads ---


@dataclass(frozen=True)
class Use:
    """What an account keeps of one kind, and may keep; a limit of 0 is none."""

    kind: Kind
    kept: Kept
    limit: Limit

    @property
    def said_bytes(self) -> str:
        return said(self.kept.bytes)

    @property
    def said_limit(self) -> str:
        return said(self.limit.bytes) if self.limit.bytes else ""


def columns_of(chosen: Sequence[Kind]) -> dict[str, Any]:
    """What accounts keep, as columns of accounts; `uses_in` reads them."""
    return {name: column for kind in chosen for name, column in kind.columns.items()}


def uses_in(row: Mapping[str, Any], user: User) -> list[Use]:
    """What an account keeps of every kind, from a row with `columns_of(kinds())`."""
    exempt = _is_exempt(user)
    return [Use(kind, _kept_in(row, kind), Limit() if exempt else kind.limit_of(user)) for kind in kinds()]


def _kept_in(row: Mapping[str, Any], kind: Kind) -> Kept:
    return Kept(row[f"{kind.key}_number"], row[f"{kind.key}_bytes"])


def require_room_for(thing: models.Model, owner: User) -> None:
    """Raise OverQuota if this account may not become the owner of one more such thing, because of their number or
    because the bytes are used up. Its own bytes are not counted: it may exceed the limit by itself. Lock the account
    first (`owner.hold()`), so that the number holds for simultaneous requests, too."""
    for kind in kinds():
        if kind.parts[0].rows is not type(thing) or _is_exempt(owner):
            continue
        limit, kept = kind.limit_of(owner), kind.kept_by(owner)
        too_many = limit.number and kept.number >= limit.number
        if too_many or (limit.bytes and kept.bytes >= limit.bytes):
            raise OverQuota(f"{owner.display_name} may not keep more {kind.plural}.")


def said(size: int) -> str:
    """Bytes as people read them: 34 kB, 4.2 MB."""
    for name, unit in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= unit:
            return f"{size / unit:,.1f}".removesuffix(".0") + f" {name}"
    return f"{size} bytes"
