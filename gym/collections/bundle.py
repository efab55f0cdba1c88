"""One zip of a whole collection: suites, results, leaderboard, and a manifest with the hash of every file."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import IO, Any

from gym import __version__
from gym.downloads import csv_pieces, csv_text
from gym.runs.models import SuiteRun
from gym.runs.read.leaderboard.build import Board
from gym.runs.read.leaderboard.export import LONG_HEADER, long_rows, note
from gym.runs.tables.registry import FRAMES, Budget, closed_on_error, rows_of
from suites.formats import write_json
from suites.models import SuiteRevision
from suites.selectors import export_document

EPOCH = (1980, 1, 1, 0, 0, 0)


def bundle(
    facts: dict[str, Any],
    revisions: Sequence[SuiteRevision],
    runs: Iterable[SuiteRun],
    boards: Sequence[Board],
    budget: Budget,
) -> IO[bytes]:
    """A temporary zip file. `runs` are in it run by run, `boards` once per scoring rule; `facts` open the manifest.
    Tables are written piece by piece; raises TooMuch when `budget` is spent."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  the response closes it
    entries: list[dict[str, Any]] = []
    with closed_on_error(file), zipfile.ZipFile(file, "w") as archive:
        for revision in revisions:
            path = f"suites/{revision.suite.slug}-r{revision.number}.json"
            entries.append(_add(archive, path, [write_json(export_document(revision))]))
        for board in boards:
            path = f"leaderboard-{board.options.rule.key}.csv"
            entries.append(_add(archive, path, [csv_text(LONG_HEADER, long_rows(board))]))
        for run in runs:
            stem = f"runs/{run.revision.suite.slug}-r{run.revision.number}-{run.model.slug}"
            for name, frame in FRAMES.items():
                rows = budget.through(rows_of(frame, [run]))
                entries.append(_add(archive, f"{stem}-{name}.csv", csv_pieces(frame.header, rows)))
        manifest = {
            **facts,
            "made_by": f"LM Gym {__version__}",
            "notes": [note(board) for board in boards],
            "revisions": [
                {"suite": row.suite.slug, "revision": row.number, "sha256": row.sha256} for row in revisions
            ],
            "files": entries,
        }
        _add(archive, "manifest.json", [json.dumps(manifest, ensure_ascii=False, indent=1)])
    return file


def _add(archive: zipfile.ZipFile, path: str, pieces: Iterable[str]) -> dict[str, Any]:
    """A compressed file without a clock, so that the same results give the same bytes. Returns its manifest entry."""
    info = zipfile.ZipInfo(path, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    digest, size = sha256(), 0
    with archive.open(info, "w", force_zip64=True) as target:
        for piece in pieces:
            data = piece.encode("utf-8", "surrogatepass")
            target.write(data)
            digest.update(data)
            size += len(data)
    return {"path": path, "bytes": size, "sha256": digest.hexdigest()}
