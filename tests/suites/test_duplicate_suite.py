"""Duplicating a suite."""

from __future__ import annotations

from suites import services
from tests.factories import make_suite


def test_a_copy_has_the_tags_of_the_suite_and_not_those_of_its_file(people):
    suite = make_suite(people.alice, meta={"name": "agreement", "metric": "sum", "tags": ["demo"]})
    services.set_tags(suite, ["week3"])
    copy = services.copy_suite(suite.latest_frozen, actor=people.bob, title="Mine", visibility="private")
    assert [tag.name for tag in copy.tags.all()] == ["week3"]
