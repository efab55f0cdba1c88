"""Zip of a collection: suites, results, leaderboards, and a manifest with the hash of every other file."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

from gym.runs.models import SuiteRun
from gym.runs.tables.registry import FRAMES, Budget, closed_on_error, frame_for, rows_of
from lmgym import __version__
from lmgym.files.zip_writer import add_to_zip
from lmgym.runs.leaderboard.board import Board
from lmgym.runs.leaderboard.export import LONG_HEADER, long_rows, note
from lmgym.suites.formats import write_json
from lmgym.text.csv_writer import csv_pieces, csv_text
from suites.models import SuiteRevision
from suites.selectors import export_document


def bundle(
    facts: dict[str, Any],
    revisions: Sequence[SuiteRevision],
    runs: Iterable[SuiteRun],
    boards: Sequence[Board],
    budget: Budget,
    on_progress: Callable[[int], None],
) -> IO[bytes]:
    """Write a temporary zip file.

    Args:
        facts: first entries of the manifest.
        runs: finished runs. The tables of each run are streamed into separate files.
        boards: one leaderboard per scoring rule.
        on_progress: called before each table with the number of runs written.

    Raises:
        TooMuch: `budget` is spent.
    """
    file = tempfile.TemporaryFile()  # noqa: SIM115  the response closes it
    entries: list[dict[str, Any]] = []
    with closed_on_error(file), zipfile.ZipFile(file, "w") as archive:
        for revision in revisions:
            path = f"suites/{revision.suite.slug}-r{revision.number}.json"
            entries.append(add_to_zip(archive, path, [write_json(export_document(revision))]))
        for board in boards:
            path = f"leaderboard-{board.options.rule.key}.csv"
            entries.append(add_to_zip(archive, path, [csv_text(LONG_HEADER, long_rows(board))]))
        for done, run in enumerate(runs):
            stem = f"runs/{run.revision.suite.slug}-r{run.revision.number}-{run.model.slug}"
            for name in FRAMES:
                on_progress(done)
                frame = frame_for(name, [run.revision])
                rows = budget.through(rows_of(frame, [run]))
                entries.append(add_to_zip(archive, f"{stem}-{name}.csv", csv_pieces(frame.header, rows)))
        manifest = {
            **facts,
            "made_by": f"LM Gym {__version__}",
            "notes": [note(board) for board in boards],
            "revisions": [
                {"suite": row.suite.slug, "revision": row.number, "sha256": row.sha256} for row in revisions
            ],
            "files": entries,
        }
        entries.append(add_to_zip(archive, "README.txt", [_readme(facts, revisions, boards)]))
        manifest["files"] = entries
        add_to_zip(archive, "manifest.json", [json.dumps(manifest, ensure_ascii=False, indent=1)])
    return file


_TABLES = {
    "scores": "pass rates",
    "predictions": "pass rates by prediction",
    "outcomes": "outcome and margin (bits) of every item",
    "regions": "surprisal of every region, bits",
    "tokens": "surprisal of every token, bits",
}


def _readme(facts: dict[str, Any], revisions: Sequence[SuiteRevision], boards: Sequence[Board]) -> str:
    """Return the text of the README, which lists the files and suites in the zip."""
    tables = [f"  runs/*-{name}.csv  {_TABLES[name]}" for name in FRAMES]
    suites = [f"  {row.suite.slug} r{row.number}  {row.suite.title}" for row in revisions]
    lines = [
        str(facts["title"]),
        str(facts["address"]),
        f"Published {facts['published']}" if facts["published"] else "Not published: it may still change.",
        "",
        "Files:",
        "  suites/*.json  the suites, in the format of SyntaxGym",
        *(f"  leaderboard-{board.options.rule.key}.csv  {board.options.rule.label}" for board in boards),
        *tables,
        "  manifest.json  bytes and sha256 of every file",
        "",
        f"Suites ({len(revisions)}):",
        *suites,
        "",
        *(note(board) for board in boards),
        "",
    ]
    return "\n".join(lines)
