"""An overlong text filter is an error that names the parameter."""

from __future__ import annotations

import django_filters
import pytest
from django.urls import get_resolver, reverse

from gym.api.base import ListView
from lmgym.text import MOST_CHARACTERS


def _texts() -> list[tuple[str, str]]:
    """Return (URL name, parameter) for every text filter of every list."""
    found = []
    for name, kind in named_views():
        filterset = getattr(kind, "filterset_class", None)
        for parameter, one in (filterset.base_filters if filterset else {}).items():
            if isinstance(one, django_filters.CharFilter):
                found.append((name, parameter))
    return found


def named_views(resolver=None):
    """Yield (URL name, class) of every list of the API."""
    for pattern in (resolver or get_resolver()).url_patterns:
        if hasattr(pattern, "url_patterns"):
            yield from named_views(pattern)
        elif isinstance(kind := getattr(pattern.callback, "cls", None), type) and issubclass(kind, ListView):
            yield pattern.name, kind


TEXTS = _texts()


@pytest.mark.parametrize(("name", "parameter"), TEXTS)
def test_a_text_too_long_is_refused_by_name(client, people, name, parameter):
    client.force_login(people.alice)
    answer = client.get(reverse(name), {parameter: "x" * 60_000})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["where"] == f"?{parameter}"
    assert str(MOST_CHARACTERS) in answer.json()["errors"][0]["message"]


def test_all_lists_with_texts_are_tried():
    assert {"api-suites", "api-models", "api-runs"} <= {name for name, _ in TEXTS}
