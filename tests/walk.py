"""End-to-end test of a suite: import, freeze, run on the page and on the command line, export."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from gym.demo.loader import load_demo
from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from models_registry.models import RegisteredModel
from suites.models import Suite
from tests.factories import checked

NOISE_BITS = 5e-4


def checked_demo_model(slug: str) -> RegisteredModel:
    """Load the demo, and return one of its models after a check."""
    list(load_demo(queue_runs=False))
    model = RegisteredModel.objects.get(slug=slug)
    return checked(model)


def walk(client, people, model: RegisteredModel, path: Path) -> None:
    """Take a suite through the site. Page and command line must agree, and the export must equal the file."""
    run = through_the_page(client, people, model, path)
    assert client.get(run.get_absolute_url()).status_code == 200
    item = run.revision.item_numbers[0]
    assert client.get(reverse("run-item", args=[run.key, item])).status_code == 200
    page = json.loads(client.get(reverse("run-download", args=[run.key, "json"])).content)

    anew = from_the_command_line(path, model, "--no-cache")
    same = from_the_command_line(path, model)
    for part in ("predictions", "items", "policy"):
        assert same[part] == page[part]
    assert_equal_up_to_noise(anew, page)

    suite = run.revision.suite
    exported = client.get(reverse("suite-download", args=[suite.slug, 1, "json"])).content
    assert json.loads(exported) == json.loads(path.read_bytes())


def through_the_page(client, people, model: RegisteredModel, path: Path) -> SuiteRun:
    client.force_login(people.alice)
    answer = client.post(
        reverse("suite-import"),
        {
            "file": SimpleUploadedFile(path.name, path.read_bytes()),
            "visibility": "private",
            "join_policy": "space",
            "again": "on",  # the demo may have it already
        },
    )
    assert answer.status_code == 302, answer.content.decode()
    suite = Suite.objects.get(owner=people.alice)
    client.post(reverse("suite-freeze", args=[suite.slug]), {"note": "as published"})
    revision = suite.latest_frozen
    assert revision is not None
    client.post(
        reverse("run-start", args=[revision.suite.slug, revision.number]),
        {
            "models": [model.slug],
            "bos": "auto",
            "join": "space",
            "metric": "sum",
        },
    )
    [job] = [job for job in run_pending() if job.kind == "suite_run"]
    assert (job.state, job.error) == ("done", "")
    return SuiteRun.objects.get(revision=revision)


def from_the_command_line(path: Path, model: RegisteredModel, *options: str) -> dict:
    out = io.StringIO()
    call_command("evaluate", str(path), "--model", model.slug, "--format", "json", *options, stdout=out)
    return json.loads(out.getvalue())


def assert_equal_up_to_noise(one: dict, other: dict) -> None:
    for here, there in zip(one["items"], other["items"], strict=True):
        for left, right in zip(here["conditions"], there["conditions"], strict=True):
            assert left["text"] == right["text"]
            for a, b in zip(left["regions"], right["regions"], strict=True):
                tokens = sum(token["region_number"] == a["region_number"] for token in left["tokens"])
                assert a["surprisal"] == pytest.approx(b["surprisal"], abs=NOISE_BITS * max(tokens, 1))
    for left, right in zip(one["predictions"], other["predictions"], strict=True):
        assert left["outcomes"] == right["outcomes"]
