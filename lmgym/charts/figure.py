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
SIZES = {"single": 85.0, "double": 180.0}
"""Widths of drawings that fill one or two columns of a journal, in mm."""
_POINTS_PER_INCH, _MM_PER_INCH = 72, 25.4
_CSS_PIXELS_PER_INCH = 96
_SIZE = re.compile(r' width="([\d.]+)" height="([\d.]+)"')


@dataclass(frozen=True)
class Figure:
    """A chart with its data.

    Attributes:
        draw: `draw(standalone=False)` draws for a page, `draw(standalone=True)` for a paper, with colours on white.
        header, rows: the data; headings include units.
        query: parameters that identify the chart within its `kind`.
        rule: key and label of the scoring rule of pass rates; None for charts without pass rates.
        has_narrow: `draw(narrow=True)` fits a phone screen and a column of a journal.
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

    def file(self, form: str, size: str = "") -> bytes:
        """Return the chart or its data as a file in one of FORMS; text formats are UTF-8. `size`: one of SIZES, the
        width of a drawing; default: its size on pages."""
        if form == "csv":
            return csv_text(self.columns(), self.values()).encode()
        if form == "json":
            return json.dumps(self.as_json(), ensure_ascii=False, indent=2, allow_nan=False).encode()
        drawn = str(self.draw(standalone=True, narrow=True) if size == "single" and self.has_narrow else self)
        if form == "svg":
            return (_resized(drawn, SIZES[size], "mm") if size else drawn).encode()
        points = SIZES[size] / _MM_PER_INCH * _POINTS_PER_INCH if size else _points(drawn)
        return as_png(drawn, points) if form == "png" else as_pdf(drawn, points)

    def save(self, path: str | Path, size: str = "") -> Path:
        """Write the chart or its data in the format of the path's extension.

        Args:
            size: "single" (85 mm, a column of a journal) or "double" (180 mm); default: the size on pages.

        Raises:
            ValueError: the extension is not in FORMS, or the size is not in SIZES.
            ModuleNotFoundError: PNG or PDF without lm-gym[charts].
        """
        target = Path(path).expanduser()
        form = target.suffix.removeprefix(".").lower()
        if form not in FORMS:
            raise ValueError(f"{target} must end in one of .{', .'.join(FORMS)}.")
        if size and size not in SIZES:
            raise ValueError(f"{size!r} is not a size. Choose one of {', '.join(map(repr, SIZES))}.")
        target.write_bytes(self.file(form, size))
        return target


def _points(svg: str) -> float:
    """Return the width of a drawing in points, at the size that browsers show."""
    match = _SIZE.search(svg)
    return float(match[1]) * _POINTS_PER_INCH / _CSS_PIXELS_PER_INCH if match else 0.0


def _resized(svg: str, width: float, unit: str = "") -> str:
    """Set the width of a drawing; its viewBox scales it."""

    def resized(match: re.Match[str]) -> str:
        height = width * float(match[2]) / float(match[1])
        return f' width="{width:.2f}{unit}" height="{height:.2f}{unit}"'

    return _SIZE.sub(resized, svg, count=1)


# The converter treats a pixel of an SVG as a point (1/72 inch), browsers as 1/96 inch.


def as_png(svg: str, points: float) -> bytes:
    """Convert an SVG to PNG at 300 dots per inch. `points`: its width. Raises ModuleNotFoundError."""
    return bytes(_converter().svg_to_png(_resized(svg, points), scale=1.0, ppi=DOTS_PER_INCH))


def as_pdf(svg: str, points: float) -> bytes:
    """Convert an SVG to a vector PDF; the used glyphs are embedded as TrueType outlines (Type 42). `points`: its width.
    Raises ModuleNotFoundError."""
    return bytes(_converter().svg_to_pdf(_resized(svg, points)))


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
