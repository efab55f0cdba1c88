"""Per-account quotas on rows and bytes. Apps register the tables to count; totals are not cached, so they cannot drift.

Staff and inactive accounts (which own objects of deleted accounts) are exempt. 0 = no limit. Bytes are the sizes of
texts, JSON and files in the database, plus ROW per row; indexes are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from math import ceil
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
"""Approximate per-row overhead in bytes."""
ADVICE = "Delete what you no longer need, or ask staff to raise the limit."


class OverQuota(ValidationError):
    """The account's quota for this kind is exhausted."""


class _StoredBytes(Func):
    """Size of a text, JSON or binary column in bytes. PostgreSQL returns it without reading the value; for JSON it is
    the compressed size."""

    template = "LENGTH(CAST(%(expressions)s AS BLOB))"
    output_field = BigIntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        is_json = isinstance(self.get_source_expressions()[0].output_field, models.JSONField)
        function = "PG_COLUMN_SIZE" if is_json else "OCTET_LENGTH"
        return self.as_sql(compiler, connection, template=f"{function}(%(expressions)s)", **context)


def stored(*columns: str) -> Any:
    """Return an expression for the total bytes of these columns of a row."""
    return reduce(add, (Coalesce(_StoredBytes(F(name)), Value(0)) for name in columns))


@dataclass(frozen=True)
class Part:
    """A table to count. `owner`: lookup from a row to its account; `size`: expression for the bytes of a row without
    ROW, or None if bytes are not counted."""

    rows: type[models.Model]
    owner: str = "owner"
    size: Any = None

    def column(self, figure: Aggregate, only: Q | None = None) -> Coalesce:
        """Return an aggregate over an account's rows (filtered by `only`) as a subquery annotation."""
        rows = self.rows._base_manager.filter(only or Q(), **{self.owner: OuterRef("pk")}).order_by()
        return Coalesce(
            Subquery(rows.values(self.owner).annotate(value=figure).values("value")),
            Value(0),
            output_field=BigIntegerField(),
        )


@dataclass(frozen=True)
class Limit:
    """Maximum number and bytes; 0 = no limit."""

    number: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Amount:
    number: int
    bytes: int


@dataclass(frozen=True)
class Kind:
    """A kind of object with a quota. The number counts rows of the first part; the bytes are summed over all parts."""

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
        """Annotations for querysets of accounts: number and bytes of this kind."""
        sums = [part.column(Sum(part.size + ROW)) for part in self.parts if part.size is not None]
        return {
            f"{self.key}_number": self.parts[0].column(Count("pk")),
            f"{self.key}_bytes": reduce(add, sums) if sums else Value(0),
        }

    @cached_property
    def _amounts(self) -> models.QuerySet[User, dict[str, Any]]:
        """Amounts of every account. Kept, because resolving its expressions takes most of the time."""
        amounts: models.QuerySet[User, dict[str, Any]]
        amounts = get_user_model().objects.annotate(**self.columns).values(*self.columns)
        return amounts

    def amount_of(self, user: User) -> Amount:
        return _amount_in(self._amounts.get(pk=user.pk), self)

    def number_of(self, user: User) -> int:
        things = self.parts[0]
        return things.rows._base_manager.filter(**{things.owner: user.pk}).count()

    def require_quota(self, owner: User, number: int) -> None:
        """Raise OverQuota if the account may not store `number` more. Call in the transaction that creates them: it
        locks the account, so that concurrent requests cannot exceed the limit together."""
        owner.lock()
        if not _is_exempt(owner):
            self._check_number(self.limit_of(owner), self.number_of(owner), number)

    @contextmanager
    def growing(self, owner: User, *, actor: User | None = None, new: bool = False) -> Iterator[None]:
        """Run a block of writes in a transaction. Roll back and raise OverQuota if the quota is exceeded; writes that
        free space always pass. `actor`: the writing user, if not the owner; nothing is checked if they are staff.

        `new`: the block creates objects. The account is then locked, so that concurrent requests cannot exceed the
        number. Growth of existing objects takes no lock, to avoid deadlocks, so concurrent requests may together
        exceed the bytes."""
        with transaction.atomic():
            if new:
                owner.lock()
            limit = self.limit_of(owner)
            if limit == Limit() or _is_exempt(owner) or (actor is not None and actor.is_staff):
                yield
                return
            # New objects only add bytes, so the previous bytes need not be counted.
            before = Amount(self.number_of(owner), 0) if new else self.amount_of(owner)
            if new:
                self._check_number(limit, before.number, 1)
            yield
            after = self.amount_of(owner)
            self._check_number(limit, before.number, after.number - before.number)
            self._check_bytes(limit, before.bytes, after.bytes, owner, actor or owner)

    def require_bytes(self, owner: User, grown: int, *, actor: User) -> None:
        """Raise OverQuota if the account, having just grown by `grown` bytes, exceeds its limit, unless `actor` is
        staff. Use it for frequent changes of known size: it counts once, where `growing` counts twice. Call it after
        the change, in the same transaction."""
        limit = self.limit_of(owner)
        if grown <= 0 or not limit.bytes or _is_exempt(owner) or actor.is_staff:
            return
        amount = self.amount_of(owner).bytes
        self._check_bytes(limit, amount - grown, amount, owner, actor)

    def _check_number(self, limit: Limit, amount: int, more: int) -> None:
        if more <= 0 or not limit.number or amount + more <= limit.number:
            return
        with_these = "" if more == 1 else f" Adding {more:,} would exceed it."
        raise OverQuota(
            f"You have {amount:,} {self.noun if amount == 1 else self.plural}; the limit is {limit.number:,}."
            f"{with_these} {ADVICE}"
        )

    def _check_bytes(self, limit: Limit, before: int, after: int, owner: User, actor: User) -> None:
        if after <= before or not limit.bytes or after <= limit.bytes:
            return
        if actor != owner:
            raise OverQuota(
                f"{owner.display_name} owns this and may keep {size_text(limit.bytes)} of {self.plural}. This change "
                "would exceed the limit. Ask the owner to delete something, or staff to raise the limit."
            )
        raise OverQuota(
            f"With this change, your {self.plural} would take up {size_text(after)}; the limit is "
            f"{size_text(limit.bytes)}. {ADVICE}"
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
    """Register a kind of object. Its limit is a setting (number, bytes) times the account's `quota_factor`, or the
    result of `limit_of`."""
    kind = Kind(key, noun, plural, parts, limit_of or (lambda user: _of_setting(setting, user)))
    _kinds[key] = kind
    return kind


def _of_setting(name: str, user: User) -> Limit:
    factor = 1 if user.quota_factor is None else user.quota_factor
    number, size = getattr(settings, name)
    return Limit(_times(number, factor), _times(size, factor))


def _times(limit: int, factor: float) -> int:
    """Multiply a limit and round up: only 0 means no limit. 100 * 1.1 is 110, despite the error of the float."""
    product = limit * factor
    return max(ceil(round(product, 6)), int(product > 0))


def kinds() -> list[Kind]:
    """Return the registered kinds, in the order of their apps in INSTALLED_APPS."""
    labels = [config.label for config in apps.get_app_configs()]
    return sorted(_kinds.values(), key=lambda kind: labels.index(kind.parts[0].rows._meta.app_label))


# --- reads ---


@dataclass(frozen=True)
class Use:
    """An account's use of one kind's quota, with its limit (0 = no limit)."""

    kind: Kind
    amount: Amount
    limit: Limit

    @property
    def bytes_text(self) -> str:
        return size_text(self.amount.bytes)

    @property
    def limit_text(self) -> str:
        return size_text(self.limit.bytes) if self.limit.bytes else ""


def columns_of(chosen: Sequence[Kind]) -> dict[str, Any]:
    """Return the number and bytes of each kind as annotations for querysets of accounts; `uses_in` reads them."""
    return {name: column for kind in chosen for name, column in kind.columns.items()}


def uses_in(row: Mapping[str, Any], user: User) -> list[Use]:
    """Return the use of every kind from an account row with `columns_of(kinds())`."""
    exempt = _is_exempt(user)
    return [Use(kind, _amount_in(row, kind), Limit() if exempt else kind.limit_of(user)) for kind in kinds()]


def _amount_in(row: Mapping[str, Any], kind: Kind) -> Amount:
    return Amount(row[f"{kind.key}_number"], row[f"{kind.key}_bytes"])


def require_quota_for(obj: models.Model, owner: User) -> None:
    """Raise OverQuota if the account may not take over another such object because its number or bytes are used up. The
    bytes of the object itself are not counted. Lock the account first (`owner.lock()`)."""
    for kind in kinds():
        if kind.parts[0].rows is not type(obj) or _is_exempt(owner):
            continue
        limit, amount = kind.limit_of(owner), kind.amount_of(owner)
        too_many = limit.number and amount.number >= limit.number
        if too_many or (limit.bytes and amount.bytes >= limit.bytes):
            raise OverQuota(f"{owner.display_name} may not keep more {kind.plural}: the quota is used up.")


def size_text(size: int) -> str:
    """Format bytes: 34 kB, 4.2 MB."""
    for name, unit in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= unit:
            return f"{size / unit:,.1f}".removesuffix(".0") + f" {name}"
    return f"{size} bytes"
