"""Lists of tick boxes in forms."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.factories import make_model, make_revision


@pytest.mark.parametrize(("number", "searched"), [(12, False), (13, True)])
def test_many_boxes_can_be_searched_and_their_error_is_above_them(client, people, number, searched):
    revision = make_revision(people.alice)
    for k in range(number):
        make_model(people.alice, slug=f"model-{k}")
    client.force_login(people.alice)
    page = client.post(reverse("run-start", args=[revision.suite.slug, 1]), {"bos": "auto"}).content.decode()
    assert page.count('name="models"') == number
    assert ('data-filter="#id_models"' in page) == searched
    assert page.index("Choose at least one model.") < page.index('name="models"')
