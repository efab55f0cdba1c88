"""Chart files are self-contained: SVG names its fonts, PDF embeds them, and all have a white background."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET

from django.urls import reverse
from pypdf import PdfReader

from gym.pages.figure_views import KINDS
from lmgym.charts.svg import FONT, Pen, element
from tests.once import once_a_module
from tests.runs.drawings import address, make_world

built, people, world = once_a_module(make_world)

SVG = "{http://www.w3.org/2000/svg}"


def test_an_svg_file_keeps_its_text_describes_itself_and_loads_no_other_file(client, world):
    for kind in KINDS:
        text = client.get(address(kind, "svg", world)).content.decode()
        root = ET.fromstring(text)
        assert root.get("font-family") == FONT, kind
        assert root.findall(f".//{SVG}text"), kind
        assert root.get("role") == "img", kind
        assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"], kind
        assert root.findtext(f"{SVG}title"), kind
        assert len(root.findtext(f"{SVG}desc")) > 10, kind
        for word in ("@import", "url(", "<image", 'href="http', "style="):
            assert word not in text, (kind, word)


def test_a_pdf_file_brings_its_fonts_and_its_letters(client, world):
    for kind in KINDS:
        page = PdfReader(io.BytesIO(client.get(address(kind, "pdf", world)).content)).pages[0]
        fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
        assert fonts, kind
        for font in fonts:
            (inner,) = font["/DescendantFonts"]
            descriptor = inner.get_object()["/FontDescriptor"]
            assert "/FontFile2" in descriptor or "/FontFile3" in descriptor, (kind, font["/BaseFont"])
        assert "".join(page.extract_text().split()), kind


def test_words_that_look_like_markup_stay_words_and_shortened_names_keep_their_full_name():
    pen = Pen(standalone=True)
    words = "<b>&amp;\"'</b>"
    body = [
        pen.text(40.0, 30.0, words, "c-text"),
        element(
            "text", {"x": 5.0, "y": 20.0, **pen.style("c-text")}, element("title", None, "long name"), "lo…"
        ),
    ]
    root = ET.fromstring(str(pen.canvas(90.0, 40.0, "T", "what it shows", "chart", body)))
    first, second = root.findall(f".//{SVG}text")
    assert first.text == words
    assert second.findtext(f"{SVG}title") == "long name"


def test_the_regions_of_a_run_have_one_drawing_under_both_addresses(client, world):
    old = client.get(reverse("run-chart", args=[world["run"]])).content
    assert old == client.get(address("run-regions", "svg", world)).content
