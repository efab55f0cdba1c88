"""Any bytes give a document or a FormatError, and any document survives a round trip."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from lmgym.suites.formats import (
    PredictionDoc,
    SentenceDoc,
    SuiteDocument,
    read_json,
    read_suite,
    write_json,
    write_long_csv,
    write_wide_tsv,
)
from lmgym.suites.lint import lint
from lmgym.text import guard, tidy, unguard
from lmgym.text.problems import FormatError

from .samples import GOLDEN, encoded, suite

SEEDS = [path.read_bytes() for path in sorted(GOLDEN.glob("*.*"))]
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("\t\n '=-,;\""), max_size=12)
NAME = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Z"), exclude_characters="%"), min_size=1, max_size=8
)
KEY = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6).map(lambda key: f"x-{key}")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=3),
    max_leaves=6,
)
EXTRA = st.dictionaries(KEY, JSON, max_size=2)


@st.composite
def documents(draw: st.DrawFn) -> SuiteDocument:
    regions = draw(st.lists(NAME, min_size=1, max_size=4))
    conditions = draw(st.lists(NAME, min_size=1, max_size=3, unique=True))
    items = draw(st.lists(st.integers(0, 50), min_size=1, max_size=4, unique=True))
    sentences = []
    for item in items:
        for condition in conditions:
            raw = tuple(draw(TEXT) for _ in regions)
            contents = tuple(tidy(cell) for cell in raw)
            sentences.append(
                SentenceDoc(item, condition, contents, raw if raw != contents else None, draw(EXTRA))
            )
    region = st.integers(1, len(regions))
    side = st.builds("({};%{}%)".format, region, st.sampled_from(conditions))
    formula = st.builds("{} {} {}".format, side, st.sampled_from("<>="), side)
    predictions = st.lists(st.builds(PredictionDoc, formula, TEXT, TEXT, EXTRA), max_size=2)
    metric = st.sampled_from(["sum", "mean", "all", ("max", "min")])
    return SuiteDocument(
        draw(NAME), draw(metric), draw(EXTRA), tuple(regions), tuple(conditions), tuple(sentences),
        tuple(draw(predictions)), draw(EXTRA),
    )  # fmt: skip


@given(documents())
def test_documents_survive_json(doc):
    assert read_json(write_json(doc).encode()) == doc


@given(documents())
def test_documents_survive_tables(doc):
    for write in (write_long_csv, write_wide_tsv):
        back = read_suite(write(doc).encode())
        assert back.region_names == doc.region_names
        assert back.conditions == doc.conditions
        assert [(s.item, s.condition, s.contents, s.raw) for s in back.sentences] == [
            (s.item, s.condition, s.contents, s.raw) for s in doc.sentences
        ]


@given(documents())
def test_lint_reads_every_document_and_always_says_the_same(doc):
    assert lint(doc) == lint(doc)


@given(st.binary(max_size=200), st.sampled_from(["", "a.json", "a.csv"]))
@example(b"\xff\xfe", "")
@example(b"item,condition,a\n\xff", "")
@example(b"[" * 100_000, "")
def test_bytes_never_raise_anything_else(data, filename):
    read_or_refuse(data, filename)


@given(st.sampled_from(SEEDS), st.data())
def test_damaged_files_never_raise_anything_else(seed, data):
    start = data.draw(st.integers(0, len(seed)))
    end = data.draw(st.integers(start, min(len(seed), start + 40)))
    read_or_refuse(seed[:start] + data.draw(st.binary(max_size=8)) + seed[end:], "")


@given(st.data())
def test_odd_values_anywhere_never_raise_anything_else(data):
    document = suite()
    node = document
    for _ in range(data.draw(st.integers(0, 6))):
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(node[key], dict | list) or not node[key] or data.draw(st.integers(0, 5)) == 0:
            node[key] = data.draw(JSON)
            break
        node = node[key]
    read_or_refuse(encoded(document), "a.json")


def read_or_refuse(data: bytes, filename: str) -> None:
    try:
        doc = read_suite(data, filename)
    except FormatError as error:
        problems = error.problems
    else:
        problems = None
        assert read_json(write_json(doc).encode()) == doc
        json.dumps([vars_of(finding) for finding in lint(doc)])
    assert problems != []


def vars_of(finding: object) -> dict[str, object]:
    return {name: getattr(finding, name) for name in finding.__slots__}  # type: ignore[attr-defined]


@given(st.text(max_size=8))
def test_unguard_undoes_guard(text):
    assert unguard(guard(text)) == text
    assert guard(text)[:1] not in tuple("=+-@\t\r")


@given(st.text(max_size=8))
def test_tidy_is_done_after_once(text):
    assert tidy(tidy(text)) == tidy(text)
