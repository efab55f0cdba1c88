"""Downloads of a game. Logs are streamed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from gym.downloads import csv_download, download, json_download, stream
from gym.lmchallenge import reading, storage
from gym.lmchallenge.counting import Compared, keep_of, statistics_of
from gym.lmchallenge.models import Game
from lmgym.lmchallenge.logs.compare import GameComparison
from lmgym.lmchallenge.logs.stats import HITS, LAST_INDEX
from lmgym.lmchallenge.logs.version5 import stats as version5
from lmgym.text.columns import table

DERIVED = ("text.html", "statistics.json", "statistics.csv", "users.csv")
"""Downloads that require the log's statistics."""
ONLY_OF_4 = ("targets", "lengths")
ONE_FORM = "A log of LM Challenge 5 is available in one format, with its words: “Log” (predictions.log)."


def response_of(
    game: Game, form: str, keep: str, query: reading.TextSearch | None = None
) -> HttpResponseBase | None:
    """Return the download, or None if it does not exist (yet). `query`: lines in text.html; default: all."""
    stem = f"{game.corpus.slug if game.corpus else 'log'}-{game.game}-{game.key}"
    if form.endswith((".log", ".log.gz")):
        return _log(game, form, stem)
    if form == "transcript.txt":
        return _transcript(game, stem)
    if not game.is_counted:
        return None
    keep = keep_of(keep, game)
    if form == "text.html":
        return stream(
            reading.html_of(game, query or reading.TextSearch(keep)), f"{stem}-text.html", "text/html"
        )
    if form == "statistics.json":
        return json_download(f"{stem}-statistics.json", record(game, keep))
    if form == "statistics.csv":
        return _table(f"{stem}-statistics.csv", statistics_of(game, keep)["all"])
    users = statistics_of(game, keep)["user"]
    if form == "users.csv" and not isinstance(users, str):
        return _table(f"{stem}-users.csv", users)
    return None


def _transcript(game: Game, stem: str) -> HttpResponse | None:
    transcript = game.report.get("transcript")
    return None if transcript is None else download(transcript, f"{stem}-transcript.txt", "text/plain")


def _log(game: Game, form: str, stem: str) -> HttpResponseBase | None:
    privacy = form.partition(".")[0]
    if not game.lines or not offered(game).get(privacy):
        return None
    packed = form.endswith(".gz")
    as_stored = privacy == stored_form(game)
    if packed:
        pieces = storage.packed_log(game) if as_stored else storage.gzipped(storage.log_in(game, privacy))
        response = stream(pieces, f"{stem}-{form}", "application/gzip")
        response["Content-Type"] = "application/gzip"
        return response
    lines = storage.log_lines(game) if as_stored else storage.log_in(game, privacy)
    return stream(lines, f"{stem}-{form}", "application/x-ndjson")


def stored_form(game: Game) -> str:
    """Return the privacy format of the stored log."""
    if game.has_predictions:
        return "predictions"
    return "targets" if game.has_targets else "lengths"


def offered(game: Game) -> dict[str, bool]:
    """Return which privacy formats can be downloaded. Version 5 has only one: the log as stored."""
    of_4 = game.version == 4
    return {"targets": game.has_targets and of_4, "lengths": of_4, "predictions": game.has_predictions}


def record(game: Game, keep: str) -> dict[str, Any]:
    """Return the statistics with their provenance."""
    return {
        "id": game.key,
        "title": game.title,
        "game": game.game,
        "version": game.version,
        "player": {"kind": game.kind, "name": game.player},
        "corpus": game.corpus.slug if game.corpus else None,
        "corpus_sha256": game.corpus.sha256 if game.corpus else None,
        "options": game.options,
        "lines": game.lines,
        "text_fingerprint": game.fingerprint,
        "problem": game.problem,
        "report": {
            name: value for name, value in game.report.items() if name not in ("stderr", "transcript")
        },
        "filter": keep,
        "statistics": statistics_of(game, keep),
    }


def comparison(rows: Sequence[Compared]) -> HttpResponse:
    """Return the comparisons as CSV, with the columns of `lmc compare -o csv`."""
    header, cells = table([GameComparison], [(row.comparison,) for row in rows])
    return csv_download("lm-challenge-comparison.csv", header, cells)


COLUMNS = (
    "user", "lines", "users", "training_chars", "words", "chars", "pcpc", "kpc", "skip", "miss", "hit", "mrr",
    *(f"hit{most}" for most in HITS), *(f"idx{index}_hit3" for index in range(LAST_INDEX + 1)),
    "accuracy", "corrected_errors", "miscorrected", "improvement",
)  # fmt: skip
"""Order of the columns, as in `stats`, because PostgreSQL does not preserve the order of JSON keys."""


def _table(filename: str, rows: list[dict[str, Any]]) -> HttpResponse:
    rows = [version5.flat(row) for row in rows]
    names_in_rows = dict.fromkeys(name for row in rows for name in row)
    names = [name for name in COLUMNS if name in names_in_rows]
    names = (
        names + sorted(names_in_rows.keys() - set(COLUMNS))
        if "lines" in names_in_rows
        else version5.columns(rows)
    )
    return csv_download(filename, names, [[_cell(row.get(name)) for name in names] for row in rows])


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value
