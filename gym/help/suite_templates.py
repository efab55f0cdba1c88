"""Suite templates to download, in the formats that the site can read and write."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lmgym.runs.other_programs import blimp_jsonl
from lmgym.suites.blueprints import BLUEPRINTS
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formats.documents import PredictionDoc
from lmgym.suites.formats.files import FORMS
from lmgym.suites.formats.write import WRITERS

NAME = "suite-template"


@dataclass(frozen=True, slots=True)
class SuiteTemplate:
    label: str
    about: str
    file_name: str
    content_type: str


_FORMS = {
    "xlsx": ("Excel workbook", "One row per sentence, one column per region. For Excel and LibreOffice."),
    "csv-excel": ("Wide CSV", "The same table as a text file, with accents that Excel reads correctly."),
    "tsv": ("Wide TSV", "The same table with tabs."),
    "csv": ("Long CSV", "One row per region, as the SyntaxGym site wrote it."),
    "json": ("JSON", "Everything a suite has: sentences, predictions, factorial design."),
}
TEMPLATES = {
    form: SuiteTemplate(label, about, NAME + FORMS[form].name, FORMS[form].content_type)
    for form, (label, about) in _FORMS.items()
} | {
    "jsonl": SuiteTemplate(
        "JSONL",
        "Minimal pairs: a good and a bad sentence on every line, as in BLiMP.",
        f"{NAME}-pairs.jsonl",
        "application/x-ndjson",
    )
}


def content(form: str) -> str | bytes:
    """Return the file's content, as written by the site's exporters."""
    return _pairs() if form == "jsonl" else WRITERS[form](document())


def document() -> SuiteDocument:
    """Return a small 2 × 2 suite on subject-verb agreement."""
    return BLUEPRINTS["agreement"].document(NAME)


def _pairs() -> str:
    good_before_bad = PredictionDoc("(*;%match_sing%) < (*;%mismatch_sing%)")
    return blimp_jsonl(replace(document(), predictions=(good_before_bad,)), NAME, 1, "space")
