"""What `stats` and `compare` found as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from lmgym.lmchallenge.logs.measures import LOWER_IS_BETTER
from lmgym.lmchallenge.logs.version5.stats import columns, flat

GAP = "  "


def statistics(
    results: Sequence[tuple[str, Any]], labels: Sequence[Sequence[str]], partition: str, *, is_of_5: bool
) -> str:
    """A row for each figure and a column for each log; of a log in several parts, a row for each part. `labels`: of
    each log what its parts are called, none where it is whole."""
    whole: list[tuple[str, dict[str, Any]]] = []
    tables = []
    for at, (name, found) in enumerate(results):
        more = found.get("more", {}) if "parts" in found else {}
        parts = found["parts"] if "parts" in found else found if isinstance(found, list) else [found]
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
    """Names of files without their folders, where that tells them apart."""
    found = [PurePath(name).name or name for name in names]
    return found if len(set(found)) == len(found) else list(names)


COLUMNS = (
    "metric", "first", "second", "difference", "interval_low", "interval_high", "p", "p_holm", "verdict", "n",
    "cluster", "clusters", "only_first", "only_second", "mcnemar_p", "notes",
)  # fmt: skip


def comparison_rows(first: str, rows: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """A table of comparisons with a header: `rows` have `log` and what `Comparison.as_dict` says; lossless."""
    table: list[list[Any]] = [["baseline", "log", *COLUMNS]]
    for row in rows:
        low, high = row["interval"] or (None, None)
        cells = {**row, "interval_low": low, "interval_high": high, "notes": " ".join(row["notes"])}
        table.append([first, row["log"], *(cells[name] for name in COLUMNS)])
    return table


def comparison_csv(first: str, rows: Sequence[dict[str, Any]], keep: str) -> str:
    """RFC 4180, without the last end of line."""
    return "\r\n".join(",".join(map(csv_cell, row)) for row in comparison_rows(first, rows)) + "\r"


def csv_cell(value: Any) -> str:
    """Quoted where it has to be."""
    text = "" if value is None else str(value)
    return '"{}"'.format(text.replace('"', '""')) if set(text) & set(',"\r\n') else text


def comparison(first: str, rows: Sequence[dict[str, Any]], keep: str) -> str:
    """The baseline, and each log against it. `rows` have `log` and what `Comparison.as_dict` says."""
    metric, several = rows[0]["metric"], len(rows) > 1
    has_tests = any(row["mcnemar_p"] is not None for row in rows)
    first, *names = _short([first, *(row["log"] for row in rows)])
    header = [
        "log",
        metric,
        f"− {first}",
        "95% interval",
        "p",
        "p (Holm)",
        "verdict",
        "n",
        "resampled",
        "McNemar p",
    ]
    cells: list[list[Any]] = [[first, rows[0]["first"], None, None, None, None, "baseline", None, None, None]]
    for name, row in zip(names, rows, strict=True):
        interval = row["interval"]
        cells.append(
            [
                name,
                row["second"],
                None if row["difference"] is None else f"{row['difference']:+.4f}",
                None if interval is None else f"{interval[0]:+.4f} to {interval[1]:+.4f}",
                _chance(row["p"]),
                _chance(row["p_holm"]),
                row["verdict"],
                row["n"],
                f"{row['clusters']:,} {row['cluster']}{'s' * (row['clusters'] != 1)}",
                _chance(row["mcnemar_p"]),
            ]
        )
    left_out = {None if several else "p (Holm)", None if has_tests else "McNemar p"}
    shown = [at for at, name in enumerate(header) if name not in left_out]
    table = aligned([[row[at] for at in shown] for row in [header, *cells]])
    note = f"Difference: log − {first}. Tokens of the filter {keep}. The interval is from resampling."
    if several:
        note += f" p (Holm): corrected for the {len(rows)} comparisons."
    if metric in LOWER_IS_BETTER:
        note += f" Less {metric} is better."
    return f"{table}\n\n{note}"


def _chance(p: float | None) -> str | None:
    return None if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def aligned(rows: Sequence[Sequence[Any]]) -> str:
    """Columns of equal width, the first row being their names; numbers stand at the right."""
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
