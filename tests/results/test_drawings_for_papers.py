"""Files of charts need nothing that is not in them: SVG has no fonts, PDF brings its own, all are on white."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import pytest
from django.urls import reverse
from pypdf import PdfReader

from gym.evaluations.svg import Pen, element
from gym.results.draw.outline import outlined
from gym.results.draw.rows import RowMark, interval_rows
from gym.results.figure_views import KINDS
from tests.results.drawings import address, ink, pixels, world  # noqa: F401 - a fixture

SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}href"


def drawing(*texts: str, **more: object) -> str:
    pen = Pen(standalone=True)
    body = [pen.text(40.0, 30.0 + 30.0 * k, text, "c-text", **more) for k, text in enumerate(texts)]
    return str(pen.canvas(110.0, 40.0 + 30.0 * len(texts), "Title", "What it shows", "chart", body))


def test_an_svg_file_names_no_font_and_no_other_file(client, world):  # noqa: F811
    for kind in KINDS:
        text = client.get(address(kind, "svg", world)).content.decode()
        root = ET.fromstring(text)
        assert not root.findall(f".//{SVG}text"), kind
        for word in ("font", "@import", "url(", "<image", 'href="http', "style="):
            assert word not in text, (kind, word)
        names = {node.get("id") for node in root.iter()}
        uses = [node.get(XLINK) for node in root.iter(f"{SVG}use")]
        assert uses, kind
        assert all(use.removeprefix("#") in names for use in uses), kind


def test_an_svg_file_still_says_what_it_shows(client, world):  # noqa: F811
    for kind in KINDS:
        root = ET.fromstring(client.get(address(kind, "svg", world)).content)
        assert root.get("role") == "img", kind
        assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"], kind
        assert root.findtext(f"{SVG}title"), kind
        assert len(root.findtext(f"{SVG}desc")) > 10, kind
        assert all(path.get("aria-label") for path in root.findall(f"{SVG}defs/{SVG}path")), kind


def test_a_pdf_file_brings_its_fonts_and_its_letters(client, world):  # noqa: F811
    for kind in KINDS:
        page = PdfReader(io.BytesIO(client.get(address(kind, "pdf", world)).content)).pages[0]
        fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
        assert fonts, kind
        for font in fonts:
            (inner,) = font["/DescendantFonts"]
            descriptor = inner.get_object()["/FontDescriptor"]
            assert "/FontFile2" in descriptor or "/FontFile3" in descriptor, (kind, font["/BaseFont"])
        assert "".join(page.extract_text().split()), kind


def test_outlines_look_like_the_text_they_replace():
    """The converter draws both: once with its fonts, once from shapes alone."""
    rows = [RowMark("AV fi “Grüße” ŋʃə Ωж", 0.5, 0.25, 0.75, 0.5), RowMark("second, with 95%", 0.25)]
    svg = str(interval_rows(rows, "Kerned, accented and bold", standalone=True, series=("one", "two")))
    with_text, with_shapes = pixels(svg), pixels(outlined(svg))
    assert len(with_text) == len(with_shapes)
    apart = sum(abs(a - b) > 64 for a, b in zip(with_text, with_shapes, strict=True))
    assert ink(with_text) > 2000
    assert apart < 0.01 * ink(with_text)
    nothing = ET.fromstring(outlined(svg))
    for parent in list(nothing.iter()):
        for use in parent.findall(f"{SVG}use"):
            parent.remove(use)
    without = pixels(ET.tostring(nothing, encoding="unicode"))
    assert sum(abs(a - b) > 64 for a, b in zip(with_text, without, strict=True)) > 0.2 * ink(with_text)


@pytest.mark.parametrize("anchor", ["start", "middle", "end"])
@pytest.mark.parametrize("turn", [{}, {"transform": "rotate(-70 40 30)"}])
def test_outlines_stand_where_the_text_stood(anchor, turn):
    svg = drawing("Turned AVA", **{"text-anchor": anchor}, **turn)
    apart = sum(abs(a - b) > 64 for a, b in zip(pixels(svg), pixels(outlined(svg)), strict=True))
    assert apart < 0.03 * ink(pixels(svg))


def test_text_that_no_font_here_has_stays_text_for_the_readers_fonts():
    root = ET.fromstring(outlined(drawing("plain", "no font has \ue83a this")))
    assert [node.text for node in root.findall(f"{SVG}text")] == ["no font has \ue83a this"]
    assert "sans-serif" in root.get("font-family")
    assert len(root.findall(f".//{SVG}use")) == 1


def test_a_text_used_often_is_there_once():
    root = ET.fromstring(outlined(drawing("same", "same", "same", "other")))
    assert len(root.findall(f"{SVG}defs/{SVG}path")) == 2
    assert len(root.findall(f".//{SVG}use")) == 4


def test_words_that_look_like_markup_stay_words():
    root = ET.fromstring(outlined(drawing("<b>&amp;\"'</b>")))
    (path,) = root.findall(f"{SVG}defs/{SVG}path")
    assert path.get("aria-label") == "<b>&amp;\"'</b>"
    assert root.find(f".//{SVG}b") is None


def test_shortened_names_keep_their_full_name():
    pen = Pen(standalone=True)
    text = element(
        "text", {"x": 5.0, "y": 20.0, **pen.style("c-text")}, element("title", None, "long name"), "lo…"
    )
    root = ET.fromstring(outlined(str(pen.canvas(90.0, 40.0, "T", "what it shows", "chart", [text]))))
    assert root.findtext(f"{SVG}g/{SVG}title") == "long name"


def test_the_regions_of_a_run_have_one_drawing_under_both_addresses(client, world):  # noqa: F811
    old = client.get(reverse("run-chart", args=[world["run"]])).content
    assert old == client.get(address("run-regions", "svg", world)).content
