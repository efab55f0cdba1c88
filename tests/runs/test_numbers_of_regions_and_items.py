"""Intervals of region means on a run's page and in its chart; both sides of a comparison on the item page."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.work import services
from lmgym.stats.intervals import within_item_intervals
from tests.factories import make_model, make_revision
from tests.once import once_a_module


def make_run(people):
    """A run of the uniform model (10 bits per token) with noise in the rows, so that intervals exist."""
    revision = make_revision(people.alice, items=4, formulas=("(2;%mismatch%) > (2;%match%)",))
    queued = services.queue_run(revision, make_model(people.alice), actor=people.alice)
    run_pending()
    for row in queued.sentence_scores.select_related("sentence"):
        item, more = row.sentence.item, row.sentence.condition == "mismatch"
        row.regions = [1.0 * item**3, 2.004 * item + 1.0031 * more * item, 5.0]
        row.save()
    queued.refresh_from_db()
    return queued


built, people, run = once_a_module(make_run)


def chart(client, run, **query):
    answer = client.get(reverse("figure", args=["run-regions", "csv"]), {"run": run.key, **query})
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_within_item_intervals_are_offered_and_drawn(client, run):
    page = client.get(run.get_absolute_url()).content.decode()
    assert 'href="?interval=within#regions"' in page
    values = np.array([[2.004 * k, 3.0071 * k] for k in range(1, 5)])
    wanted = within_item_intervals(values)
    found = [row for row in chart(client, run, interval="within") if row["region_number"] == "2"]
    assert [row["condition"] for row in found] == ["match", "mismatch"]
    for row, mean in zip(found, wanted, strict=True):
        assert [float(row[name]) for name in ("mean_surprisal", "low", "high")] == pytest.approx(
            [mean.mean, mean.low, mean.high]
        )
    page = " ".join(client.get(run.get_absolute_url(), {"interval": "within"}).content.decode().split())
    assert "within items, Cousineau–Morey" in page
    assert f"{wanted[0].low:.2f} to {wanted[0].high:.2f}" in page


@pytest.mark.parametrize(("query", "mean"), [({}, "30.0"), ({"interval": "within"}, "5.0")])
def test_items_that_are_alike_have_no_interval_anywhere(client, run, query, mean):
    """Region 3 has equal surprisals in every sentence: 30 bits in the stored summary, 5 in the sentences."""
    third = [row for row in chart(client, run, **query) if row["region_number"] == "3"]
    assert (third[0]["mean_surprisal"], third[0]["low"], third[0]["high"]) == (mean, "", "")
    page = " ".join(client.get(run.get_absolute_url(), query).content.decode().split())
    assert f"{mean} to {mean}" not in page


def test_the_item_page_has_both_sides_and_they_add_up(client, run):
    page = client.get(reverse("run-item", args=[run.key, 1])).content.decode()
    [line] = re.findall(r'<ul class="sides"[^>]*>\s*<li>(.*?)</li>', page, re.S)
    words = " ".join(re.sub(r"<[^>]+>", " ", line).split())
    assert words == "Verb in mismatch 3.007 &gt; Verb in match 2.004 left − right +1.003 bits"
