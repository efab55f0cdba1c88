"""Tables for papers: LaTeX with booktabs, and Markdown. See lmgym.text.csv_writer for CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# "[" and "*" at the beginning of a row would be read as arguments of the \\ before it.
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "±": r"$\pm$", "–": "--", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "*": "{*}",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table of results for a paper.

    Attributes:
        rows: text and numbers; None is an empty cell.
        numeric: True for right-aligned columns.
        note: scoring rule, interval and date, printed with the table.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    numeric: tuple[bool, ...]
    note: str = ""


WIDE = 8
"""Tables with more columns are scaled to the text width, with rotated headings."""
LONG = 45
"""Tables with more rows break across pages (longtable, with the header on each page)."""


def latex(table: Table, *, label: str) -> str:
    """Format a table for booktabs that fits a page; see WIDE and LONG. `label` is a plain word."""
    is_long, is_wide = len(table.rows) > LONG, len(table.header) > WIDE
    columns = "".join("r" if number else "l" for number in table.numeric)
    packages = ["booktabs", *(["longtable"] if is_long else []), *(["adjustbox"] if is_wide else [])]
    needs = ", ".join(rf"\usepackage{{{name}}}" for name in packages)
    caption = [
        rf"  \caption{{{_tex(table.title)}. {_tex(table.note)}}}",
        rf"  \label{{tab:{label}}}",
    ]
    head = [r"    \toprule", _tex_head(table, upright=is_wide), r"    \midrule"]
    body = [_tex_row(row) for row in table.rows]
    if is_long:
        size = [r"\scriptsize\setlength{\tabcolsep}{2pt}"] if is_wide else []
        lines = [
            r"\begingroup", *size, rf"\begin{{longtable}}{{{columns}}}", *caption[:1], caption[1] + r" \\",
            *head, r"    \endfirsthead", *head, r"    \endhead", *body, r"    \bottomrule",
            r"\end{longtable}", r"\endgroup",
        ]  # fmt: skip
    else:
        opens, closes = r"  \begin{adjustbox}{max width=\textwidth}", r"  \end{adjustbox}"
        scaled = ([opens], [closes]) if is_wide else ([], [])
        lines = [
            r"\begin{table}", r"  \centering", *caption, *scaled[0], rf"  \begin{{tabular}}{{{columns}}}", *head, *body,
            r"    \bottomrule", r"  \end{tabular}", *scaled[1], r"\end{table}",
        ]  # fmt: skip
    return "\n".join([f"% needs {needs}", *lines]) + "\n"


def _tex_head(table: Table, *, upright: bool) -> str:
    if not upright:
        return _tex_row(table.header)
    first, *others = (_tex(_plain(name)) for name in table.header)
    turned = (rf"\rotatebox{{90}}{{{name}}}" for name in others)
    return "    " + " & ".join([first, *turned]) + r" \\"


def markdown(table: Table) -> str:
    """Format a pipe table with its title above and its note below."""
    widths = [
        max([3, len(_plain(head)), *(len(_md(row[k])) for row in table.rows)])
        for k, head in enumerate(table.header)
    ]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(cells, widths, table.numeric, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = [
        "-" * (width - 1) + ":" if number else "-" * width
        for width, number in zip(widths, table.numeric, strict=True)
    ]
    body = [line([_md(cell) for cell in row]) for row in table.rows]
    head = line([_md(cell) for cell in table.header])
    return "\n".join([f"**{_md(table.title)}**", "", head, line(rule), *body, "", _md(table.note)]) + "\n"


def _tex_row(cells: Sequence[Any]) -> str:
    return "    " + " & ".join(_tex(_plain(cell)) for cell in cells) + r" \\"


def _tex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _md(value: Any) -> str:
    text = _plain(value)
    for character in "\\|*_`[]<>":
        text = text.replace(character, f"\\{character}")
    return text


def _plain(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    return " ".join(str(value).split())
