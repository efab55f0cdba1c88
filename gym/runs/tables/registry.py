"""Tables over many runs: CSV row by row, Parquet in row groups.

A Parquet file and a collection's zip are complete before their first byte is sent, so their rows are limited. CSV is
streamed without limit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from functools import partial
from itertools import islice
from typing import IO, Any

from django.conf import settings
from django.db.models import Q, QuerySet, Sum, prefetch_related_objects

from gym.runs.models import PredictionResult, RunScore, SuiteRun
from gym.runs.read.selectors import rates_alone
from lmgym.runs import tables
from lmgym.runs.against_chance import ALONE
from lmgym.runs.compute import region_bits, token_bits
from lmgym.runs.coverage import COVERAGE
from lmgym.runs.rules import RULE_COUNTS
from lmgym.runs.statistics import STATISTICS
from lmgym.runs.tables import values
from lmgym.suites.formats.designs import KEY, column_of
from lmgym.suites.formats.item_data import ItemData
from lmgym.suites.formats.item_data import column_of as data_column_of
from lmgym.text.columns import REAL, TEXT, WHOLE, YES_NO, Column, Row, columns
from suites.models import SuiteRevision
from suites.selectors import design_of, item_data_of, sentence_data

CONTEXT = columns(tables.StoredRunFacts)
NO_DATA = ItemData({}, {})


@dataclass(frozen=True)
class Frame:
    """Definition of a table over runs. `columns`: the columns after CONTEXT; `rows(run)` yields their values.
    Margins are in bits."""

    columns: tuple[Column, ...]
    rows: Callable[[SuiteRun], Iterable[Row]]

    @property
    def header(self) -> tuple[str, ...]:
        return tuple(name for name, _ in (*CONTEXT, *self.columns))


def _context(run: SuiteRun) -> Row:
    revision = run.revision
    kind = run.score_kind if run.has_surprisals else None
    return (
        run.key, revision.suite.slug, revision.number, revision.sha256, run.model.slug, run.source, kind,
        run.whitespace or None,
    )  # fmt: skip


def _sentences(run: SuiteRun, *fields: str) -> Iterator[Any]:
    """Stream item, condition, tokens and `fields` of every sentence, in the suite's order."""
    rows = run.sentence_scores.order_by("sentence__position")
    names = ("sentence__item", "sentence__condition", "tokens", "not_computed", *fields)
    return rows.values_list(*names, named=True).iterator(chunk_size=200)


def _regions(run: SuiteRun) -> Iterator[Row]:
    names = run.revision.region_names
    for row in _sentences(run, "regions", "sentence__contents"):
        for region in region_bits(names, row.sentence__contents, row):
            yield tables.region_row(row.sentence__item, row.sentence__condition, region)


def _tokens(run: SuiteRun) -> Iterator[Row]:
    for row in _sentences(run):
        for number, token in enumerate(token_bits(row), start=1):
            yield tables.token_row(row.sentence__item, row.sentence__condition, number, token)


def _outcomes(run: SuiteRun) -> Iterator[Row]:
    for result in run.prediction_results.select_related("prediction"):
        prediction = result.prediction
        yield from tables.outcome_rows(
            prediction.position, prediction.label, prediction.formula, result.items, result
        )


def _predictions(run: SuiteRun) -> Iterator[Row]:
    prefetch_related_objects([run], rates_alone())
    for rate in run.rates():
        yield *astuple(rate), *tables.policy_values(run.policy)


def _scores(run: SuiteRun) -> Iterator[Row]:
    for row in run.scores.all():
        yield (
            row.rule, *values(row, RULE_COUNTS), *values(row.verdict, ALONE), *values(row, STATISTICS),
            *values(run, COVERAGE), *tables.policy_values(run.policy),
        )  # fmt: skip


FRAMES: dict[str, Frame] = {
    "regions": Frame(columns(tables.Region), _regions),
    "tokens": Frame(columns(tables.Token), _tokens),
    "outcomes": Frame(columns(tables.Outcome), _outcomes),
    "predictions": Frame(columns(*tables.RATES), _predictions),
    "scores": Frame(columns(*tables.SCORES), _scores),
}


def frame_for(what: str, revisions: Iterable[SuiteRevision]) -> Frame:
    """Return the table for runs of these revisions. A table with a condition column also gets one column per
    factor of the revisions' designs, and a table with an item column one per kind of item data, at the end."""
    frame = FRAMES[what]
    names = [name for name, _ in frame.columns]
    if "item" not in names:
        return frame
    of_sentences = "condition" in names
    factors: dict[str, None] = {}
    data: dict[str, None] = {}
    for revision in revisions:
        if of_sentences:
            factors |= dict.fromkeys(column_of(factor.name) for factor in design_of(revision))
        kept = item_data_of(revision)
        data |= dict.fromkeys(
            data_column_of(name) for name in (kept.values if of_sentences else kept.by_item)
        )
    if not factors and not data:
        return frame
    more = (*frame.columns, *((name, TEXT) for name in (*factors, *data)))
    return Frame(more, partial(_with_more, frame, tuple(factors), tuple(data)))


def _with_more(frame: Frame, factors: tuple[str, ...], data: tuple[str, ...], run: SuiteRun) -> Iterator[Row]:
    """Append factor levels and item data; None for those of other suites, for conditions outside the design, and for
    data that a table of items cannot show because an item's conditions differ."""
    names = [name for name, _ in frame.columns]
    item = names.index("item")
    condition = names.index("condition") if "condition" in names else None
    levels = {column_of(factor.name): factor.conditions for factor in design_of(run.revision)}
    kept = item_data_of(run.revision) if data else NO_DATA
    by_item: dict[str, Mapping[Any, str]] = {
        data_column_of(name): kept.by_item[name] for name in kept.by_item
    }
    by_sentence: dict[str, Mapping[Any, str]] = {
        data_column_of(name): kept.values[name] for name in kept.values
    }
    for row in frame.rows(run):
        if condition is None:
            yield (*row, *(by_item.get(name, {}).get(row[item]) for name in data))
        else:
            sentence = (row[item], row[condition])
            yield (
                *row,
                *(levels.get(name, {}).get(row[condition]) for name in factors),
                *(by_sentence.get(name, {}).get(sentence) for name in data),
            )


def with_more_columns(runs: QuerySet[SuiteRun]) -> Iterator[SuiteRevision]:
    """Yield the revisions of these runs that have a factorial design or item data."""
    rows = SuiteRevision.objects.filter(
        Q(meta__has_key=KEY) | Q(extra__has_key="items") | sentence_data("pk"),
        pk__in=runs.order_by().values("revision"),
    )
    return rows.order_by("pk").only("meta", "condition_names", "extra").iterator(chunk_size=100)


def rows_of(frame: Frame, runs: Iterable[SuiteRun]) -> Generator[Row, None, None]:
    """Yield rows run by run, with one run in memory."""
    for run in runs:
        context = _context(run)
        for row in frame.rows(run):
            yield (*context, *row)


ROWS_AT_ONCE = 20_000
"""Number of rows per Parquet row group; one group is in memory at a time."""


def parquet_file(frame: Frame, rows: Iterable[Row]) -> IO[bytes]:
    """Write a table over runs to a temporary Parquet file."""
    return parquet_of((*CONTEXT, *frame.columns), rows)


def parquet_of(header: Iterable[Column], rows: Iterable[Row]) -> IO[bytes]:
    """Write rows to a temporary Parquet file. Types are declared, so that empty columns have one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {TEXT: pa.string(), WHOLE: pa.int64(), REAL: pa.float64(), YES_NO: pa.bool_()}
    schema = pa.schema([(name, types[kind]) for name, kind in header])
    remaining = iter(rows)
    file = tempfile.TemporaryFile()  # noqa: SIM115  the response closes it
    with closed_on_error(file), pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while chunk := list(islice(remaining, ROWS_AT_ONCE)):
            arrays = [
                pa.array(list(column), field.type)
                for column, field in zip(zip(*chunk, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return file


@contextmanager
def closed_on_error(file: IO[bytes]) -> Iterator[None]:
    """Close a temporary file if an error occurs."""
    try:
        yield
    except BaseException:
        file.close()
        raise


class TooMuch(ValueError):
    """Too many rows for one file. `hint`: an alternative."""

    def __init__(self, rows: int, hint: str) -> None:
        most = settings.GYM_EXPORT_MAX_ROWS
        super().__init__(f"This file would have {rows:,} rows or more; at most {most:,} fit into one file.")
        self.hint = hint


def rows_at_least(what: str, runs: QuerySet[SuiteRun]) -> int:
    """Return a lower bound on the rows of a table over these runs, from stored aggregates. For tokens it is the number
    of regions, because tokens per region are not stored."""
    keys = runs.order_by().values("pk")
    if what == "scores":
        return RunScore.objects.filter(run__in=keys).count()
    results = PredictionResult.objects.filter(run__in=keys)
    if what == "predictions":
        return results.count()
    if what == "outcomes":
        return int(results.aggregate(n=Sum("n"))["n"] or 0)
    with_bits = SuiteRun.objects.filter(pk__in=keys).exclude(policy={})
    sentences = dict(with_bits.order_by().values_list("revision_id").annotate(n=Sum("n_sentences")))
    revisions = SuiteRevision.objects.filter(pk__in=list(sentences)).values_list("pk", "region_names")
    return sum(sentences[pk] * len(names) for pk, names in revisions)


def require_row_limit(rows: int, hint: str) -> None:
    """Raise TooMuch if `rows` exceeds GYM_EXPORT_MAX_ROWS (0 = no limit)."""
    if settings.GYM_EXPORT_MAX_ROWS and rows > settings.GYM_EXPORT_MAX_ROWS:
        raise TooMuch(rows, hint)


class Budget:
    """Row counter over all tables of a file while they are written. Raises TooMuch beyond the limit."""

    def __init__(self, hint: str) -> None:
        self.hint = hint
        self.taken = 0

    def through(self, rows: Generator[Row, None, None]) -> Iterator[Row]:
        """Yield the rows and count them. Always closes their generator, and with it its database cursor."""
        with closing(rows):
            for row in rows:
                self.taken += 1
                require_row_limit(self.taken, self.hint)
                yield row
