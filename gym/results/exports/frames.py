"""Long tables of many runs: CSV row by row, Parquet run by run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from gym.evaluations import report
from gym.evaluations.models import SuiteRun
from suites.selectors import document_of

TEXT, WHOLE, REAL, YES_NO = "string", "int64", "float64", "bool"
CONTEXT = (
    ("run", TEXT), ("suite", TEXT), ("revision", WHOLE), ("suite_sha256", TEXT), ("model", TEXT), ("source", TEXT),
)  # fmt: skip
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
    return run.key, revision.suite.slug, revision.number, revision.sha256, run.model.slug, run.source


def _regions(run: SuiteRun) -> Iterator[Row]:
    document, result = document_of(run.revision), report.result_of(run)
    return (row[2:] for row in report.region_rows(document, result, "", ""))


def _tokens(run: SuiteRun) -> Iterator[Row]:
    for row in report.token_rows(report.result_of(run), "", ""):
        *values, region, straddles, bits = row[2:]
        yield (*values, region, bool(straddles), region is None, bits)


def _outcomes(run: SuiteRun) -> Iterator[Row]:
    for result in run.prediction_results.select_related("prediction"):
        prediction = result.prediction
        for item, code, margin in zip(result.items, result.outcomes, result.margins, strict=True):
            name = report.OUTCOME_NAMES[code] if code < len(report.OUTCOME_NAMES) else "not held"
            yield prediction.position + 1, prediction.label, prediction.formula, item, name, code == 1, margin


def _scores(run: SuiteRun) -> Iterator[Row]:
    policy = run.policy
    said = tuple(str(policy[key]) if key in policy else None for key in ("bos", "eos", "join", "metric"))
    for row in run.scores.all():
        yield (
            row.rule, row.n, row.passed, row.judged, row.rate, row.low, row.high, row.chance, row.chance_p, row.ties,
            row.too_close, row.not_evaluable, row.margin, row.margin_low, row.margin_high, row.effect, *said,
        )  # fmt: skip


FRAMES: dict[str, Frame] = {
    "regions": Frame(
        (
            ("item_number", WHOLE), ("condition_name", TEXT), ("region_number", WHOLE), ("region_name", TEXT),
            ("content", TEXT), ("surprisal_bits", REAL),
        ),
        _regions,
    ),
    "tokens": Frame(
        (
            ("item_number", WHOLE), ("condition_name", TEXT), ("token_number", WHOLE), ("token", TEXT),
            ("token_id", WHOLE), ("start_character", WHOLE), ("end_character", WHOLE), ("region_number", WHOLE),
            ("straddles_regions", YES_NO), ("special", YES_NO), ("surprisal_bits", REAL),
        ),
        _tokens,
    ),
    "outcomes": Frame(
        (
            ("prediction_number", WHOLE), ("prediction", TEXT), ("formula", TEXT), ("item_number", WHOLE),
            ("outcome", TEXT), ("held", YES_NO), ("margin_bits", REAL),
        ),
        _outcomes,
    ),
    "scores": Frame(
        (
            ("rule", TEXT), ("n_items", WHOLE), ("passed", WHOLE), ("judged", WHOLE), ("rate", REAL),
            ("ci_low_95", REAL), ("ci_high_95", REAL), ("chance", REAL), ("p_above_chance_one_sided", REAL),
            ("ties", WHOLE), ("too_close", WHOLE), ("not_evaluable", WHOLE), ("mean_margin_bits", REAL),
            ("margin_ci_low_95_bits", REAL), ("margin_ci_high_95_bits", REAL), ("effect_size_g", REAL),
            ("bos", TEXT), ("eos", TEXT), ("join", TEXT), ("metric", TEXT),
        ),
        _scores,
    ),
}  # fmt: skip


def rows_of(frame: Frame, runs: Iterable[SuiteRun]) -> Iterator[Row]:
    """One run after the other; nothing else is kept in memory."""
    for run in runs:
        context = _context(run)
        for row in frame.rows(run):
            yield (*context, *row)


def parquet_file(frame: Frame, runs: Iterable[SuiteRun]) -> IO[bytes]:
    """A temporary Parquet file with a row group per run. Types are stated, so that empty columns have one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {TEXT: pa.string(), WHOLE: pa.int64(), REAL: pa.float64(), YES_NO: pa.bool_()}
    schema = pa.schema([(name, types[kind]) for name, kind in (*CONTEXT, *frame.columns)])
    file = tempfile.TemporaryFile()  # noqa: SIM115  the response closes it
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for run in runs:
            rows = list(rows_of(frame, [run]))
            columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
            arrays = [
                pa.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return file
