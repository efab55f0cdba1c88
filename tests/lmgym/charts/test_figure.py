"""Files of a chart: the drawing, and its data with the scoring rule."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lmgym.charts.figure import FORMS, Figure
from lmgym.charts.intervals import RowMark, interval_rows
from lmgym.charts.svg import Markup

RULE = {"key": "all", "label": "all predictions"}


def draw(*, standalone: bool) -> Markup:
    return interval_rows([RowMark("gpt2", 0.5, 0.4, 0.6)], "Pass rates", standalone=standalone)


def figure(rule: dict[str, str] | None = None) -> Figure:
    return Figure("rates", "Pass rates: Ärger", draw, ("model", "rate"), [("gpt2", 0.5)], {}, rule=rule)


def test_the_numbers_name_the_rule_in_every_form() -> None:
    assert figure(RULE).file("csv") == b"model,rate,rule\r\ngpt2,0.5,all\r\n"
    data = json.loads(figure(RULE).file("json"))
    assert (data["rule"], data["columns"], data["rows"]) == (
        RULE,
        ["model", "rate", "rule"],
        [["gpt2", 0.5, "all"]],
    )
    assert figure(RULE).caption == "Pass rates: Ärger. Scoring rule: all predictions."


def test_without_the_converter_the_install_line_is_named(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "lm-gym\[charts\]"'):
        figure().save(tmp_path / "rates.png")


def test_without_a_rule_the_numbers_have_no_such_column() -> None:
    assert figure().file("csv").startswith(b"model,rate\r\n")
    assert figure().caption == "Pass rates: Ärger"


@pytest.mark.parametrize(
    ("form", "start"),
    {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "csv": b"model", "json": b"{"}.items(),
)
def test_it_is_saved_in_the_form_that_the_path_ends_in(tmp_path: Path, form: str, start: bytes) -> None:
    assert form in FORMS
    assert figure().save(tmp_path / f"chart.{form}").read_bytes().startswith(start)


def test_an_ending_that_is_no_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"chart\.gif must end in one of \.svg, \.png"):
        figure().save(tmp_path / "chart.gif")


def test_its_files_are_named_in_plain_letters() -> None:
    assert figure().stem == "rates-pass-rates-arger"


def test_an_unknown_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'single', 'double'"):
        figure().save(tmp_path / "chart.pdf", size="A4")
