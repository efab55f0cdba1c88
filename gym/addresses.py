"""Slugs made from a title: the first free one, also under concurrent creation."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from itertools import count, islice
from typing import TypeVar

from anyascii import anyascii
from django.db import IntegrityError, models, transaction
from django.utils.text import slugify

Saved = TypeVar("Saved")
TRIES = 12
SLUG_ERROR = "Use letters, digits, - and _ only."


def slug_from(title: str, otherwise: str, most: int = 70) -> str:
    """An address made of a title in any script: letters beyond ASCII are transliterated. `otherwise` where nothing is
    left of the title."""
    return slugify(anyascii(title))[:most].strip("-") or otherwise


def at_free_slug(base: str, save: Callable[[str], Saved], *kinds: type[models.Model]) -> Saved:
    """Call `save` with a slug that no row of these kinds has: `base`, else `base-2` and so on.

    Another request may take the slug before it is saved. Each further try skips more slugs at random, so that
    concurrent requests do not collide again."""
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
