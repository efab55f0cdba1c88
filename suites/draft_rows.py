"""Ops to rows: reads what an edit can touch, lets `suites.editing` do it, and writes what became different."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import F

from suites.editing import CellConflict, Sheet, edit_sheet, moves_rows, read_cell
from suites.formats import PredictionDoc, SentenceDoc
from suites.models import Prediction, Sentence, SuiteRevision
from suites.quotas import bytes_of
from suites.selectors import document_from

AWAY = 1_000_000
"""Positions are unique, so rows that swap places go through positions that no row has."""
AWAY_ITEM = 1_000_000_000
BATCH = 250
FEW = 16


def perform(draft: SuiteRevision, ops: Sequence[dict[str, Any]]) -> list[CellConflict]:
    """Do the ops on the draft's rows. Raises EditError; call it inside a transaction of its own."""
    everything = moves_rows(ops)
    rows = _rows(draft, ops, everything)
    predictions = list(draft.predictions.order_by("position"))
    before = document_from(draft, rows, predictions)
    sheet = Sheet(before)
    conflicts = edit_sheet(sheet, ops)
    after = sheet.document()
    _write_rows(draft, rows, sheet.sentences(), moves=everything)
    if after.predictions != before.predictions:
        _write_predictions(draft, predictions, after.predictions)
    changes = {
        "region_names": list(after.region_names),
        "condition_names": list(after.conditions),
        "extra": after.extra,
        # Both documents hold the same part of the draft, so the difference is that of the whole.
        "size": max(0, draft.size + bytes_of(after) - bytes_of(before)),
    }
    different = {name: value for name, value in changes.items() if getattr(draft, name) != value}
    if different:
        SuiteRevision.objects.filter(pk=draft.pk).update(**different)
        for name, value in different.items():
            setattr(draft, name, value)
    return conflicts


def _rows(draft: SuiteRevision, ops: Sequence[dict[str, Any]], everything: bool) -> list[Sentence]:
    rows = draft.sentences.order_by("position")
    if everything:
        return list(rows)
    cells = [cell for op in ops if op.get("op") == "set_cells" for cell in op["cells"]]
    items = {read_cell(cell)[0] for cell in cells}
    return list(rows.filter(item__in=items)) if items else []


def _write_rows(
    draft: SuiteRevision,
    rows: Sequence[Sentence],
    sentences: Sequence[tuple[int | None, SentenceDoc]],
    *,
    moves: bool,
) -> None:
    kept = {origin for origin, _ in sentences}
    gone = [row.pk for place, row in enumerate(rows) if place not in kept]
    if gone:
        draft.sentences.filter(pk__in=gone).delete()
    texts, keys, places, new = [], [], {}, []
    for position, (origin, sentence) in enumerate(sentences):
        if origin is None:
            new.append(sentence_row(draft, position, sentence))
            continue
        row = rows[origin]
        if _put(row, "text", sentence):
            texts.append(row)
        if _put(row, "key", sentence):
            keys.append(row)
        if moves and row.position != position:
            places[row.pk] = position - row.position
            row.position = position
    _update(texts, ["contents", "raw", "extra"])
    if keys:
        Sentence.objects.filter(pk__in=[row.pk for row in keys]).update(item=F("item") + AWAY_ITEM)
        _update(keys, ["item", "condition"])
    _move(rows, places)
    Sentence.objects.bulk_create(new, batch_size=BATCH)


def _put(row: Sentence, part: str, sentence: SentenceDoc) -> bool:
    """Write a part of the sentence into the row; whether it became different."""
    if part == "key":
        values: dict[str, Any] = {"item": sentence.item, "condition": sentence.condition}
    else:
        raw = None if sentence.raw is None else list(sentence.raw)
        values = {"contents": list(sentence.contents), "raw": raw, "extra": sentence.extra}
    different = [name for name, value in values.items() if getattr(row, name) != value]
    for name in different:
        setattr(row, name, values[name])
    return bool(different)


def _move(rows: Sequence[Sentence], places: dict[int, int]) -> None:
    """Move rows by these distances: one statement per distance, or one per batch when they are many."""
    if not places:
        return
    Sentence.objects.filter(pk__in=list(places)).update(position=F("position") + AWAY)
    by_distance: dict[int, list[int]] = {}
    for pk, distance in places.items():
        by_distance.setdefault(distance, []).append(pk)
    if len(by_distance) <= FEW:
        for distance, pks in by_distance.items():
            Sentence.objects.filter(pk__in=pks).update(position=F("position") + (distance - AWAY))
        return
    _update([row for row in rows if row.pk in places], ["position"])


def _update(rows: Sequence[Sentence], names: Sequence[str]) -> None:
    """Write these fields of these rows with one prepared statement: `bulk_update` takes seconds for thousands."""
    if not rows:
        return
    fields = [Sentence._meta.get_field(name) for name in names]
    quote = connection.ops.quote_name
    columns = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    table, key = quote(Sentence._meta.db_table), quote(Sentence._meta.pk.column)
    statement = f"UPDATE {table} SET {columns} WHERE {key} = %s"  # noqa: S608  names of our own columns only
    values = [
        [*(field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields), row.pk]
        for row in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(statement, values)


def sentence_row(revision: SuiteRevision, position: int, sentence: SentenceDoc) -> Sentence:
    return Sentence(
        revision=revision,
        position=position,
        item=sentence.item,
        condition=sentence.condition,
        contents=list(sentence.contents),
        raw=None if sentence.raw is None else list(sentence.raw),
        extra=sentence.extra,
    )


def prediction_row(revision: SuiteRevision, position: int, prediction: PredictionDoc) -> Prediction:
    return Prediction(
        revision=revision,
        position=position,
        name=prediction.name[:200],
        description=prediction.description,
        formula=prediction.formula,
        extra=prediction.extra,
    )


def _write_predictions(
    draft: SuiteRevision, stored: Sequence[Prediction], wanted: Sequence[PredictionDoc]
) -> None:
    """Make the stored list the wanted one: rows are changed in place, added at the end or removed from it."""
    changed = []
    for row, prediction in zip(stored, wanted, strict=False):
        values = {
            "name": prediction.name,
            "description": prediction.description,
            "formula": prediction.formula,
            "extra": prediction.extra,
        }
        if any(getattr(row, name) != value for name, value in values.items()):
            for name, value in values.items():
                setattr(row, name, value)
            changed.append(row)
    Prediction.objects.bulk_update(changed, ["name", "description", "formula", "extra"])
    if len(stored) > len(wanted):
        draft.predictions.filter(position__gte=len(wanted)).delete()
    new = [prediction_row(draft, position, one) for position, one in enumerate(wanted)]
    Prediction.objects.bulk_create(new[len(stored) :])
