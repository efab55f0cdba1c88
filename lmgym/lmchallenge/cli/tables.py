"""Format results of `stats` and `compare` as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from lmgym.lmchallenge.logs.compare import GameComparison
from lmgym.lmchallenge.logs.version5.stats import columns, flat
from lmgym.text.columns import table
from lmgym.text.number_format import format_interval

GAP = "  "


def statistics(
    results: Sequence[tuple[str, Any]], labels: Sequence[Sequence[str]], partition: str, *, is_of_5: bool
) -> str:
    """Format statistics: a row per metric and a column per log. A log split into parts gets a row per part.

    `labels`: names of the parts of each log; empty if the log is not split.
    """
    whole: list[tuple[str, dict[str, Any]]] = []
    tables = []
    for at, (name, result) in enumerate(results):
        more = result.get("more", {}) if "parts" in result else {}
        parts = result["parts"] if "parts" in result else result if isinstance(result, list) else [result]
        named = labels[at] if labels else []
        if not named:
            extra = {key: value for key, value in flat(more).items() if not isinstance(value, list | tuple)}
            whole.append((name, {**flat(parts[0]), **extra}))
        else:
            names = _in_order(parts)
            rows = [
                [label, *(part.get(key) for key in names)] for label, part in zip(named, parts, strict=True)
            ]
            tables.append(f"{name}\n{aligned([[partition, *names], *rows])}")
    if whole:
        figures = [row for _, row in whole]
        names = columns(figures) if is_of_5 else _in_order(figures)
        rows = [[key, *(row.get(key) for row in figures)] for key in names]
        tables.insert(0, aligned([["", *_short([name for name, _ in whole])], *rows]))
    return "\n\n".join(tables)


def _in_order(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def _short(names: Sequence[str]) -> list[str]:
    """Shorten paths to file names if these are distinct."""
    file_names = [PurePath(name).name or name for name in names]
    return file_names if len(set(file_names)) == len(file_names) else list(names)


def comparison_csv(rows: Sequence[GameComparison]) -> str:
    """Format comparisons as CSV (RFC 4180) without the final newline. Columns are the fields of GameComparison."""
    header, cells = table([GameComparison], [(row,) for row in rows])
    return "\r\n".join(",".join(map(csv_cell, line)) for line in [header, *cells]) + "\r"


def csv_cell(value: Any) -> str:
    """Quote a cell if necessary."""
    text = "" if value is None else str(value)
    return '"{}"'.format(text.replace('"', '""')) if set(text) & set(',"\r\n') else text


def comparison(rows: Sequence[GameComparison], keep: str) -> str:
    """Format a row for the baseline and one per log compared with it. `keep`: the token filter."""
    metric, several = rows[0].measure, len(rows) > 1
    has_mcnemar = any(row.p_mcnemar is not None for row in rows)
    baseline, *names = _short([rows[0].first, *(row.second for row in rows)])
    header = [
        "log",
        metric,
        f"− {baseline}",
        "95% interval",
        "p",
        "p (Holm)",
        "verdict",
        "n",
        "resampled",
        "McNemar p",
    ]
    cells: list[list[Any]] = [
        [baseline, rows[0].first_value, None, None, None, None, "baseline", None, None, None]
    ]
    for name, row in zip(names, rows, strict=True):
        cells.append(
            [
                name,
                row.second_value,
                None if row.difference is None else f"{row.difference:+.4f}",
                None if row.low is None else format_interval(row.low, row.high, "{:+.4f}".format),
                _p(row.p),
                _p(row.p_corrected),
                row.verdict,
                row.n,
                f"{row.clusters:,} {row.cluster}{'s' * (row.clusters != 1)}",
                _p(row.p_mcnemar),
            ]
        )
    left_out = {None if several else "p (Holm)", None if has_mcnemar else "McNemar p"}
    shown = [at for at, name in enumerate(header) if name not in left_out]
    lines = aligned([[row[at] for at in shown] for row in [header, *cells]])
    note = f"Difference: log − {baseline}. Token filter: {keep}. The interval is from resampling."
    if several:
        note += f" p (Holm): corrected for the {len(rows)} comparisons."
    if rows[0].lower_is_better:
        note += f" Lower {metric} is better."
    return f"{lines}\n\n{note}"


def _p(p: float | None) -> str | None:
    return None if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def aligned(rows: Sequence[Sequence[Any]]) -> str:
    """Align columns. The first row is the header; numbers are right-aligned."""
    texts = [[_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = []
    for row in texts:
        cells = [
            cell.ljust(width) if at == 0 or not _is_number_column(texts, at) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(GAP.join(cells).rstrip())
    lines.insert(1, "─" * (sum(widths) + len(GAP) * (len(widths) - 1)))
    return "\n".join(lines)


def _is_number_column(texts: Sequence[Sequence[str]], at: int) -> bool:
    return all(row[at][:1] in "–+-<0123456789" for row in texts[1:])


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
