"""Text of a drawing as outlines, so that an SVG file looks the same wherever it goes.

Word processors, TeX's converters and most drawing programs ignore fonts embedded in an SVG, so letters become shapes.
The converter that makes our PNG and PDF files sets each text once (it shapes scripts and looks for missing letters in
the machine's other fonts), and the shapes are read from the fonts in the PDF it writes: all files show the same.
A text with a letter that no font here has stays text, so that the reader's fonts draw it; PNG and PDF show empty boxes.
"""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from gym.evaluations.svg import FONT

SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_EM, _LINE, _MIDDLE = 1000, 4000, 100_000
"""Runs are set with this size, this far apart, and anchored at this x."""
_AT_ONCE = 200
Run = tuple[str, str, str]
"""Text, weight, anchor."""
Glyph = tuple[Any, str, float]
"""The set of glyphs it is from, its name there, units per em."""


def outlined(svg: str) -> str:
    """The drawing, every text a group of shapes. Names no font, unless a text has to stay."""
    root = ET.fromstring(svg)  # noqa: S314 - our own drawing
    texts = [(parent, child) for parent in root.iter() for child in parent if child.tag == f"{{{SVG}}}text"]
    runs = list(dict.fromkeys(run for _, text in texts for run, _, _ in _pieces(text)))
    shapes = _shapes(runs)
    shown = {run: f"t{number}" for number, run in enumerate(run for run in runs if shapes[run])}
    for parent, text in texts:
        if all(run in shown for run, _, _ in _pieces(text)):
            parent[list(parent).index(text)] = _group(text, shown)
    if root.find(f".//{{{SVG}}}text") is None:
        root.attrib.pop("font-family", None)
    library = ET.Element(f"{{{SVG}}}defs")
    for run, name in shown.items():
        ET.SubElement(library, f"{{{SVG}}}path", {"id": name, "d": shapes[run], "aria-label": run[0]})
    root.insert(_after_words(root), library)
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", _XLINK)
    return ET.tostring(root, encoding="unicode")


def _after_words(root: ET.Element) -> int:
    """Behind title and desc, which must come first."""
    return sum(child.tag in (f"{{{SVG}}}title", f"{{{SVG}}}desc") for child in root)


def _pieces(text: ET.Element) -> Iterator[tuple[Run, float, float]]:
    """What a text element sets, and where: itself, or each of its lines."""
    weight, anchor = text.get("font-weight", "normal"), text.get("text-anchor", "start")
    x, y = float(text.get("x", 0)), float(text.get("y", 0))
    own = text.text or "".join(child.tail or "" for child in text)
    if own.strip():
        yield (own.strip(), weight, anchor), x, y
    for line in text.iter(f"{{{SVG}}}tspan"):
        y += float(line.get("dy", 0))
        if (line.text or "").strip():
            yield ((line.text or "").strip(), weight, anchor), float(line.get("x", x)), y


def _group(text: ET.Element, shown: dict[Run, str]) -> ET.Element:
    group = ET.Element(
        f"{{{SVG}}}g", {key: text.attrib[key] for key in ("transform", "fill") if key in text.attrib}
    )
    group.extend(text.findall(f"{{{SVG}}}title"))
    scale = float(text.get("font-size", 16)) / _EM
    for run, x, y in _pieces(text):
        place = f"translate({x:g} {y:g}) scale({scale:g})"
        ET.SubElement(group, f"{{{SVG}}}use", {f"{{{_XLINK}}}href": f"#{shown[run]}", "transform": place})
    return group


# --- shapes of runs --------------------------------------------------------------------------------------------------
_known: dict[Run, str] = {}
_KNOWN_AT_MOST = 20_000


def _shapes(runs: Sequence[Run]) -> dict[Run, str]:
    known = {run: _known.get(run) for run in runs}
    new = [run for run, shape in known.items() if shape is None]
    set_now: dict[Run, str] = {}
    for first in range(0, len(new), _AT_ONCE):
        set_now |= _set(new[first : first + _AT_ONCE])
    if len(_known) + len(set_now) > _KNOWN_AT_MOST:
        _known.clear()
    _known.update(set_now)
    return {run: shape for run, shape in known.items() if shape is not None} | set_now


def _set(runs: Sequence[Run]) -> dict[Run, str]:
    """Path of every run, its anchor at the origin, 1000 units per em, y downwards; empty where a letter is missing."""
    import vl_convert
    from fontTools.misc.transform import Transform
    from fontTools.pens.svgPathPen import SVGPathPen
    from fontTools.pens.transformPen import TransformPen

    height = _LINE * (len(runs) + 1)
    lines = "".join(
        f'<text x="{_MIDDLE}" y="{_LINE * (k + 1)}" font-size="{_EM}" font-weight={quoteattr(weight)}'
        f" text-anchor={quoteattr(anchor)}>{escape(text)}</text>"
        for k, (text, weight, anchor) in enumerate(runs)
    )
    pdf = bytes(
        vl_convert.svg_to_pdf(
            f'<svg xmlns="{SVG}" width="{2 * _MIDDLE}" height="{height}" font-family={quoteattr(FONT)}>{lines}</svg>'
        )
    )
    found: dict[Run, list[str]] = {run: [] for run in runs}
    missing: set[Run] = set()
    for glyph, matrix, size in _glyphs(pdf):
        place = Transform(1, 0, 0, -1, 0, height).transform(Transform(*matrix))
        line = round(place.dy / _LINE) - 1
        if glyph is None:
            missing.add(runs[line])
            continue
        glyphs, name, units = glyph
        moved = Transform(1, 0, 0, 1, -_MIDDLE, -_LINE * (line + 1)).transform(place).scale(size / units)
        pen = SVGPathPen(glyphs, ntos=lambda value: str(round(value)))
        glyphs[name].draw(TransformPen(pen, moved))
        if d := pen.getCommands():
            found[runs[line]].append(d)
    return {run: "" if run in missing else "".join(paths) for run, paths in found.items()}


def _glyphs(pdf: bytes) -> Iterator[tuple[Glyph | None, tuple[float, ...], float]]:
    """Every glyph on the page (None: no font has it), its matrix, its size."""
    from fontTools.misc.transform import Identity, Transform
    from pypdf import PdfReader
    from pypdf.generic import ContentStream

    reader = PdfReader(io.BytesIO(pdf))
    page = reader.pages[0]
    fonts = {name: _font(font.get_object()) for name, font in page["/Resources"].get("/Font", {}).items()}
    here, kept, text, font, size = Identity, [], Identity, None, 0.0
    for operands, operator in ContentStream(page.get_contents(), reader).operations:
        if operator == b"q":
            kept.append(here)
        elif operator == b"Q":
            here = kept.pop()
        elif operator == b"cm":
            here = here.transform(Transform(*map(float, operands)))
        elif operator == b"Tm":
            text = Transform(*map(float, operands))
        elif operator == b"Tf":
            font, size = fonts[operands[0]], float(operands[1])
        elif operator == b"Tj":
            # the converter writes one glyph, two bytes, at a time; number 0 is the empty box
            number = int.from_bytes(operands[0].original_bytes, "big")
            yield font(number) if font and number else None, tuple(here.transform(text)), size


def _font(font: Any) -> Callable[[int], Glyph] | None:
    """Glyphs of an embedded font by their number; None where the PDF draws them in another way."""
    if font["/Subtype"] != "/Type0":
        return None
    descriptor = font["/DescendantFonts"][0].get_object()["/FontDescriptor"]
    if "/FontFile2" in descriptor:
        return _true_type(descriptor["/FontFile2"].get_data())
    return _postscript(descriptor["/FontFile3"].get_data()) if "/FontFile3" in descriptor else None


def _true_type(data: bytes) -> Callable[[int], Glyph]:
    from fontTools.ttLib import TTFont

    font = TTFont(io.BytesIO(data))
    glyphs, names, units = font.getGlyphSet(), font.getGlyphOrder(), font["head"].unitsPerEm

    return lambda number: (glyphs, names[number], units)


def _postscript(data: bytes) -> Callable[[int], Glyph]:
    from fontTools.cffLib import CFFFontSet

    fonts = CFFFontSet()
    fonts.decompile(io.BytesIO(data), None)
    top = fonts.topDictIndex[0]
    return lambda number: (top.CharStrings, top.charset[number], 1.0 / top.FontMatrix[0])
