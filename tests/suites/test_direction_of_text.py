"""Texts have the direction of their script; tables of a right-to-left language begin at the right."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.work import services as runs
from lmgym.suites.formats import read_suite
from suites import services
from suites.options import SuiteOptions
from tests.factories import make_model
from tests.lmgym.suites.formats.samples import condition, suite

ROWS = {"match": ("الولد", "يكتب", "رسالة طويلة."), "mismatch": ("الولد", "تكتب", "رسالة طويلة.")}


@pytest.fixture
def arabic(people):
    def make(language: str = "ar"):
        document = suite(
            meta={"name": "arabic", "metric": "sum", "language": language},
            region_meta={"1": "الفاعل", "2": "الفعل", "3": "الباقي"},
            items=[
                {"item_number": n, "conditions": [condition(name, *texts) for name, texts in ROWS.items()]}
                for n in (1, 2)
            ],
        )
        imported = services.import_suite(
            read_suite(json.dumps(document).encode()), SuiteOptions(visibility="public"), actor=people.alice
        )
        return services.freeze(imported, actor=people.alice)

    return make


def pages(revision, run):
    return [
        revision.get_absolute_url(),
        reverse("suite-items", args=[revision.suite.slug, revision.number]),
        reverse("run-item", args=[run.key, 1]),
        run.get_absolute_url(),
    ]


@pytest.fixture
def run_on(people):
    def run(revision):
        queued = runs.queue_run(revision, make_model(people.alice), actor=people.alice)
        run_pending()
        queued.refresh_from_db()
        return queued

    return run


def test_tables_of_regions_begin_at_the_right_where_the_language_does(client, arabic, run_on):
    revision = arabic()
    for address in pages(revision, run_on(revision)):
        page = client.get(address).content.decode()
        assert re.search(
            r'<div class="table-box[^"]*" dir="rtl">\s*<table class="[^"]*(regions|means)', page
        ), address


def test_without_a_language_texts_have_their_own_direction_and_tables_begin_at_the_left(
    client, arabic, run_on
):
    revision = arabic("")
    run = run_on(revision)
    for address in pages(revision, run):
        page = client.get(address).content.decode()
        assert 'dir="rtl"' not in page
        assert re.search(r'dir="auto"[^>]*>[^<]*رسالة طويلة\.<', page), address
    item = client.get(reverse("run-item", args=[run.key, 1])).content.decode()
    assert "<bdi>الفعل</bdi>" in item
    assert '<div class="tokens" dir="auto">' in item


def test_what_is_typed_has_its_own_direction(client, people):
    client.force_login(people.alice)
    page = client.get(reverse("suite-new")).content.decode()
    for name in ("conditions", "regions", "first"):
        assert re.search(rf'<textarea name="{name}"[^>]* dir="auto"', page), name
