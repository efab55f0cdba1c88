"""Long tables of many runs: CSV row by row, Parquet some rows at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

from gym.runs.models import SuiteRun
from gym.runs.read import report
from gym.runs.read.scores import chance_p, margin_of

TEXT, WHOLE, REAL, YES_NO = "string", "int64", "float64", "bool"
CONTEXT = (
    ("run", TEXT), ("suite", TEXT), ("revision", WHOLE), ("suite_sha256", TEXT), ("model", TEXT), ("source", TEXT),
    ("score_kind", TEXT), ("whitespace", TEXT),
)  # fmt: skip
POLICY = (("bos", TEXT), ("eos", TEXT), ("join", TEXT), ("metric", TEXT))
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Frame:
    """`columns` after the context's; `rows(run)` yields values for them. Units are in the names."""

    columns: tuple[tuple[str, str], ...]
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


def _policy(run: SuiteRun) -> Row:
    return tuple(str(run.policy[name]) if name in run.policy else None for name, _ in POLICY)


def _sentences(run: SuiteRun, *fields: str) -> Iterator[tuple[Any, ...]]:
    """Item, condition and these fields of every sentence, in the suite's order, some at a time."""
    rows = run.sentence_scores.order_by("sentence__position")
    return rows.values_list("sentence__item", "sentence__condition", *fields).iterator(chunk_size=200)


def _regions(run: SuiteRun) -> Iterator[Row]:
    names = run.revision.region_names
    fields = ("sentence__contents", "regions", "not_computed", "tokens")
    for item, condition, contents, regions, not_computed, tokens in _sentences(run, *fields):
        skipped = report.skipped_regions(tokens, not_computed)
        cells = zip(names, contents, regions, strict=True)
        for number, (name, content, bits) in enumerate(cells):
            yield item, condition, number + 1, name, content, bits, number in skipped


def _tokens(run: SuiteRun) -> Iterator[Row]:
    for item, condition, tokens, not_computed in _sentences(run, "tokens", "not_computed"):
        for number, (token, token_id, start, end, bits, region, straddles) in enumerate(tokens):
            place = region + 1 if isinstance(region, int) and region >= 0 else None
            yield (
                item, condition, number + 1, token, token_id, start, end, place, bool(straddles), place is None, bits,
                number in not_computed,
            )  # fmt: skip


def _outcomes(run: SuiteRun) -> Iterator[Row]:
    for result in run.prediction_results.select_related("prediction"):
        prediction = result.prediction
        said = prediction.position + 1, prediction.label, prediction.formula
        near = result.close or [None] * len(result.items)  # older results and uploaded outcomes do not say
        cells = zip(result.items, result.outcomes, result.margins, near, strict=True)
        for item, code, margin, close in cells:
            name = report.OUTCOME_NAMES[code] if code < len(report.OUTCOME_NAMES) else "not held"
            yield *said, item, name, code == 1, margin, close


def _predictions(run: SuiteRun) -> Iterator[Row]:
    stored = list(run.scores.all())
    for row in run.prediction_results.select_related("prediction"):
        prediction = row.prediction
        yield (
            prediction.position + 1, prediction.label, prediction.formula, row.total, row.passed, row.rate, row.ci_low,
            row.ci_high, row.chance, row.chance_error, chance_p(row), row.ties, row.too_close, row.not_evaluable,
            *margin_of(row, stored), *_policy(run),
        )  # fmt: skip


def _scores(run: SuiteRun) -> Iterator[Row]:
    for row in run.scores.all():
        yield (
            row.rule, row.n, row.passed, row.judged, row.rate, row.low, row.high, row.chance, row.chance_p, row.ties,
            row.too_close, row.not_evaluable, row.margin, row.margin_low, row.margin_high, row.effect,
            *_policy(run),
        )  # fmt: skip


FRAMES: dict[str, Frame] = {
    "regions": Frame(
        (
            ("item_number", WHOLE), ("condition_name", TEXT), ("region_number", WHOLE), ("region_name", TEXT),
            ("content", TEXT), ("surprisal_bits", REAL), ("not_computed", YES_NO),
        ),
        _regions,
    ),
    "tokens": Frame(
        (
            ("item_number", WHOLE), ("condition_name", TEXT), ("token_number", WHOLE), ("token", TEXT),
            ("token_id", WHOLE), ("start_character", WHOLE), ("end_character", WHOLE), ("region_number", WHOLE),
            ("straddles_regions", YES_NO), ("special", YES_NO), ("surprisal_bits", REAL), ("not_computed", YES_NO),
        ),
        _tokens,
    ),
    "outcomes": Frame(
        (
            ("prediction_number", WHOLE), ("prediction", TEXT), ("formula", TEXT), ("item_number", WHOLE),
            ("outcome", TEXT), ("held", YES_NO), ("margin_bits", REAL), ("too_close", YES_NO),
        ),
        _outcomes,
    ),
    "predictions": Frame(
        (
            ("prediction_number", WHOLE), ("prediction", TEXT), ("formula", TEXT), ("n_items", WHOLE),
            ("passed", WHOLE), ("rate", REAL), ("ci_low_95", REAL), ("ci_high_95", REAL), ("chance", REAL),
            ("chance_standard_error", REAL), ("p_above_chance_uncorrected", REAL), ("ties", WHOLE),
            ("too_close", WHOLE), ("not_evaluable", WHOLE), ("mean_margin_bits", REAL),
            ("margin_ci_low_95_bits", REAL), ("margin_ci_high_95_bits", REAL), ("effect_size_g", REAL), *POLICY,
        ),
        _predictions,
    ),
    "scores": Frame(
        (
            ("rule", TEXT), ("n_items", WHOLE), ("passed", WHOLE), ("judged", WHOLE), ("rate", REAL),
            ("ci_low_95", REAL), ("ci_high_95", REAL), ("chance", REAL), ("p_above_chance_uncorrected", REAL),
            ("ties", WHOLE), ("too_close", WHOLE), ("not_evaluable", WHOLE), ("mean_margin_bits", REAL),
            ("margin_ci_low_95_bits", REAL), ("margin_ci_high_95_bits", REAL), ("effect_size_g", REAL), *POLICY,
        ),
        _scores,
    ),
}  # fmt: skip


def rows_of(frame: Frame, runs: Iterable[SuiteRun]) -> Generator[Row, None, None]:
    """One run after the other; nothing else is kept in memory."""
    for run in runs:
        context = _context(run)
        for row in frame.rows(run):
            yield (*context, *row)


ROWS_AT_ONCE = 20_000
"""Rows of a Parquet file in memory, and of its row groups."""


def parquet_file(frame: Frame, rows: Iterable[Row]) -> IO[bytes]:
    """A temporary Parquet file of these rows. Types are stated, so that empty columns have one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {TEXT: pa.string(), WHOLE: pa.int64(), REAL: pa.float64(), YES_NO: pa.bool_()}
    schema = pa.schema([(name, types[kind]) for name, kind in (*CONTEXT, *frame.columns)])
    left = iter(rows)
    file = tempfile.TemporaryFile()  # noqa: SIM115  the response closes it
    with closed_on_error(file), pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while some := list(islice(left, ROWS_AT_ONCE)):
            columns = zip(*some, strict=True)
            arrays = [
                pa.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return file


@contextmanager
def closed_on_error(file: IO[bytes]) -> Iterator[None]:
    """A temporary file that nobody will read is given back at once."""
    try:
        yield
    except BaseException:
        file.close()
        raise
