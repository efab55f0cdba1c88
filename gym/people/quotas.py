"""Quota for human data: data sets with their columns, uploaded files that wait for answers, and comparisons."""

from __future__ import annotations

from django.db.models import F

from gym.accounts.quotas import Part, register, stored
from gym.people.models import HumanData, HumanDataImport, PeopleComparison

HUMAN_DATA = register(
    "human_data",
    "human data set",
    "human data sets",
    Part(HumanData, size=F("size") + stored("description", "author", "reference", "bibtex", "result")),
    Part(HumanDataImport, size=F("size")),
    Part(PeopleComparison, size=stored("result")),
    setting="GYM_QUOTA_HUMAN_DATA",
)
