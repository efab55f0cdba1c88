"""Addresses of what can be unlisted: secret ones, which cannot be guessed, and those that were public once.

A thing has `slug`, `visibility`, `updated` and `former_addresses`. What hangs below it has a random `key` and
`former_keys`."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models, transaction
from django.db.models.signals import pre_delete
from django.dispatch import Signal, receiver

from gym.accounts.models import User
from gym.addresses import at_free_slug
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit

BATCH = 500
_SECRET = re.compile(r"-[0-9a-f]{20}$")

secret_address_given = Signal()
"""Sent with `thing`, in the transaction that gives it a secret address (it becomes unlisted, or gets a new one). What
belongs to the thing and has an address of its own must not be found there any more by people without a role."""


class Addressed(models.Model):
    """A thing with an address. One that was public and is left is kept as a FormerAddress."""

    class Meta:
        abstract = True

    def clean(self) -> None:
        self._public_address_left()

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Raises InUse where others rely on the address that this would leave."""
        fields = kwargs.get("update_fields")
        if fields is not None and not {"slug", "visibility"} & set(fields):
            super().save(*args, **kwargs)
            return
        former = _formers_of(type(self))
        with transaction.atomic():
            left = self._public_address_left()
            super().save(*args, **kwargs)
            if left:
                former.objects.update_or_create(slug=left, defaults={former.OF: self})
            if self.visibility == Visibility.PUBLIC:  # type: ignore[attr-defined]
                former.objects.filter(**{former.OF: self}, slug=self.slug).delete()  # type: ignore[attr-defined]

    def _public_address_left(self) -> str:
        """The address that everybody could open and that saving would close or change; empty if there is none."""
        kind: Any = type(self)
        rows = kind._default_manager.select_for_update().only("slug", "visibility")
        with transaction.atomic():
            stored = rows.filter(pk=self.pk, visibility=Visibility.PUBLIC).first()
            if stored is None or (self.slug, self.visibility) == (stored.slug, stored.visibility):  # type: ignore[attr-defined]
                return ""
            stored.require_not_in_use()
            return str(stored.slug)

    def require_not_in_use(self) -> None:
        """Raises InUse when others rely on it that everybody sees this thing where it is."""


NOTE = 1000
"""Characters of the note at a former address."""


class FormerAddress(models.Model):
    """An address under which everybody could open a thing, until it was hidden, deleted or got another one. No other
    thing gets it, and strangers read there that the thing is not public any more, and the note of its authors. OF is
    the column that names the thing; it is empty when the thing is deleted."""

    OF: ClassVar[str]

    slug = models.SlugField(max_length=80, unique=True)
    note = models.TextField(blank=True, max_length=NOTE, help_text="what everybody reads there")
    left_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
        ordering = ["-left_at"]
        verbose_name_plural = "former addresses"

    def __str__(self) -> str:
        return self.slug

    @property
    def thing(self) -> Any:
        return getattr(self, self.OF)


class FormerKey(models.Model):
    """The key that something had before it, or what it hangs below, got a secret address. It leads on only who may be
    told of the thing; for everybody else there is nothing. OF is the column that names its row."""

    OF: ClassVar[str]

    key = models.SlugField(max_length=24, unique=True)
    left_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
        ordering = ["-left_at", "-pk"]

    def __str__(self) -> str:
        return self.key


@receiver(pre_delete, dispatch_uid="gym.sharing.addresses")
def _deleted(instance: Any, **kwargs: Any) -> None:
    """A public thing that is deleted leaves its address behind, too."""
    if isinstance(instance, Addressed) and instance.visibility == Visibility.PUBLIC:  # type: ignore[attr-defined]
        former = _formers_of(type(instance))
        former.objects.update_or_create(slug=instance.slug, defaults={former.OF: None})  # type: ignore[attr-defined]


def leave_note(thing: Any, note: str) -> None:
    """What everybody reads at the last public address that this thing had. Raises ValidationError for a thing that is
    where it was."""
    former = None if thing.visibility == Visibility.PUBLIC else thing.former_addresses.first()
    if former is not None:
        _set_note(former, note)
    elif note:
        raise ValidationError(
            {"former_address_note": f"This {thing._meta.verbose_name} has left no public address."}
        )


def leave_note_of_deleted(thing: Any, note: str) -> None:
    """The same for a thing that is deleted; nothing for one that was not public."""
    former = _formers_of(type(thing)).objects.filter(slug=thing.slug).first()
    if former is not None and note:
        _set_note(former, note)


def _set_note(former: Any, note: str) -> None:
    if len(note) > NOTE:
        raise ValidationError({"former_address_note": f"A note has at most {NOTE} characters."})
    type(former).objects.filter(pk=former.pk).update(note=note)


def set_visibility(thing: Any, visibility: str, base: str) -> None:
    """An unlisted thing gets an address that cannot be guessed. Leaving that gives it a plain one again, the one that
    it had when it was public, and the secret address stops working. `base` begins its address, or is it."""
    was, thing.visibility = thing.visibility, visibility
    if Visibility.UNLISTED in {was, visibility} and was != visibility:
        assign_slug(thing, base)
    else:
        thing.save(update_fields=["visibility", "updated"])


def save_with_visibility(thing: Any, was: str, fields: Iterable[str]) -> None:
    """Save changes of these fields of a thing. Its visibility was `was`: a change of it may change the
    address, too."""
    wanted, thing.visibility = thing.visibility, was
    with transaction.atomic():
        thing.save(update_fields=fields)
        if wanted != was:
            set_visibility(thing, wanted, plain(thing.slug))


def new_secret_address(thing: Any, base: str, *, actor: User) -> None:
    """Give an unlisted thing, and what hangs below it, other addresses; links to the old ones stop working for people
    without a role."""
    noun = thing._meta.verbose_name
    if not may_edit(actor, thing):
        raise PermissionDenied(f"you may not edit this {noun}")
    if thing.visibility != Visibility.UNLISTED:
        raise ValidationError(f"Only an unlisted {noun} has a secret address.")
    assign_slug(thing, base)


def assign_slug(thing: Any, base: str) -> None:
    """Save the thing under a free address: a secret one, or the last public one that it had, if it had one."""
    kind, known = type(thing), thing.pk is not None

    def save(slug: str) -> None:
        thing.slug = slug
        thing.clean_fields(exclude=[field.name for field in kind._meta.fields if field.name != "slug"])
        thing.save(update_fields=["slug", "visibility", "updated"] if known else None)

    with transaction.atomic():
        if known:
            kind.objects.select_for_update().only("pk").get(pk=thing.pk)
        if thing.visibility == Visibility.UNLISTED:
            save(secret_slug(base))
            if known:
                secret_address_given.send(sender=kind, thing=thing)
        elif known and (former := thing.former_addresses.first()):
            save(former.slug)
        else:
            # An address that was public is not free: links to it must not lead to another thing.
            at_free_slug(base, save, kind, _formers_of(kind))


def secret_slug(base: str) -> str:
    """An address with 80 random bits."""
    return f"{base[:50]}-{secrets.token_hex(10)}"


def plain(slug: str) -> str:
    """An address without its random part."""
    return _SECRET.sub("", slug)


def renew_keys(rows: Iterable[Any], former: type[FormerKey]) -> None:
    """Give these rows other keys. Those of before are kept as former ones."""
    found = list(rows)
    former.objects.bulk_create(  # type: ignore[attr-defined]
        [former(key=row.key, **{former.OF: row}) for row in found], batch_size=BATCH
    )
    for row in found:
        row.key = row._meta.get_field("key").get_default()
    if found:
        type(found[0]).objects.bulk_update(found, ["key"], batch_size=BATCH)


def _formers_of(kind: type[models.Model]) -> Any:
    return kind._meta.get_field("former_addresses").related_model
