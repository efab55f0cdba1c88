"""Add several suites to a collection. Each suite yields a BulkResult: added, already there or refused."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import ValidationError

from gym.accounts.models import User
from gym.addresses import at_free_slug, slug_from
from gym.collections import services
from gym.collections.models import Collection
from suites.bulk import BulkResult
from suites.models import Suite


def new_collection(title: str, *, actor: User) -> Collection:
    """Create an empty collection. Its slug is made from the title, and unique."""
    base = slug_from(title, "collection")
    base = f"{base}-collection" if base in services.RESERVED_SLUGS else base

    def create(slug: str) -> Collection:
        return services.create_collection(
            actor=actor, slug=slug, title=title, description="", reference="", revisions=[]
        )

    return at_free_slug(base, create, Collection)


def collect_each(suites: Iterable[Suite], collection: Collection, *, actor: User) -> list[BulkResult]:
    """Append the newest frozen revision of every suite to the collection."""
    address = collection.get_absolute_url()
    results: list[BulkResult] = []
    for suite in suites:
        revision = services.frozen_revision(actor, suite.slug)
        if revision is None:
            text = services.explain_missing_revision(actor, suite.slug, None)
            results.append(BulkResult(suite, "refused", text))
            continue
        numbers = set(
            collection.entries.filter(revision__suite=suite).values_list("revision__number", flat=True)
        )
        if revision.number in numbers:
            text = f"r{revision.number} is already in “{collection}”."
            results.append(BulkResult(suite, "there", text, address))
            continue
        try:
            services.add_revision(collection, revision, actor=actor)
        except ValidationError as error:
            results.append(BulkResult(suite, "refused", " ".join(error.messages)))
            continue
        older = ", ".join(f"r{number}" for number in sorted(numbers))
        also = f" It also has {older} of this suite." if older else ""
        results.append(
            BulkResult(suite, "done", f"r{revision.number} was added to “{collection}”.{also}", address)
        )
    return results
