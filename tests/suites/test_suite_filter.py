"""`SuiteFilter`, which the list of suites and its API use: search, tags, language and order."""

from __future__ import annotations

import pytest

from suites.models import Suite
from suites.selectors import SuiteFilter, with_shape
from tests.once import once_a_module
from tests.suites.test_suite_list import make_three

built, people, three = once_a_module(make_three)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["agreement", "binding", "islands"]),
        ({"q": "agreem"}, ["agreement"]),
        ({"q": "EXTRACTION ross"}, ["islands"]),
        ({"q": "ross 1967"}, ["islands"]),
        ({"q": "number ross"}, ["islands"]),
        ({"q": "number"}, ["agreement", "islands"]),
        ({"q": "binding ross"}, []),
        ({"tag": "number"}, ["agreement", "islands"]),
        ({"tag": "num"}, []),
        ({"tag": "number", "q": "wh"}, ["islands"]),
        ({"language": "DE"}, ["islands"]),
        ({"sort": "items"}, ["agreement", "islands", "binding"]),
        ({"sort": "-items"}, ["binding", "islands", "agreement"]),
        ({"sort": "-title"}, ["islands", "binding", "agreement"]),
    ],
)
def test_search_tags_language_and_order(people, three, query, found):
    rows = SuiteFilter(query, queryset=with_shape(Suite.objects.order_by("title"), people.nobody)).qs
    assert [suite.slug for suite in rows] == found


def test_the_latest_change_comes_first(three):
    for name in ("agreement", "binding", "islands"):
        Suite.objects.get(slug=name).save()
    found = SuiteFilter({"sort": "updated"}, queryset=Suite.objects.all()).qs
    assert [suite.slug for suite in found] == ["agreement", "binding", "islands"]
