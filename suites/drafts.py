"""Concurrent editing of a suite's draft.

Edits are compare-and-set on the draft's structure (items, conditions, regions) and on each cell's old text. The suite's
row is locked, so edits of one suite are serialised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from gym.accounts.models import User
from lmgym.suites.editing import (
    CellConflict,
    EditError,
    Sheet,
    compared,
    edit_sheet,
    is_structural,
    moves_rows,
    read_cell,
    whole,
)
from lmgym.suites.formats import PredictionDoc, SentenceDoc, SuiteDocument
from lmgym.suites.formats.designs import written
from lmgym.suites.history import undo_of
from suites import history, permissions
from suites.models import DraftEdit, Prediction, Sentence, Suite, SuiteRevision
from suites.quotas import SUITES, bytes_of
from suites.selectors import design_of, document_from

MAX_EDITS = 500
LOOK_BACK = 200
"""Number of newest edits searched for the author of a change."""
RESTORE = "restore"
"""Op that makes the draft what it was at a version; the only op of its edit."""
INSERTS = frozenset({"insert_items", "insert_condition", "insert_region"})
"""Ops that undo a deletion in the editor."""

GONE = "This draft was frozen or discarded. Open a new draft to continue editing."
MOVED = "Another editor changed the items, conditions or regions. Your edit was not applied."
CHANGED = "Another editor changed the draft. Nothing was restored."
NOT_KEPT = "This state of the draft is no longer kept."
AFTER = "This edit depends on an earlier one of yours that was not applied."

Conflict = dict[str, Any]


@dataclass
class Outcome:
    """Result of a batch of edits. `applied`: ids of edits applied at least in part; `conflicts`: edits and
    cells that were not applied."""

    version: int
    applied: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


class BadEdits(ValueError):
    """The request is not a list of valid edits."""


def card(draft: SuiteRevision) -> dict[str, Any]:
    """Return the draft without its sentences, as JSON."""
    items = list(draft.sentences.order_by("position").values_list("item", flat=True))
    return {
        "suite": draft.suite.slug,
        "revision": draft.number,
        "version": draft.edits,
        "structure": draft.structure,
        "metric": draft.metric,
        "join": draft.join_policy,
        "regions": draft.region_names,
        "conditions": draft.condition_names,
        "factors": written(design_of(draft)),
        "items": list(dict.fromkeys(items)),
        "n_rows": len(items),
        "predictions": list(draft.predictions.order_by("position").values("name", "description", "formula")),
        "ignored": list(draft.suite.lint_ignores.values("code", "where", "reason")),
    }


def apply_edits(suite: Suite, version: int, edits: Sequence[dict[str, Any]], *, actor: User) -> Outcome:
    """Apply edits made on `version` of the draft, if its structure is unchanged. If OverQuota is raised, no
    edit is applied."""
    permissions.require_edit(actor, suite)
    batch = _checked(edits)
    with transaction.atomic():
        Suite.objects.select_for_update().get(pk=suite.pk)
        draft = suite.draft
        if draft is None:
            return Outcome(history.last_version(suite), [], [_refused(key, GONE, "") for key in batch])
        size = draft.size
        session = _Session(suite, draft, version, batch, actor)
        outcome = session.run()
        if outcome.applied:
            Suite.objects.filter(pk=suite.pk).update(updated=timezone.now())
            grown = draft.size - size + session.logged
            if not history.has_room(suite, grown, actor=actor):
                history.forget(suite, draft.edits)
                SUITES.require_bytes(suite.owner, grown - session.undo_bytes, actor=actor)
    return outcome


def restore(suite: Suite, version: int, to: int, *, key: str, actor: User) -> Outcome:
    """Make the draft what it was at version `to`, as a new edit, if the draft is still at `version`."""
    return apply_edits(suite, version, [{"id": key, "ops": [{"op": RESTORE, "version": to}]}], actor=actor)


def _checked(edits: Sequence[Any]) -> dict[str, list[dict[str, Any]]]:
    if not isinstance(edits, list) or len(edits) > MAX_EDITS:
        raise BadEdits(f"“edits” must be a list of at most {MAX_EDITS} edits")
    batch: dict[str, list[dict[str, Any]]] = {}
    for edit in edits:
        if not isinstance(edit, dict):
            raise BadEdits("an edit must have the form {id, ops}")
        key, ops = edit.get("id"), edit.get("ops")
        if not isinstance(key, str) or not 0 < len(key) <= 64 or key.startswith(history.WHOLE):
            raise BadEdits("every edit needs an “id” of at most 64 characters")
        if not isinstance(ops, list) or not all(isinstance(op, dict) for op in ops):
            raise BadEdits("“ops” must be a list of ops")
        batch[key] = ops
    return batch


class _Session:
    """Application of one batch of edits. `version`: version of the draft on which the next edit is based."""

    def __init__(
        self, suite: Suite, draft: SuiteRevision, version: int, batch: dict[str, Any], actor: User
    ) -> None:
        self.suite, self.draft, self.version, self.batch, self.actor = suite, draft, version, batch, actor
        self.outcome = Outcome(draft.edits)
        self.known = {entry.edit_id: entry for entry in suite.edits.defer("undo").filter(edit_id__in=batch)}
        self.blocked = False
        self.logged = 0
        """Bytes added to the log of edits."""
        self.undo_bytes = 0
        """Part of `logged` that keeps earlier states of the draft."""

    def run(self) -> Outcome:
        for key, ops in self.batch.items():
            if entry := self.known.get(key):
                self._repeat(entry)
            elif self.blocked:
                self._refuse(key, AFTER, "")
            elif not self.draft.structure <= self.version <= self.draft.edits:
                self._refuse(key, MOVED, self._by(lambda entry: entry.version == self.draft.structure))
            else:
                self._apply(key, ops)
        self.outcome.version = self.draft.edits
        return self.outcome

    def _repeat(self, entry: DraftEdit) -> None:
        """Report the stored outcome of an edit that was applied before and whose response was lost."""
        self.version = max(self.version, entry.version)
        self.outcome.applied.append(entry.edit_id)
        self.outcome.conflicts += entry.conflicts

    def _apply(self, key: str, ops: list[dict[str, Any]]) -> None:
        if _restores(ops) and self.version != self.draft.edits:
            self.blocked = True
            self._refuse(key, CHANGED, self._by(lambda entry: True))
            return
        try:
            with transaction.atomic():
                cell_conflicts, undo = _perform(self.draft, ops)
                conflicts = [self._cell(key, conflict) for conflict in cell_conflicts]
                self._log(key, _without(ops, cell_conflicts), undo, conflicts)
        except history.NotKept:
            self.blocked = True
            self._refuse(key, NOT_KEPT, "")
            return
        except EditError as error:
            self.blocked = is_structural(ops)
            kinds = compared(ops)
            by = self._by(lambda entry: any(op["op"] in kinds for op in entry.ops))
            self._refuse(key, f"{error.message[0].upper()}{error.message[1:]}.", by)
            return
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            self.blocked = is_structural(ops)
            self._refuse(key, "This edit is malformed; /help/grid/ describes the format.", "")
            return
        self.version = self.draft.edits
        self.outcome.applied.append(key)
        self.outcome.conflicts += conflicts

    def _log(self, key: str, ops: Sequence[Any], undo: dict[str, Any], conflicts: list[Conflict]) -> None:
        version = self.draft.edits + 1
        structure = version if is_structural(ops) or _restores(ops) else self.draft.structure
        SuiteRevision.objects.filter(pk=self.draft.pk).update(edits=version, structure=structure)
        entry = history.log(self.suite, version, ops, undo, actor=self.actor, key=key, conflicts=conflicts)
        self.logged += entry.size
        self.undo_bytes += entry.undo_size
        self.draft.edits, self.draft.structure = version, structure

    # --- conflicts ---

    def _refuse(self, key: str, why: str, by: str) -> None:
        """Report an edit that was not applied at all; the client still has its texts."""
        self.outcome.conflicts.append(_refused(key, why, by))

    def _cell(self, key: str, conflict: CellConflict) -> Conflict:
        place = [conflict.item, conflict.condition, conflict.region]
        by = self._by(
            lambda entry: any(place == cell[:3] for op in entry.ops for cell in op.get("cells", []))
        )
        return {
            "edit": key,
            "op": conflict.op,
            "what": "cell",
            "item": conflict.item,
            "condition": conflict.condition,
            "region": conflict.region,
            "old": conflict.old,
            "yours": conflict.yours,
            "theirs": conflict.theirs,
            "by": by,
        }

    @cached_property
    def _newest(self) -> list[DraftEdit]:
        return list(history.edits_of(self.suite)[:LOOK_BACK])

    def _by(self, matches: Callable[[DraftEdit], bool]) -> str:
        """Return the name of the author of the newest matching edit; empty if it is not among the last LOOK_BACK."""
        entry = next((entry for entry in self._newest if matches(entry)), None)
        return str(entry.actor) if entry and entry.actor else ""


def _without(ops: Sequence[Any], conflicts: Sequence[CellConflict]) -> list[Any]:
    """Return the ops without the cells in conflict."""
    conflicting = {(conflict.item, conflict.condition, conflict.region) for conflict in conflicts}
    if not conflicting:
        return list(ops)
    return [
        {**op, "cells": [cell for cell in op["cells"] if tuple(cell[:3]) not in conflicting]}
        if op["op"] == "set_cells"
        else op
        for op in ops
    ]


def _refused(key: str, message: str, by: str) -> Conflict:
    return {"edit": key, "what": "edit", "message": message, "by": by}


# ---- ops to rows: read the rows an edit can touch, apply `lmgym.suites.editing`, write what changed ----

AWAY = 1_000_000
"""Offset of temporary positions while rows are moved, since positions must be unique."""
AWAY_ITEM = 1_000_000_000
BATCH = 250
FEW = 16


def _names(ops: Sequence[dict[str, Any]]) -> set[Any]:
    return {op["op"] for op in ops}


def _restores(ops: Sequence[dict[str, Any]]) -> bool:
    return len(ops) == 1 and ops[0].get("op") == RESTORE


def _perform(
    draft: SuiteRevision, ops: Sequence[dict[str, Any]]
) -> tuple[list[CellConflict], dict[str, Any]]:
    """Apply the ops to the draft's rows. Returns the conflicts and what undoes the rest.

    Raises EditError and NotKept; call in a separate transaction."""
    restores = _restores(ops)
    everything = restores or moves_rows(ops)
    rows = _rows(draft, ops, everything)
    predictions = list(draft.predictions.order_by("position"))
    before = document_from(draft, rows, predictions)
    join = draft.join_policy
    conflicts: list[CellConflict] = []
    if restores:
        after, new_join = history.state_at(draft, whole(ops[0], "version", 0, draft.edits))
        places = {key: place for place, key in enumerate(before.table())}
        sentences = [(places.get((row.item, row.condition)), row) for row in after.sentences]
    else:
        sheet = Sheet(before, join)
        conflicts = edit_sheet(sheet, ops)
        after, new_join = sheet.document(), sheet.join
        if _names(ops) & INSERTS:
            after = history.with_former_data(draft.suite, before, after)
        origins = [origin for origin, _ in sheet.sentences()]
        sentences = list(zip(origins, after.sentences, strict=True))
    _write_rows(draft, rows, sentences, moves=everything)
    if after.predictions != before.predictions:
        _write_predictions(draft, predictions, after.predictions)
    _write_fields(draft, before, after, new_join)
    return conflicts, undo_of(before, after, (join, new_join))


def _write_fields(draft: SuiteRevision, before: SuiteDocument, after: SuiteDocument, join: str) -> None:
    changes = {
        "name": after.name,
        "region_names": list(after.region_names),
        "condition_names": list(after.conditions),
        "metric": list(after.metric) if isinstance(after.metric, tuple) else after.metric,
        "join_policy": join,
        "extra": after.extra,
        "meta": after.meta,
        # Both documents contain the same part of the draft, so their difference equals that of the whole draft.
        "size": max(0, draft.size + bytes_of(after) - bytes_of(before)),
    }
    different = {name: value for name, value in changes.items() if getattr(draft, name) != value}
    if different:
        SuiteRevision.objects.filter(pk=draft.pk).update(**different)
        for name, value in different.items():
            setattr(draft, name, value)


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
    """Set a part of the row from the sentence. Returns whether it changed."""
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
    """Move rows by these distances: with one statement per distance if there are few distances, else with one
    statement for all rows."""
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
    """Update these fields with one prepared statement; `bulk_update` takes seconds for thousands of rows."""
    if not rows:
        return
    fields: list[Any] = [Sentence._meta.get_field(name) for name in names]
    quote = connection.ops.quote_name
    columns = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    primary_key: Any = Sentence._meta.pk
    table, key = quote(Sentence._meta.db_table), quote(primary_key.column)
    statement = f"UPDATE {table} SET {columns} WHERE {key} = %s"  # noqa: S608  only names of columns
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
    draft: SuiteRevision, stored: Sequence[Prediction], predictions: Sequence[PredictionDoc]
) -> None:
    """Update the stored predictions: change rows in place, append new ones, and delete surplus rows."""
    changed = []
    for row, prediction in zip(stored, predictions, strict=False):
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
    if len(stored) > len(predictions):
        draft.predictions.filter(position__gte=len(predictions)).delete()
    new = [prediction_row(draft, position, row) for position, row in enumerate(predictions)]
    Prediction.objects.bulk_create(new[len(stored) :])
