"""Storage in use: rows, and bytes of tables and folders. Cached for KEPT_SECONDS."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.models import Model

from gym.collections.models import CollectionZip, ZipPiece
from gym.jobs.models import Job
from gym.lmchallenge.models import Corpus, Game, LogChunk
from gym.pages.models import AccountExport, ExportPiece
from gym.people.models import ColumnPiece, FilePiece, HumanData, PeopleComparison
from gym.runs.models import PredictionResult, RunChunk, RunScore, ScoreCache, SentenceScore, SuiteRun
from gym.runs.work.cache import spent_chunks
from lmgym.models.backends import hub_cache

KEPT_SECONDS = 300
KEY = "staff-storage"
MOST_FILES = 20_000
MANY = 100_000
"""Estimated row count from which PostgreSQL's estimate is used instead of counting."""
PARTS: dict[str, tuple[type[Model], ...]] = {
    "Scored sentences": (ScoreCache,),
    "Runs": (SuiteRun, SentenceScore, PredictionResult, RunScore),
    "Plans of runs": (RunChunk,),
    "Jobs": (Job,),
    "Zips of collections": (CollectionZip, ZipPiece),
    "Downloads of accounts’ data": (AccountExport, ExportPiece),
    "Human data": (HumanData, ColumnPiece, FilePiece, PeopleComparison),
    "Corpora and logs of games": (Corpus, Game, LogChunk),
}


@dataclass(frozen=True)
class Storage:
    cached: int  # scored sentences
    budget: int  # 0 = no limit
    runs: int
    run_sentences: int
    spent_chunks: int
    folders: list[tuple[str, int]]  # name, bytes
    cut: set[str] = field(default_factory=set)  # folders with more files than are counted
    estimated: bool = False  # row counts of large tables are estimates
    tables: list[tuple[str, int]] = field(default_factory=list)  # name, bytes with indexes
    database: int = 0  # bytes

    @property
    def percent(self) -> int | None:
        return min(100, self.cached * 100 // self.budget) if self.budget else None

    @property
    def over(self) -> int:
        return max(0, self.cached - self.budget) if self.budget else 0


def storage() -> Storage:
    """Return the storage in use, at most KEPT_SECONDS old."""
    measured: Storage = cache.get_or_set(KEY, measure, KEPT_SECONDS)  # type: ignore[assignment]
    return measured


def measure() -> Storage:
    folders = [(name, *size_of(path, skip)) for name, path, skip in _folders() if path.is_dir()]
    if downloaded := hub_cache.used_bytes():
        folders.append(("Models downloaded from the Hub", downloaded, False))
    tables, rows = _tables()
    parts = [
        (name, sum(tables.get(model._meta.db_table, 0) for model in models)) for name, models in PARTS.items()
    ]
    database = _database_bytes()
    known = sum(size for _, size in parts)
    cached, estimate = _count(ScoreCache, rows)
    sentences, other_estimate = _count(SentenceScore, rows)
    return Storage(
        cached=cached,
        budget=settings.GYM_SCORE_CACHE_SENTENCES,
        runs=SuiteRun.objects.count(),
        run_sentences=sentences,
        spent_chunks=spent_chunks().count(),
        folders=[(name, size) for name, size, _ in folders],
        cut={name for name, _, cut in folders if cut},
        estimated=estimate or other_estimate,
        tables=[*parts, ("Everything else", database - known)] if tables else [],
        database=database,
    )


def _folders() -> Iterator[tuple[str, Path, Path | None]]:
    """Yield (name, folder, subfolder that is counted separately or None)."""
    models, data = settings.GYM_MODEL_DIR.resolve(), settings.VAR_DIR.resolve()
    inside = models.is_relative_to(data)
    yield "Model directory", models, None
    yield "Data directory" + (", without models" if inside else ""), data, models if inside else None


def size_of(folder: Path, skip: Path | None = None, most: int = MOST_FILES) -> tuple[int, bool]:
    """Return the bytes of the files below a folder, and True if it has more than `most` files, so some are not
    counted."""
    total = 0
    files = _files(folder, skip)
    for path in islice(files, most):
        try:
            total += path.lstat().st_size
        except FileNotFoundError:  # deleted in the meantime
            continue
    return total, next(files, None) is not None


def _files(folder: Path, skip: Path | None) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if skip is None or Path(place, name) != skip]
        for name in names:
            path = Path(place, name)
            if not path.is_symlink():
                yield path


def _tables() -> tuple[dict[str, int], dict[str, int]]:
    """Return the bytes of tables with their indexes, and estimated row counts; empty if the database does not report
    them."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT relname, pg_total_relation_size(oid), reltuples::bigint FROM pg_class "
                "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
            )
            tables = cursor.fetchall()
            return {name: size for name, size, _ in tables}, {name: rows for name, _, rows in tables}
        cursor.execute("SELECT 1 FROM pragma_module_list WHERE name = 'dbstat'")
        if cursor.fetchone() is None:
            return {}, {}
        cursor.execute(
            "SELECT coalesce(m.tbl_name, s.name), sum(s.pgsize) FROM dbstat s "
            "LEFT JOIN sqlite_master m ON m.name = s.name WHERE s.aggregate = 1 GROUP BY 1"
        )
        return dict(cursor.fetchall()), {}


def _database_bytes() -> int:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
        else:
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return int(cursor.fetchone()[0])


def _count(model: type[Model], rows: dict[str, int]) -> tuple[int, bool]:
    """Return the number of rows, and True if it is the database's estimate."""
    estimate = rows.get(model._meta.db_table, 0)
    return (estimate, True) if estimate >= MANY else (model._default_manager.count(), False)
