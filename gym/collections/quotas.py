"""Quota for collections."""

from __future__ import annotations

from django.db.models import Value

from gym.accounts.quotas import Part, register, stored
from gym.collections.models import Collection, CollectionEntry

COLLECTIONS = register(
    "collections",
    "collection",
    "collections",
    Part(Collection, size=stored("description", "reference")),
    Part(CollectionEntry, "collection__owner", Value(0)),
    setting="GYM_QUOTA_COLLECTIONS",
)
