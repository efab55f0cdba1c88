"""Addresses of objects that can be unlisted: secret addresses, and records of former public addresses.

An object has `slug`, `visibility`, `updated` and `former_addresses`. Rows below it (e.g. runs) have a random
`key` and `former_keys`."""

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
"""Sent with `obj` in the transaction that gives it a secret address (it became unlisted, or got a new
address). Receivers change the addresses of rows below the object, so that old links to these rows work only
for users who may know that the object exists."""


class Addressed(models.Model):
    """Base of objects with an address. A public address that is changed, hidden or deleted is recorded as a
    FormerAddress."""

    class Meta:
        abstract = True

    def clean(self) -> None:
        self._public_address_left()

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the object. If this closes or changes a public address, record that address. Raises InUse if
        others rely on it."""
        fields = kwargs.get("update_fields")
        if fields is not None and not {"slug", "visibility"} & set(fields):
            super().save(*args, **kwargs)
            return
        records = _records_of(type(self))
        with transaction.atomic():
            left = self._public_address_left()
            super().save(*args, **kwargs)
            if left:
                records.objects.update_or_create(slug=left, defaults={records.OF: self})
            if self.visibility == Visibility.PUBLIC:  # type: ignore[attr-defined]
                records.objects.filter(**{records.OF: self}, slug=self.slug).delete()  # type: ignore[attr-defined]

    def _public_address_left(self) -> str:
        """Return the public address that saving would close or change; empty if none."""
        kind: Any = type(self)
        rows = kind._default_manager.select_for_update().only("slug", "visibility")
        with transaction.atomic():
            stored = rows.filter(pk=self.pk, visibility=Visibility.PUBLIC).first()
            if stored is None or (self.slug, self.visibility) == (stored.slug, stored.visibility):  # type: ignore[attr-defined]
                return ""
            stored.require_not_in_use()
            return str(stored.slug)

    def require_not_in_use(self) -> None:
        """Raise InUse if others rely on this object being public at its address."""


NOTE = 1000
"""Maximum number of characters of the note at a former address."""


class FormerAddress(models.Model):
    """A former public address of an object that was hidden, deleted or moved. It is never reused for another
    object. It redirects to the object if that is public or the user is its owner, a collaborator or staff; else its
    page states that the object is no longer public, and shows the authors' note. OF names the foreign key to the
    object, which is null once the object is deleted."""

    OF: ClassVar[str]

    slug = models.SlugField(max_length=80, unique=True)
    note = models.TextField(blank=True, max_length=NOTE, help_text="shown to everyone at the old address")
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
    """A former key of a row that became unlisted, or that is below an object that got a secret address. It redirects
    only users who may know that the object exists; everybody else gets a 404. OF names the foreign key to the row."""

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
    """Record the address of a public object that is deleted."""
    if isinstance(instance, Addressed) and instance.visibility == Visibility.PUBLIC:  # type: ignore[attr-defined]
        records = _records_of(type(instance))
        records.objects.update_or_create(slug=instance.slug, defaults={records.OF: None})  # type: ignore[attr-defined]


def leave_note(obj: Any, note: str) -> None:
    """Set the note shown at the object's last public address. Raises ValidationError for a note that is too long, or
    that has no place because the object is public or never left a public address."""
    record = None if obj.visibility == Visibility.PUBLIC else obj.former_addresses.first()
    if record is not None:
        _set_note(record, note)
    elif note:
        raise ValidationError(
            {"former_address_note": f"This {obj._meta.verbose_name} has no former public address."}
        )


def leave_note_of_deleted(obj: Any, note: str) -> None:
    """Set the note shown at the address of a deleted object. Does nothing if the note is empty or the address was never
    public."""
    record = _records_of(type(obj)).objects.filter(slug=obj.slug).first()
    if record is not None and note:
        _set_note(record, note)


def _set_note(record: Any, note: str) -> None:
    if len(note) > NOTE:
        raise ValidationError({"former_address_note": f"A note has at most {NOTE} characters."})
    type(record).objects.filter(pk=record.pk).update(note=note)


def set_visibility(obj: Any, visibility: str, base: str) -> None:
    """Change who can see an object. An object that becomes unlisted gets a secret address. One that was unlisted gets a
    plain address (its former public address, if any), and the secret address stops working. `base`: start of the new
    address."""
    was, obj.visibility = obj.visibility, visibility
    if Visibility.UNLISTED in {was, visibility} and was != visibility:
        assign_slug(obj, base)
    else:
        obj.save(update_fields=["visibility", "updated"])


def save_with_visibility(obj: Any, was: str, fields: Iterable[str]) -> None:
    """Save changed fields of an object whose stored visibility is `was`. A new visibility may also change the
    address."""
    new, obj.visibility = obj.visibility, was
    with transaction.atomic():
        obj.save(update_fields=fields)
        if new != was:
            set_visibility(obj, new, plain(obj.slug))


def new_secret_address(obj: Any, base: str, *, actor: User) -> None:
    """Give an unlisted object and the rows below it new addresses. The object's old address stops working;
    old links to the rows work only for users who may know that the object exists."""
    noun = obj._meta.verbose_name
    if not may_edit(actor, obj):
        raise PermissionDenied(f"you may not edit this {noun}")
    if obj.visibility != Visibility.UNLISTED:
        raise ValidationError(f"Only an unlisted {noun} has a secret address.")
    assign_slug(obj, base)


def assign_slug(obj: Any, base: str) -> None:
    """Save the object under a secret address if it is unlisted, else under its last public address or a free one."""
    kind, is_saved = type(obj), obj.pk is not None

    def save(slug: str) -> None:
        obj.slug = slug
        obj.clean_fields(exclude=[field.name for field in kind._meta.fields if field.name != "slug"])
        obj.save(update_fields=["slug", "visibility", "updated"] if is_saved else None)

    with transaction.atomic():
        if is_saved:
            kind.objects.select_for_update().only("pk").get(pk=obj.pk)
        if obj.visibility == Visibility.UNLISTED:
            save(secret_slug(base))
            if is_saved:
                secret_address_given.send(sender=kind, obj=obj)
        elif is_saved and (record := obj.former_addresses.first()):
            save(record.slug)
        else:
            # Former public addresses are not free: links to them must never lead to another object.
            at_free_slug(base, save, kind, _records_of(kind))


def secret_slug(base: str) -> str:
    """Return an address with 80 random bits."""
    return f"{base[:50]}-{secrets.token_hex(10)}"


def plain(slug: str) -> str:
    """Strip the random part of a secret address."""
    return _SECRET.sub("", slug)


def renew_keys(rows: Iterable[Any], record: type[FormerKey]) -> None:
    """Give rows new keys and record the old keys."""
    changed = list(rows)
    record.objects.bulk_create(  # type: ignore[attr-defined]
        [record(key=row.key, **{record.OF: row}) for row in changed], batch_size=BATCH
    )
    for row in changed:
        row.key = row._meta.get_field("key").get_default()
    if changed:
        type(changed[0]).objects.bulk_update(changed, ["key"], batch_size=BATCH)


def _records_of(kind: type[models.Model]) -> Any:
    return kind._meta.get_field("former_addresses").related_model
