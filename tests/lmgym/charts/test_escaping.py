"""Every text can be part of a chart."""

from __future__ import annotations

from xml.etree.ElementTree import fromstring

from hypothesis import example, given
from hypothesis import strategies as st

from lmgym.charts.svg import clean, element

texts = st.text(st.characters() | st.sampled_from("&<>\"'\t\n\r\0\x1f\x7f\ud800\udfff\ufffe\uffff"))


@given(texts)
@example("plain, 0–9 [a]; ~\x7f\x85\ud7ff\ue000\ufffd\U00010000\U0010ffff")
def test_attributes_and_text_survive_and_what_xml_cannot_contain_is_replaced(text: str) -> None:
    drawn = fromstring(element("text", {"title": text}, text))
    assert drawn.get("title", "") == clean(text)
    assert (drawn.text or "") == clean(text).replace("\r\n", "\n").replace("\r", "\n")
