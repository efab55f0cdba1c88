"""Charts with their data, as SVG, PNG, PDF, CSV or JSON."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from lmgym.charts.svg import Markup
from lmgym.text.csv_writer import csv_text

FORMS = {
    "svg": "image/svg+xml; charset=utf-8",
    "png": "image/png",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json; charset=utf-8",
}
"""Content types by file extension."""
DOTS_PER_INCH = 300
_CSS_PIXELS_PER_INCH = 96


@dataclass(frozen=True)
class Figure:
    """A chart with its data.

    Attributes:
        draw: `draw(standalone=False)` draws for a page, `draw(standalone=True)` for a paper, with colours on white.
        header, rows: the data; headings include units.
        query: parameters that identify the chart within its `kind`.
        rule: key and label of the scoring rule of pass rates; None for charts without pass rates.
        has_narrow: `draw(narrow=True)` fits a phone screen.
    """

    kind: str
    title: str
    draw: Callable[..., Markup]
    header: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    query: Mapping[str, str | list[str]]
    note: str = ""
    rule: Mapping[str, str] | None = None
    has_narrow: bool = False

    @property
    def svg(self) -> Markup:
        return self.draw(standalone=False)

    @property
    def narrow_svg(self) -> Markup | None:
        return self.draw(standalone=False, narrow=True) if self.has_narrow else None

    def __str__(self) -> str:
        return str(self.draw(standalone=True))

    def _repr_svg_(self) -> str:
        """Return the standalone SVG, which notebooks display."""
        return str(self)

    @property
    def stem(self) -> str:
        """File name without extension."""
        return _plain_word(f"{self.kind} {self.title}")[:80] or self.kind

    @property
    def caption(self) -> str:
        """Caption of the data table: the title, and the scoring rule if there is one."""
        return f"{self.title}. Scoring rule: {self.rule['label']}." if self.rule else self.title

    def columns(self) -> tuple[str, ...]:
        """Return the column headings of data files, including a column for the scoring rule, if any."""
        return (*self.header, "rule") if self._adds_rule else self.header

    def values(self) -> list[list[Any]]:
        more = [self.rule["key"]] if self.rule and self._adds_rule else []
        return [[*row, *more] for row in self.rows]

    @property
    def _adds_rule(self) -> bool:
        return self.rule is not None and "rule" not in self.header

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "title": self.title,
            "note": self.note,
            "rule": dict(self.rule) if self.rule else None,
            "query": dict(self.query),
            "columns": list(self.columns()),
            "rows": self.values(),
        }

    def file(self, form: str) -> bytes:
        """Return the chart or its data as a file in one of FORMS; text formats are UTF-8."""
        if form == "csv":
            return csv_text(self.columns(), self.values()).encode()
        if form == "json":
            return json.dumps(self.as_json(), ensure_ascii=False, indent=2, allow_nan=False).encode()
        drawn = str(self)
        if form == "svg":
            return drawn.encode()
        return as_png(drawn) if form == "png" else as_pdf(drawn)

    def save(self, path: str | Path) -> Path:
        """Write the chart or its data in the format of the path's extension.

        Raises:
            ValueError: the extension is not in FORMS.
            ModuleNotFoundError: PNG or PDF without lm-gym[charts].
        """
        target = Path(path).expanduser()
        form = target.suffix.removeprefix(".").lower()
        if form not in FORMS:
            raise ValueError(f"{target} must end in .{', .'.join(FORMS)}.")
        target.write_bytes(self.file(form))
        return target


def as_png(svg: str) -> bytes:
    """Convert an SVG to PNG at 300 dots per inch. Raises ModuleNotFoundError."""
    # The converter treats an SVG pixel as a point (1/72 inch), browsers as 1/96 inch.
    points = 72 / _CSS_PIXELS_PER_INCH
    return bytes(_converter().svg_to_png(svg, scale=points, ppi=DOTS_PER_INCH))


def as_pdf(svg: str) -> bytes:
    """Convert an SVG to a vector PDF with the used glyphs embedded. Raises ModuleNotFoundError."""
    return bytes(_converter().svg_to_pdf(svg))


def _converter() -> ModuleType:
    try:
        import vl_convert
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'PNG and PDF files of charts need the package vl-convert-python: pip install "lm-gym[charts]"',
            name=error.name,
        ) from error
    return vl_convert


def _plain_word(text: str) -> str:
    """Reduce text to ASCII letters, digits, underscores and single hyphens."""
    ascii_alone = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_alone.lower())).strip("-_")
