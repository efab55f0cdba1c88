"""A trained model on the site: registered by staff, checked and run, with the library's numbers."""

from __future__ import annotations

import pytest

import lmgym
from gym.demo.catalogue import DATA_DIR
from gym.jobs.testing import run_pending
from gym.runs.tables.registry import CONTEXT, FRAMES, rows_of
from gym.runs.work.services import queue_run
from lmgym.suites.formats import read_suite
from models_registry.services import register_model
from suites.services import freeze, import_suite
from tests.runs.test_same_as_the_library import TABLES, plain

pytestmark = [pytest.mark.real_model, pytest.mark.django_db]


def test_a_registered_and_checked_file_gives_the_numbers_of_the_library(
    people, settings, monkeypatch, real_model
):
    # Kernels are chosen by timing at every load, which affects the last digits.
    monkeypatch.setattr("lmgym.models.engine.packing.available", lambda: False)
    settings.GYM_MODEL_DIR = real_model.parent
    config = {"source": "directory", "path": real_model.name, "device": "cpu"}
    model = register_model(
        actor=people.staff,
        slug="smollm2",
        name="SmolLM2",
        backend="causal",
        config=config,
        visibility="public",
    )
    run_pending()
    model.refresh_from_db()
    assert model.is_ready, model.status_reason
    assert model.facts["bos"] == "<|endoftext|>"

    path = DATA_DIR / "suites" / "agreement_simple.json"
    document = read_suite(path.read_bytes(), path.name)
    suite = import_suite(document, actor=people.alice)
    freeze(suite, actor=people.alice)
    run = queue_run(suite.latest_frozen, model, actor=people.alice)
    run_pending()
    run.refresh_from_db()
    result = lmgym.evaluate(document, real_model, device="cpu")
    for table, method in TABLES.items():
        frame = getattr(result, method)()
        names = [name for name, _ in FRAMES[table].columns]
        there = [row[len(CONTEXT) :] for row in rows_of(FRAMES[table], [run])]
        assert [tuple(map(plain, row)) for row in frame[names].itertuples(index=False)] == there, table
    assert result.rates()["passed"].tolist() == [19, 20]  # of 24, as docs/demo.md prints
