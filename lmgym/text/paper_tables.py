"""Tables for papers, as LaTeX (booktabs, siunitx), Markdown and CSV.

Cells are texts and numbers that are already rounded, so that a table prints what a page shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

from lmgym.text.csv_writer import csv_text, safe_cell
from lmgym.text.number_format import MISSING
from lmgym.text.tex import escape, with_option

FORMS: Mapping[str, str] = {"tex": "application/x-tex", "md": "text/markdown", "csv": "text/csv"}
"""Content types by file extension."""
WIDE = 8
"""Tables with more columns have rotated headings, and are scaled down to the text width (long ones: in small type)."""
LONG = 45
"""Tables with more lines below the header break across pages (longtable, with the header on each page)."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Estimate:
    """A number with the limits of its 95% interval; empty limits: no interval."""

    value: str
    low: str = ""
    high: str = ""

    @property
    def interval(self) -> str:
        return f"[{self.low}, {self.high}]" if self.low else ""


Cell: TypeAlias = str | Estimate | None


@dataclass(frozen=True)
class PaperTable:
    """A table of results for a paper. `save(path)` writes it as .tex, .md or .csv.

    Attributes:
        caption: what the numbers are; the first sentence of the printed caption.
        columns: headings, as shown on pages.
        rows: None is an empty cell.
        notes: rule, intervals, suite, models and date: the rest of the printed caption.
        label: a plain word; LaTeX refers to the table as `tab:LABEL`.
        n_labels: number of text columns at the left; all others have numbers.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: str = ""
    label: str = "results"
    n_labels: int = 1

    def latex(self) -> str:
        return latex(self)

    def markdown(self) -> str:
        return markdown(self)

    def csv(self) -> str:
        return csv(self)

    def _repr_markdown_(self) -> str:
        """Return what notebooks display."""
        return markdown(self)

    def save(self, path: str | Path) -> Path:
        """Write the table in the format of the path's extension. Raises ValueError for an extension not in FORMS."""
        target = Path(path).expanduser()
        form = target.suffix.removeprefix(".").lower()
        if form not in FORMS:
            raise ValueError(f"{target} must end in one of .{', .'.join(FORMS)}.")
        target.write_text(written(self, form), encoding="utf-8")
        return target


def written(table: PaperTable, form: str) -> str:
    """Return the table in one of FORMS."""
    writers: dict[str, Callable[[PaperTable], str]] = {"tex": latex, "md": markdown, "csv": csv}
    return writers[form](table)


def transposed(table: PaperTable, corner: str) -> PaperTable:
    """Exchange rows and columns of a table with one column of labels; `corner`: heading of the new labels."""
    labels = tuple(_text(row[0]) for row in table.rows)
    body = zip(*(row[1:] for row in table.rows), strict=True) if table.rows else ()
    rows = zip_longest(table.columns[1:], body, fillvalue=())
    turned = tuple((heading, *cells) for heading, cells in rows)
    return replace(table, columns=(corner, *labels), rows=turned)


def latex(table: PaperTable) -> str:
    """Format a table for booktabs and siunitx, with each interval below its number, that fits a page; see WIDE and
    LONG."""
    body = _body(table)
    is_long, is_wide = len(body) > LONG, len(table.columns) > WIDE
    packages = [
        "booktabs", "siunitx", *(["longtable"] if is_long else []), *(["graphicx"] if is_wide else []),
    ]  # fmt: skip
    needs = ", ".join(rf"\usepackage{{{name}}}" for name in packages)
    title = f"{escape(table.caption)}."
    text = f"{title} {escape(table.notes)}".rstrip()
    caption = rf"  \caption{with_option(title)}{{{text}}}"
    label = rf"  \label{{tab:{table.label}}}"
    columns = "l" * table.n_labels + "".join(
        f"S[table-format={_digits(row[k] for row in table.rows)}]"
        for k in range(table.n_labels, len(table.columns))
    )
    head = [r"    \toprule", _head(table, upright=is_wide), r"    \midrule"]
    if is_long:
        size = [r"\scriptsize\setlength{\tabcolsep}{2pt}"] if is_wide else []
        lines = [
            r"\begingroup", *size, rf"\begin{{longtable}}{{{columns}}}", caption, label + r" \\",
            *head, r"    \endfirsthead", *head, r"    \endhead", *body, r"    \bottomrule",
            r"\end{longtable}", r"\endgroup",
        ]  # fmt: skip
    else:
        opens, closes = r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%", "  }"
        scaled = ([opens], [closes]) if is_wide else ([], [])
        lines = [
            r"\begin{table}", r"  \centering", caption, label, *scaled[0], rf"  \begin{{tabular}}{{{columns}}}", *head,
            *body, r"    \bottomrule", r"  \end{tabular}", *scaled[1], r"\end{table}",
        ]  # fmt: skip
    return "\n".join([f"% needs {needs}", *lines]) + "\n"


def _head(table: PaperTable, *, upright: bool) -> str:
    names = [escape(name) for name in table.columns]
    turned = [rf"\rotatebox{{90}}{{{name}}}" if upright else name for name in names[table.n_labels :]]
    return _line([*names[: table.n_labels], *(f"{{{name}}}" for name in turned)])


def _body(table: PaperTable) -> list[str]:
    """Return the lines of the rows: numbers, then a line of their intervals, if any."""
    lines = []
    for row in table.rows:
        labels, numbers = row[: table.n_labels], row[table.n_labels :]
        lines.append(_line([*(escape(_text(cell)) for cell in labels), *map(_number, numbers)]))
        intervals = [cell.interval if isinstance(cell, Estimate) else "" for cell in numbers]
        if any(intervals):
            small = [rf"{{\scriptsize {text.replace('−', '$-$')}}}" if text else "" for text in intervals]
            lines.append(_line([*[""] * table.n_labels, *small]))
    return lines


def _line(cells: Sequence[str]) -> str:
    return "    " + " & ".join(cells) + r" \\"


def _number(cell: Cell) -> str:
    """Return a number for an S column; anything else in braces, which siunitx prints as it is."""
    text = _minus(_text(cell))
    return text if _NUMBER.fullmatch(text) else f"{{{escape(text)}}}"


def _digits(cells: Iterable[Cell]) -> str:
    """Return the table-format of an S column: "-2.1" for numbers with up to two digits, one decimal and a sign."""
    numbers = [text for cell in cells if _NUMBER.fullmatch(text := _minus(_text(cell)))]
    before = max((len(text.lstrip("-").partition(".")[0]) for text in numbers), default=1)
    after = max((len(text.partition(".")[2]) for text in numbers), default=0)
    sign = "-" if any(text.startswith("-") for text in numbers) else ""
    return f"{sign}{before}.{after}"


def _minus(text: str) -> str:
    return text.replace("−", "-").removeprefix("+")


def markdown(table: PaperTable) -> str:
    """Format a pipe table with its caption above and its notes below."""
    head = [_md(name) for name in table.columns]
    rows = [[_md_cell(cell) for cell in row] for row in table.rows]
    widths = [max([3, len(name), *(len(row[k]) for row in rows)]) for k, name in enumerate(head)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if k < table.n_labels else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = ["-" * width if k < table.n_labels else "-" * (width - 1) + ":" for k, width in enumerate(widths)]
    lines = [f"**{_md(table.caption)}.**", "", line(head), line(rule), *map(line, rows), "", _md(table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _md_cell(cell: Cell) -> str:
    if isinstance(cell, Estimate):
        return f"{cell.value} {cell.interval}".rstrip()
    return _md(_text(cell))


def _md(text: str) -> str:
    return escape_markdown(_text(text))


def escape_markdown(text: str) -> str:
    """Return text that Markdown prints as it is, also in the cells of a table."""
    for character in "\\|*_`[]<>$":
        text = text.replace(character, f"\\{character}")
    return text


def csv(table: PaperTable) -> str:
    """Format the table as CSV. A column with intervals becomes three; caption and notes are the last row."""
    has_interval = [
        any(isinstance(row[k], Estimate) and row[k].interval for row in table.rows)  # type: ignore[union-attr]
        for k in range(len(table.columns))
    ]
    header = [
        part
        for name, wide in zip(table.columns, has_interval, strict=True)
        for part in ((name, f"{name}, 95% low", f"{name}, 95% high") if wide else (name,))
    ]
    rows: list[list[object]] = [
        [
            *map(_text, row[: table.n_labels]),
            *(
                part
                for cell, wide in zip(row[table.n_labels :], has_interval[table.n_labels :], strict=True)
                for part in _csv_cells(cell, wide=wide)
            ),
        ]
        for row in table.rows
    ]
    note = [f"{table.caption}. {table.notes}".rstrip(), *[None] * (len(header) - 1)]
    return csv_text([safe_cell(name) for name in header], [*rows, note])


def _csv_cells(cell: Cell, *, wide: bool) -> list[object]:
    parts = [cell.value, cell.low, cell.high] if isinstance(cell, Estimate) else [cell or "", "", ""]
    return [_csv_value(part) for part in (parts if wide else parts[:1])]


def _csv_value(text: str) -> object:
    """Convert numbers to Decimal: they keep their digits, and need no guard against formulas in spreadsheets."""
    number = _minus(text)
    return Decimal(number) if _NUMBER.fullmatch(number) else text or None


def _text(cell: Cell) -> str:
    if cell is None:
        return MISSING
    return " ".join((cell.value if isinstance(cell, Estimate) else cell).split())
