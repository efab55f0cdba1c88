"""Every list of the admin can be searched and filtered, and costs few queries however many rows there are."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.urls import reverse

from tests.staff.rows import make

MODELS = list(admin.site._registry)
QUERIES = 10
ROWS = 12  # more than QUERIES, so that a query per row is found


@pytest.fixture
def crowded(people):
    """ROWS rows of every model."""
    return [make(number) for number in range(ROWS)]


def address_of(model) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def test_every_list_is_full_and_costs_few_queries(
    client, people, crowded, subtests, django_assert_max_num_queries
):
    client.force_login(people.staff)
    for model in MODELS:
        with subtests.test(model._meta.label):
            with django_assert_max_num_queries(QUERIES):
                response = client.get(address_of(model))
            assert response.context["cl"].result_count >= ROWS
            assert client.get(address_of(model), {"q": "7"}).status_code == 200


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_a_list_can_be_searched_and_filtered(model):
    listing = admin.site._registry[model]
    assert listing.search_fields
    assert listing.list_filter


def _asked(spec, choices):
    """Return all choices of a filter of our own, and the first of one that Django makes of a field; the list itself is
    the choice of no filter."""
    return choices[1:] if isinstance(spec, admin.SimpleListFilter) else choices[1:2]


def test_every_filter_answers(client, people, subtests):
    make(1)
    client.force_login(people.staff)
    for model in MODELS:
        listed = client.get(address_of(model)).context["cl"]
        for spec in listed.filter_specs:
            with subtests.test(model=model._meta.label, filter=spec.title):
                for choice in _asked(spec, list(spec.choices(listed))):
                    assert client.get(address_of(model) + choice["query_string"]).status_code == 200


def test_limits_of_an_account_are_changed_there(client, people):
    client.force_login(people.staff)
    address = reverse("admin:accounts_user_change", args=[people.alice.pk])
    text = client.get(address).content.decode()
    assert 'name="max_runs"' in text
