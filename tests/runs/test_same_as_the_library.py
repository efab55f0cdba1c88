"""`lmgym.evaluate` gives the numbers of the site's runs, bit for bit, under the same names."""

from __future__ import annotations

import math

import pandas as pd
import pytest

import lmgym
from gym.jobs.testing import run_pending
from gym.runs.tables.registry import CONTEXT, FRAMES, rows_of
from gym.runs.work import services
from lmgym.models.engine import ScoringPolicy
from suites.selectors import document_of
from tests.factories import checked, make_model, make_revision
from tests.lmgym.models import tiny
from tests.lmgym.models.conftest import tiny_models  # noqa: F401  a fixture
from tests.lmgym.suites.documents import AGREEMENT

TABLES = {"predictions": "rates", "outcomes": "outcomes", "regions": "regions", "tokens": "tokens"}


@pytest.fixture(autouse=True)
def _stock_kernels(monkeypatch):
    """Use fixed kernels: they are otherwise chosen by timing at every load, which affects the last digits."""
    monkeypatch.setattr("lmgym.models.engine.packing.available", lambda: False)


def plain(value):
    return None if pd.isna(value) else value


@pytest.mark.parametrize(
    ("kind", "policy"),
    [
        ("causal", ScoringPolicy()),
        ("causal", ScoringPolicy(whitespace="trailing")),
        ("causal", ScoringPolicy(bos="never", eos=True, join="natural", metric="mean")),
        ("masked", ScoringPolicy(tokens="needed")),
    ],
    ids=["causal", "whitespace", "all", "masked-needed"],
)
def test_every_table_of_a_run(people, settings, tiny_models, tmp_path, kind, policy):  # noqa: F811
    folder = tiny_models / "byte-bpe"
    if kind == "masked":
        tokenizer = tiny.framed(tiny.train("wordpiece"))
        folder = tiny.save(tmp_path / "gaps", tiny.gap_filler("bert", len(tokenizer)), tokenizer)
    settings.GYM_MODEL_DIR = folder.parent
    config = {"source": "directory", "path": folder.name, "device": "cpu"}
    model = checked(make_model(people.alice, slug=folder.name, backend=kind, config=config))
    formulas = (AGREEMENT, "(*;%match%) < (*;%mismatch%)")
    revision = make_revision(people.alice, items=5, formulas=formulas)
    run = services.queue_run(revision, model, policy, actor=people.alice)
    run_pending()
    run.refresh_from_db()
    result = lmgym.evaluate(document_of(revision), folder, policy=policy, device="cpu")
    for table, method in TABLES.items():
        frame = getattr(result, method)()
        names = [name for name, _ in FRAMES[table].columns]
        there = [row[len(CONTEXT) :] for row in rows_of(FRAMES[table], [run])]
        here = [tuple(map(plain, row)) for row in frame[names].itertuples(index=False)]
        assert here == there, table
    ours, theirs = result.runs[0].provenance, run.provenance
    assert {key for key in theirs if ours.get(key) != theirs[key]} <= {"seconds"}
    assert not math.isnan(result.rates()["rate"].iloc[0])
