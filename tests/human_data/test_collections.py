"""Collections hold human data; published ones protect them."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from gym.collections.services import create_collection, publish_collection, set_human_data
from gym.pages.account_export import export_account
from gym.people import services
from gym.people.models import HumanData
from suites.signals import InUse
from tests.human_data.experiments import import_file, make_revision
from tests.people import make_people


@pytest.mark.django_db
def test_a_published_collection_protects_its_human_data(client):
    people = make_people()
    revision = make_revision(people.alice)
    data = import_file(revision, people.alice)
    collection = create_collection(
        actor=people.alice, slug="paper", title="Paper", description="", reference="", revisions=[revision]
    )
    client.force_login(people.alice)
    client.post(reverse("collection-human-data", args=["paper"]), {"data": data.slug})
    with pytest.raises(ValidationError):  # the data are private
        publish_collection(collection, actor=people.alice)
    services.set_visibility(data, "public", actor=people.alice, confirmed=True)
    publish_collection(collection, actor=people.alice)
    client.logout()
    assert data.get_absolute_url() in client.get(collection.get_absolute_url()).content.decode()
    for change in (
        lambda: services.delete(data, actor=people.alice),
        lambda: services.set_visibility(data, "private", actor=people.alice),
    ):
        with pytest.raises(InUse):
            change()
    client.force_login(people.staff)
    for address, chosen in (
        (reverse("admin:people_humandata_delete", args=[data.pk]), {}),
        (
            reverse("admin:people_humandata_changelist"),
            {"action": "delete_selected", "_selected_action": [data.pk]},
        ),
    ):
        assert (
            "so they cannot be made private"
            in client.post(address, chosen | {"post": "yes"}).content.decode()
        )
    assert HumanData.objects.exists()


@pytest.mark.django_db
def test_the_api_sets_human_data_of_a_collections_suites(client):
    people = make_people()
    revision = make_revision(people.alice)
    data = import_file(revision, people.alice)
    client.force_login(people.alice)

    def send(method, address, body):
        return getattr(client, method)(
            f"/api/v1/collections/{address}", body, content_type="application/json"
        )

    body = {"slug": "study", "title": "Study", "human_data": [data.slug]}
    refused = send("post", "", body)
    assert refused.json()["errors"][0]["where"] == "$.human_data[0]"
    made = send("post", "", body | {"suites": [{"suite": revision.suite.slug}]})
    assert made.json()["human_data"] == [data.slug]
    assert send("patch", "study/", {"suites": []}).json()["human_data"] == []
    changed = send("patch", "study/", {"suites": [{"suite": revision.suite.slug}], "human_data": [data.slug]})
    assert changed.json()["human_data"] == [data.slug]


@pytest.mark.django_db
def test_the_data_of_an_account_name_the_human_data_of_its_collections():
    people = make_people()
    revision = make_revision(people.alice)
    data = import_file(revision, people.alice)
    collection = create_collection(
        actor=people.alice, slug="paper", title="Paper", description="", reference="", revisions=[revision]
    )
    set_human_data(collection, [data], actor=people.alice)
    file = io.BytesIO()
    export_account(people.alice, file)
    with zipfile.ZipFile(file) as archive:
        assert json.loads(archive.read("collections/paper.json"))["human_data"] == [data.slug]
        assert json.loads(archive.read(f"human-data/{data.slug}.json"))["result"] == data.result
