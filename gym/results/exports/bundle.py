"""One zip of a whole collection: suites, results, leaderboard, and a manifest with the hash of every file."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from typing import IO, Any

from gym import __version__
from gym.evaluations.models import SuiteRun
from gym.exports import csv_text
from gym.results.board_tables import LONG_HEADER, long_rows, note
from gym.results.exports.frames import FRAMES, rows_of
from gym.results.leaderboard import Board
from suites.formats import write_json
from suites.models import SuiteRevision
from suites.selectors import export_document

EPOCH = (1980, 1, 1, 0, 0, 0)


def bundle(
    facts: dict[str, Any],
    revisions: Sequence[SuiteRevision],
    runs: Sequence[SuiteRun],
    boards: Sequence[Board],
) -> IO[bytes]:
    """A temporary zip file. `runs` are in it run by run, `boards` once per scoring rule; `facts` open the manifest."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  the response closes it
    entries: list[dict[str, Any]] = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(path: str, text: str) -> None:
            data = text.encode("utf-8", "surrogatepass")
            archive.writestr(zipfile.ZipInfo(path, EPOCH), data)
            entries.append({"path": path, "bytes": len(data), "sha256": sha256(data).hexdigest()})

        for revision in revisions:
            add(
                f"suites/{revision.suite.slug}-r{revision.number}.json", write_json(export_document(revision))
            )
        for board in boards:
            add(f"leaderboard-{board.options.rule.key}.csv", csv_text(LONG_HEADER, long_rows(board)))
        for run in runs:
            stem = f"runs/{run.revision.suite.slug}-r{run.revision.number}-{run.model.slug}"
            for name, frame in FRAMES.items():
                add(f"{stem}-{name}.csv", csv_text(frame.header, rows_of(frame, [run])))
        manifest = {
            **facts,
            "made_by": f"LM Gym {__version__}",
            "notes": [note(board) for board in boards],
            "revisions": [
                {"suite": row.suite.slug, "revision": row.number, "sha256": row.sha256} for row in revisions
            ],
            "files": entries,
        }
        archive.writestr(
            zipfile.ZipInfo("manifest.json", EPOCH), json.dumps(manifest, ensure_ascii=False, indent=1)
        )
    return file
