"""The next version of a suite, from a file that may lack what the suite already knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from lmgym.suites.formats import designs
from lmgym.suites.formats.documents import PredictionDoc, SentenceDoc, SuiteDocument
from lmgym.suites.formats.predictions import Placed, check_formulas
from lmgym.suites.formats.tables import DATA
from lmgym.text import count, numbered
from lmgym.text.problems import Notice, Report


def next_version(document: SuiteDocument, older: SuiteDocument) -> SuiteDocument:
    """Build the next version of a suite from a file.

    A table keeps name, metric, meta block and predictions of the older version. Any file keeps what it does not
    mention: the factors, names and descriptions of predictions with the same formula, and the data of sentences and
    items whose text stayed alike. An empty value in the file (`"factors": []`, `"data": {}`) removes them. A notice
    names what was kept, and data that was dropped.

    Raises:
        FormatError: the document is a table, and a prediction names a region or condition that it lacks.
    """
    if document.is_table:
        document = _inherit(document, older)
    for keep in (_factors, _names, _data):
        document = keep(document, older)
    return document


def _inherit(table: SuiteDocument, older: SuiteDocument) -> SuiteDocument:
    report = Report()
    placed = [Placed(f"prediction {number}", row) for number, row in enumerate(older.predictions, start=1)]
    check_formulas(placed, table.region_names, table.conditions, report)
    report.raise_problems()
    notices = tuple(notice for notice in table.notices if "table has no" not in notice.message)
    inherited = replace(
        table,
        name=older.name,
        metric=older.metric,
        meta=designs.kept(older.meta, table.conditions),
        predictions=older.predictions,
        extra={key: value for key, value in older.extra.items() if key != "items"} | table.extra,
        notices=notices,
    )
    return _with_notice(
        inherited, "name, metric, metadata and predictions were kept from the previous version"
    )


def _factors(document: SuiteDocument, older: SuiteDocument) -> SuiteDocument:
    if designs.KEY in document.meta:
        return document
    design = designs.factors_in(older.meta, document.conditions)
    if not any(factor.conditions for factor in design):
        return document
    names = ", ".join(factor.name for factor in design)
    kept = replace(document, meta=designs.in_meta(document.meta, design))
    return _with_notice(kept, f"the factors ({names}) were kept from the previous version")


def _names(document: SuiteDocument, older: SuiteDocument) -> SuiteDocument:
    """Keep names and descriptions of predictions that have neither in the file."""
    known = {" ".join(row.formula.split()): row for row in older.predictions if row.name or row.description}
    predictions: list[PredictionDoc] = []
    for row in document.predictions:
        earlier = known.get(" ".join(row.formula.split()))
        if earlier and not row.name and not row.description:
            row = replace(row, name=earlier.name, description=earlier.description)
        predictions.append(row)
    n = sum(new != row for new, row in zip(predictions, document.predictions, strict=True))
    if not n:
        return document
    kept = replace(document, predictions=tuple(predictions))
    return _with_notice(
        kept, f"names and descriptions of {count(n, 'prediction')} were kept from the previous version"
    )


def _data(document: SuiteDocument, older: SuiteDocument) -> SuiteDocument:
    """Keep the data of sentences, their regions and their items."""
    earlier = older.table()
    of_items: Mapping[str, Any] = older.extra.get("items", {})
    sentences: list[SentenceDoc] = []
    alike: set[int] = set()
    kept: set[int] = set()
    dropped: set[int] = set()
    for sentence in document.sentences:
        old = earlier.get((sentence.item, sentence.condition))
        if old is not None and _alike(old.text, sentence.text):
            alike.add(sentence.item)
            extra = _kept_extra(sentence, old)
            if extra != sentence.extra:
                kept.add(sentence.item)
                sentence = replace(sentence, extra=extra)
        elif old is not None and old.extra.get(DATA) and DATA not in sentence.extra:
            dropped.add(sentence.item)
        sentences.append(sentence)
    items = dict(document.extra.get("items", {}))
    for number in sorted(alike):
        key = str(number)
        if key in of_items and key not in items:
            items[key] = of_items[key]
            kept.add(number)
    if kept:
        extra = {**document.extra, "items": items} if items else document.extra
        document = replace(document, sentences=tuple(sentences), extra=extra)
        these = numbered("item", sorted(kept))
        document = _with_notice(document, f"the data of {these} was kept from the previous version")
    if dropped:
        these = numbered("item", sorted(dropped))
        message = f"the data of {these} was dropped, because the text changed"
        document = _with_notice(document, message)
    return document


def _kept_extra(sentence: SentenceDoc, old: SentenceDoc) -> dict[str, Any]:
    """Return the extra keys of a sentence with those that only its older version has."""
    extra = {**{key: value for key, value in old.extra.items() if key != "regions"}, **sentence.extra}
    same = {
        str(number)
        for number, (text, before) in enumerate(zip(sentence.contents, old.contents, strict=False), start=1)
        if text == before
    }
    of_regions = {key: value for key, value in old.extra.get("regions", {}).items() if key in same}
    regions = {**of_regions, **sentence.extra.get("regions", {})}
    return {**extra, "regions": regions} if regions else extra


def _alike(old: str, new: str) -> bool:
    """Return whether two sentences share at least half of their pairs of neighbouring characters, so that one may be a
    correction of the other."""
    before, after = (Counter(pairwise(text)) for text in (old, new))
    return old == new or 2 * (before & after).total() >= max(before.total(), after.total(), 1)


def _with_notice(document: SuiteDocument, message: str) -> SuiteDocument:
    return replace(document, notices=(*document.notices, Notice("file", message)))
