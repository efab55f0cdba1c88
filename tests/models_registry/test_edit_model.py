"""A model's card: fields that its people may edit, and fields that stay as registered."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.factories import make_model


@pytest.fixture
def model(people):
    return make_model(people.alice, fingerprint="f" * 64, parameters=12)


def edit(client, user, model, **given):
    client.force_login(user)
    return client.post(
        reverse("model-edit", args=[model.slug]), {"name": "New name", "visibility": "private"} | given
    )


def test_the_owner_changes_the_card(client, people, model):
    response = edit(
        client,
        people.alice,
        model,
        description="Ten bits each.",
        perplexity="1024",
        url="https://example.org",
    )
    assert response.url == model.get_absolute_url()
    model.refresh_from_db()
    assert (model.name, model.visibility, model.description, model.perplexity) == (
        "New name",
        "private",
        "Ten bits each.",
        1024.0,
    )
    page = client.get(model.get_absolute_url()).content.decode()
    assert "Ten bits each." in page
    assert 'href="https://example.org" rel="nofollow ugc noopener"' in page


def test_what_a_model_is_cannot_be_changed_by_its_card(client, people, model):
    edit(
        client,
        people.alice,
        model,
        slug="other",
        backend="causal",
        config='{"path": "/etc"}',
        status="ready",
        owner=people.charlie.pk,
        fingerprint="0" * 64,
        parameters="1",
    )
    before = (model.slug, model.backend, model.config, model.status, model.owner, model.fingerprint, 12)
    model.refresh_from_db()
    assert before == (
        model.slug,
        model.backend,
        model.config,
        model.status,
        model.owner,
        model.fingerprint,
        model.parameters,
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": ""}, "This field is required."),
        ({"visibility": "secret"}, "secret is not one of the available choices"),
        ({"perplexity": "low"}, "Enter a number."),
        ({"url": "javascript:alert(1)"}, "Enter a valid URL."),
    ],
)
def test_what_does_not_fit_is_a_400_and_changes_nothing(client, people, model, given, says):
    response = edit(client, people.alice, model, **given)
    assert response.status_code == 400
    assert says in response.content.decode()
    model.refresh_from_db()
    assert model.name == "Uniform"


def test_strangers_see_a_public_model_and_cannot_edit_it(client, people, model):
    assert edit(client, people.charlie, model).status_code == 403
    assert "Edit card" not in client.get(model.get_absolute_url()).content.decode()


def test_a_private_model_is_in_nobody_elses_list(client, people):
    model = make_model(people.alice, slug="hidden-one", visibility="private")
    address = reverse("model-list")
    for person, sees in ((people.alice, True), (people.staff, True), (people.charlie, False), (None, False)):
        if person:
            client.force_login(person)
        else:
            client.logout()
        assert (model.slug in client.get(address).content.decode()) is sees


def test_tags_are_edited_and_the_form_says_which_of_them_mean_something(client, people):
    model = make_model(people.alice, tags=["demo", "group:old"])
    client.force_login(people.alice)
    page = client.get(reverse("model-edit", args=[model.slug])).content.decode()
    assert 'value="demo, group:old"' in page
    assert "group:NAME" in page
    assert "step:2000" in page
    edit(client, people.alice, model, tag_names="group:ours, step:2k, , group:ours")
    model.refresh_from_db()
    assert model.tags == ["group:ours", "step:2k"]
