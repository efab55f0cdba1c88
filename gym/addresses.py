"""Slugs: their form field, and free ones derived from titles, safely under concurrent creation."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from itertools import count, islice
from typing import Any, ClassVar, TypeVar

from anyascii import anyascii
from django import forms
from django.core.validators import RegexValidator, slug_re
from django.db import IntegrityError, models, transaction
from django.utils.text import slugify

Saved = TypeVar("Saved")
TRIES = 12
SHORT_NAME_HELP = "The last part of the address."


class ShortNameField(forms.SlugField):
    """A slug, which forms and pages call a short name."""

    default_validators = [RegexValidator(slug_re, "Use letters, digits, - and _ only.")]
    default_error_messages: ClassVar = {"unique": "This short name is taken. Choose another one."}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"label": "Short name"})


def slug_from(title: str, default: str, max_length: int = 70) -> str:
    """Slugify a title in any script, transliterating to ASCII; `default` if nothing is left."""
    return slugify(anyascii(title))[:max_length].strip("-") or default


def at_free_slug(base: str, save: Callable[[str], Saved], *kinds: type[models.Model]) -> Saved:
    """Call `save` with a slug that is free in these models: `base`, else `base-2` and so on.

    If another request takes the slug first, retry after skipping a random, growing number of slugs, so that concurrent
    requests do not collide again."""
    for tries in range(TRIES):
        slug = _free(base, kinds, skip=secrets.randbelow(2**tries))
        try:
            with transaction.atomic():
                return save(slug)
        except IntegrityError:
            if tries + 1 == TRIES or slug not in _taken(slug, kinds):
                raise
    raise AssertionError


def _free(base: str, kinds: tuple[type[models.Model], ...], *, skip: int) -> str:
    taken = _taken(base, kinds)
    slugs = (base if number == 1 else f"{base}-{number}" for number in count(1))
    return next(islice((slug for slug in slugs if slug not in taken), skip, None))


def _taken(base: str, kinds: tuple[type[models.Model], ...]) -> set[str]:
    return {
        slug
        for kind in kinds
        for slug in kind._default_manager.filter(slug__startswith=base).values_list("slug", flat=True)
    }
