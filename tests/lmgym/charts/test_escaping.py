"""Every text can be part of a chart."""

from __future__ import annotations

from xml.etree.ElementTree import fromstring

from lmgym.charts.svg import clean, element

CHARACTERS = [*range(0x10000), 0x10000, 0x1D7D8, 0x10FFFF]


def test_attributes_and_text_survive_and_what_xml_cannot_contain_is_replaced() -> None:
    for text in map(chr, CHARACTERS):
        drawn = fromstring(element("text", {"title": text}, text))
        assert drawn.get("title") == clean(text)
        assert drawn.text == clean(text).replace("\r", "\n")  # XML has one end of line
