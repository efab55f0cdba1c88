"""Factor columns in exported tables."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import statsmodels.formula.api as smf
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.work import services
from lmgym.suites.blueprints import AGREEMENT as CROSSED
from suites.drafts import apply_edits
from suites.options import SuiteOptions
from suites.services import freeze, import_suite
from tests.factories import make_model, make_revision
from tests.once import once_a_module


def done(revision, model):
    run = services.queue_run(revision, model, actor=revision.suite.owner)
    run_pending()
    run.refresh_from_db()
    return run


def crossed(people, *ops):
    suite = import_suite(CROSSED.document("crossed"), SuiteOptions(visibility="public"), actor=people.alice)
    if ops:
        assert not apply_edits(suite, 0, [{"id": "e", "ops": list(ops)}], actor=people.alice).conflicts
    return freeze(suite, actor=people.alice)


def make_run(people):
    return done(crossed(people), make_model(people.alice))


built, people, run = once_a_module(make_run)


@pytest.fixture
def model(run):
    return run.model


def content_of(response) -> bytes:
    assert response.status_code == 200
    return b"".join(response.streaming_content) if response.streaming else response.content


def exported(client, what, query, form="csv"):
    data = io.BytesIO(content_of(client.get(f"{reverse('export-table', args=[what, form])}?{query}")))
    return pd.read_csv(data) if form == "csv" else pq.read_table(data).to_pandas()


@pytest.mark.parametrize("what", ["regions", "tokens"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_with_a_condition_say_its_levels(client, run, what, form):
    rows = exported(client, what, f"run={run.key}", form)
    assert list(rows.columns)[-2:] == ["factor_agreement", "factor_number"]
    assert (rows["factor_agreement"] + "_" + rows["factor_number"] == rows["condition"]).all()
    assert rows["condition"].nunique() == 4


@pytest.mark.parametrize("what", ["outcomes", "predictions", "scores"])
def test_rows_without_a_condition_have_no_factors(client, run, what):
    assert not [
        name for name in exported(client, what, f"run={run.key}").columns if name.startswith("factor_")
    ]


def test_a_condition_outside_and_a_suite_without_factors_leave_them_empty(client, people, model):
    SuiteRun.objects.all().delete()
    filler = {"op": "insert_condition", "at": 4, "name": "filler", "rows": {"1": ["A", "b", "c", "d"]}}
    done(crossed(people, filler), model)
    done(make_revision(people.alice, name="plain"), model)
    rows = exported(client, "regions", "model=" + model.slug)
    empty = rows[rows["factor_agreement"].isna()]
    assert set(empty["condition"]) == {"filler", "match", "mismatch"}
    assert len(rows) > len(empty)
    plain = exported(client, "regions", "suite=plain")
    assert "factor_agreement" not in plain.columns


def test_api_page_and_collection_give_the_same_columns(client, run):
    page = content_of(client.get(reverse("run-download", args=[run.key, "regions.csv"])))
    api = content_of(client.get(reverse("api-run-regions", args=[run.key]), {"format": "ndjson"}))
    header = next(csv.reader(io.StringIO(page.decode("utf-8-sig"))))
    assert header[-2:] == ["factor_agreement", "factor_number"]
    first = json.loads(api.splitlines()[0])
    assert (first["factor_agreement"], first["factor_number"]) == ("match", "sing")


def test_the_mixed_model_of_the_guide_finds_the_difference_of_differences(client, run):
    regions = exported(client, "regions", f"run={run.key}")
    verb = regions[(regions["region_number"] == 3) & (regions["model"] == run.model.slug)].copy()
    verb["surprisal"] += np.random.default_rng(1).normal(size=len(verb))  # the model of tests gives ties
    formula = "surprisal ~ C(factor_agreement, Treatment('match')) * C(factor_number, Treatment('sing'))"
    fitted = smf.mixedlm(formula, verb, groups="item").fit()
    [interaction] = [value for name, value in fitted.params.items() if ":" in name]
    means = verb.groupby("condition")["surprisal"].mean()
    expected = means["mismatch_plural"] - means["match_plural"] - means["mismatch_sing"] + means["match_sing"]
    assert interaction == pytest.approx(expected, abs=1e-4)
