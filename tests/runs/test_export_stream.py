"""Long tables are streamed, and mark values that are not computed."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gym.jobs.testing import run_pending
from gym.runs.tables.registry import FRAMES, rows_of
from gym.runs.work import services
from lmgym.text import csv_writer
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.test_exports import table

TOKENS = "/exports/tokens.csv"


def make_runs(people):
    revision = make_revision(people.alice, items=4)
    found = [
        services.queue_run(revision, make_model(people.alice, slug=f"m{k}"), actor=people.alice)
        for k in range(3)
    ]
    run_pending()
    return found


built, people, runs = once_a_module(make_runs)


def test_a_download_begins_before_any_sentence_is_read(client, runs):
    response = client.get(TOKENS)
    pieces = iter(response.streaming_content)
    with CaptureQueriesContext(connection) as asked:
        assert next(pieces).decode().strip() == ",".join(FRAMES["tokens"].header)
    assert len(asked) == 0
    with CaptureQueriesContext(connection) as asked:
        rest = b"".join(pieces)
    read = [query["sql"] for query in asked if "runs_sentencescore" in query["sql"]]
    assert len(read) == len(runs)
    assert rest.count(b"\r\n") == sum(len(list(FRAMES["tokens"].rows(run))) for run in runs)


def test_pieces_are_small_and_together_they_are_the_table(client, runs, monkeypatch):
    monkeypatch.setattr(csv_writer, "PIECE_CHARACTERS", 500)
    pieces = [piece.decode() for piece in client.get(TOKENS).streaming_content]
    frame = FRAMES["tokens"]
    assert "".join(pieces) == csv_writer.csv_text(frame.header, rows_of(frame, runs))
    assert len(pieces) > 5
    assert max(map(len, pieces)) < 1_000


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_values_that_were_not_computed_are_said_to_be(client, runs, form):
    run = runs[0]
    row = run.sentence_scores.get(sentence__item=1, sentence__condition="match")
    row.tokens[0][4], row.not_computed, row.regions[row.tokens[0][5]] = None, [0], None
    row.save()
    for what in ("tokens", "regions"):
        rows = table(client, what, f"run={run.key}", form)
        skipped = rows[rows["not_computed"]]
        assert list(zip(skipped["item"], skipped["condition"], strict=True)) == [(1, "match")]
        assert np.isnan(skipped["surprisal"].iloc[0])
        assert rows["surprisal"].notna().sum() == len(rows) - 1
        if what == "tokens":
            assert set(rows["straddles"]) <= {True, False}
