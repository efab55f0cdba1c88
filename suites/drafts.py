"""The draft of a suite as the grid sees it: read in pages, changed by small edits that several people may send.

The suite's row is locked while edits are applied, so edits of one suite come one after the other. Which edits fit is
decided by `suites.editing`; here the few rows that an edit touches are read and written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from suites import permissions
from suites._edit.rebase import transform
from suites.draft_rows import perform
from suites.editing import CellConflict, EditError, is_structural, read_cell
from suites.models import DraftEdit, Suite, SuiteRevision

if TYPE_CHECKING:
    from gym.accounts.models import User

PAGE_ROWS = 500
MAX_PAGE_ROWS = 5_000
MAX_EDITS = 500
KEEP_EDITS = 2_000
REPLACED = [{"op": "replace_draft"}]
"""What the log says when the whole draft became another one: nothing older can be carried over."""

GONE = "There is no draft any more: it was frozen or discarded. Open a new draft to go on."
TOO_OLD = "The draft was replaced as a whole meanwhile; this change belongs to the one before."
AFTER = "An earlier change of yours could not be made, and this one builds on it."

Conflict = dict[str, Any]


@dataclass
class Outcome:
    """`conflicts` is empty when everything was applied; `applied` names the edits of which anything was."""

    version: int
    applied: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


class BadEdits(ValueError):
    """The request is not made of edits at all."""


def page(draft: SuiteRevision, offset: int = 0, limit: int = PAGE_ROWS) -> dict[str, Any]:
    """What GET on the draft answers: everything but the rows in full, and `limit` rows from `offset`."""
    places = list(draft.sentences.order_by("position").values_list("item", flat=True))
    rows = draft.sentences.order_by("position")[offset : offset + limit]
    suite = draft.suite
    return {
        "version": draft.edits,
        "suite": {"slug": suite.slug, "title": suite.title, "revision": draft.number},
        "metric": draft.metric,
        "join": draft.join_policy,
        "regions": draft.region_names,
        "conditions": draft.condition_names,
        "items": list(dict.fromkeys(places)),
        "rows": list(rows.values("item", "condition", "contents")),
        "n_rows": len(places),
        "predictions": list(draft.predictions.order_by("position").values("name", "description", "formula")),
        "ignored": list(suite.lint_ignores.values("code", "where", "reason")),
    }


def last_version(suite: Suite) -> int:
    """The newest version that any draft of this suite ever had."""
    logged = suite.edits.aggregate(Max("version"))["version__max"] or 0
    return max(logged, suite.revisions.aggregate(Max("edits"))["edits__max"] or 0)


def note_replacement(suite: Suite, *, actor: User | None) -> int:
    """Log that the draft as a whole became another one. Returns the version that the new draft begins with."""
    version = last_version(suite) + 1
    DraftEdit.objects.create(
        suite=suite, edit_id=f"replaced-{version}", version=version, actor=actor, ops=REPLACED
    )
    return version


def apply_edits(suite: Suite, version: int, edits: Sequence[dict[str, Any]], *, actor: User) -> Outcome:
    """Apply edits that were made on `version` of the draft, as far as they fit the draft of now."""
    if not permissions.can_edit(actor, suite):
        raise PermissionDenied("you may not edit this suite")
    batch = _checked(edits)
    with transaction.atomic():
        Suite.objects.select_for_update().get(pk=suite.pk)
        draft = suite.draft
        if draft is None:
            return Outcome(last_version(suite), [], [_structure(key, 0, GONE) for key in batch])
        outcome = _Session(suite, draft, version, batch, actor).run()
        if outcome.applied:
            Suite.objects.filter(pk=suite.pk).update(updated=timezone.now())
    return outcome


def _checked(edits: Sequence[Any]) -> dict[str, list[dict[str, Any]]]:
    if not isinstance(edits, list) or len(edits) > MAX_EDITS:
        raise BadEdits(f"“edits” must be a list of at most {MAX_EDITS} edits")
    batch: dict[str, list[dict[str, Any]]] = {}
    for edit in edits:
        if not isinstance(edit, dict):
            raise BadEdits("an edit is written {id, ops}")
        key, ops = edit.get("id"), edit.get("ops")
        if not isinstance(key, str) or not 0 < len(key) <= 64 or key.startswith("replaced-"):
            raise BadEdits("every edit needs an “id” of at most 64 characters")
        if not isinstance(ops, list) or not all(isinstance(op, dict) for op in ops):
            raise BadEdits("“ops” must be a list of ops")
        batch[key] = ops
    return batch


class _Session:
    """One request: its edits against the draft and what others did since the draft that the edits were made on."""

    def __init__(
        self, suite: Suite, draft: SuiteRevision, version: int, batch: dict[str, Any], actor: User
    ) -> None:
        self.suite, self.draft, self.batch, self.actor = suite, draft, batch, actor
        self.outcome = Outcome(draft.edits)
        known = suite.edits.filter(edit_id__in=batch)
        self.known = {entry.edit_id: entry for entry in known}
        self.version = version
        log = suite.edits.filter(version__gt=version).select_related("actor").order_by("version")
        self.log = list(log) if version != draft.edits else []
        self.others = [entry for entry in self.log if entry.edit_id not in batch]
        whole = version <= draft.edits and len(self.log) == draft.edits - version
        self.carried = whole and all(entry.ops != REPLACED for entry in self.others)
        self.theirs = self._theirs() if self.carried else []
        self.blocked = not self.carried
        self.why = TOO_OLD

    def _theirs(self) -> list[Any]:
        """What others did, as it stands after those edits of this request that the log holds already."""
        theirs: list[Any] = []
        for entry in self.log:
            if entry.edit_id in self.batch:
                _, theirs, _ = transform(self.batch[entry.edit_id], theirs)
            else:
                theirs += entry.ops
        return theirs

    def run(self) -> Outcome:
        for key, ops in self.batch.items():
            if key in self.known:
                self._again(key, self.known[key])
            elif self.blocked:
                self._refuse(key, ops, self.why)
            else:
                self._do(key, ops)
        self.outcome.version = self.draft.edits
        return self.outcome

    def _do(self, key: str, ops: list[dict[str, Any]]) -> None:
        try:
            moved, theirs, lost = transform(ops, self.theirs) if self.theirs else (ops, [], [])
            with transaction.atomic():
                found = perform(self.draft, moved)
                conflicts = [self._cell(key, one) for one in found]
                conflicts += [self._gone(key, op, cell) for op, cell in lost]
                self._log(key, _without(moved, found), conflicts)
        except EditError as error:
            self._refuse(key, ops, error.message)
            self._block_after(ops)
            return
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            self._refuse(key, ops, "This change is not written as docs/grid.md says.")
            self._block_after(ops)
            return
        self.theirs = theirs
        self.outcome.applied.append(key)
        self.outcome.conflicts += conflicts

    def _again(self, key: str, entry: DraftEdit) -> None:
        """Done before. If the answer was lost, what it said about conflicts is said again."""
        self.outcome.applied.append(key)
        if entry.version > self.version:
            self.outcome.conflicts += entry.conflicts

    def _log(self, key: str, ops: Sequence[Any], conflicts: list[Conflict]) -> None:
        self.draft.edits += 1
        SuiteRevision.objects.filter(pk=self.draft.pk).update(edits=self.draft.edits)
        DraftEdit.objects.create(
            suite=self.suite,
            edit_id=key,
            version=self.draft.edits,
            actor=self.actor,
            ops=list(ops),
            conflicts=conflicts,
        )
        if self.draft.edits % 100 == 0:
            self.suite.edits.filter(version__lt=self.draft.edits - KEEP_EDITS).delete()

    def _block_after(self, ops: list[dict[str, Any]]) -> None:
        if is_structural(ops):
            self.blocked, self.why = True, AFTER

    # --- conflicts ---

    def _refuse(self, key: str, ops: list[dict[str, Any]], why: str) -> None:
        """Nothing of this edit was done. Cells and predictions are reported with both values, the rest in words."""
        for index, op in enumerate(ops):
            cells = op.get("cells")
            if op.get("op") == "set_cells" and isinstance(cells, list) and all(map(_is_cell, cells)):
                self.outcome.conflicts += [self._refused(key, index, cell) for cell in cells]
            elif op.get("op") == "set_predictions":
                now = list(
                    self.draft.predictions.order_by("position").values("name", "description", "formula")
                )
                self.outcome.conflicts.append(
                    {
                        **_structure(key, index, why),
                        "what": "predictions",
                        "old": op.get("old"),
                        "yours": op.get("predictions"),
                        "theirs": now,
                        "by": self._by(),
                    }
                )
            else:
                self.outcome.conflicts.append({**_structure(key, index, why), "by": self._by()})
        if not ops:
            self.outcome.conflicts.append(_structure(key, 0, why))

    def _cell(self, key: str, one: CellConflict) -> Conflict:
        place = {"item": one.item, "condition": one.condition, "region": one.region}
        return {
            "edit": key,
            "op": one.op,
            "what": "cell",
            **place,
            "old": one.old,
            "yours": one.yours,
            "theirs": one.theirs,
            "by": self._by([one.item, one.condition, one.region]),
        }

    def _gone(self, key: str, op: int, cell: list[Any]) -> Conflict:
        """A cell whose item, condition or region somebody deleted; the place is named as the editor knew it."""
        item, condition, region, old, yours = cell
        place = {"item": item, "condition": condition, "region": region}
        message = f"Item {item}, {condition}, region {region} is not there any more; you wrote “{yours}”."
        texts = {"old": old, "yours": yours, "theirs": None}
        return {**_structure(key, op, message), "what": "cell", **place, **texts, "by": self._by()}

    def _refused(self, key: str, op: int, cell: list[Any]) -> Conflict:
        """A cell that was not written; `theirs` is what stands at its place now, null when the place is gone."""
        item, condition, region, old, new = cell
        row = self.draft.sentences.filter(item=item, condition=condition).first()
        there = row is not None and 1 <= region <= len(row.contents)
        return {
            "edit": key,
            "op": op,
            "what": "cell",
            "item": item,
            "condition": condition,
            "region": region,
            "old": old,
            "yours": new,
            "theirs": row.contents[region - 1] if row is not None and there else None,
            "by": self._by(),
        }

    def _by(self, place: list[Any] | None = None) -> str:
        """Who changed this cell last, else who changed the draft last."""
        named = [entry for entry in reversed(self.others) if entry.actor is not None]
        for entry in named:
            cells = [cell[:3] for op in entry.ops for cell in op.get("cells", [])]
            if place in cells:
                return str(entry.actor)
        return str(named[0].actor) if named else ""


def _without(ops: Sequence[Any], conflicts: Sequence[CellConflict]) -> list[Any]:
    """The ops less the cells that were not written."""
    left = {(one.item, one.condition, one.region) for one in conflicts}
    if not left:
        return list(ops)
    return [
        {**op, "cells": [cell for cell in op["cells"] if tuple(cell[:3]) not in left]}
        if op["op"] == "set_cells"
        else op
        for op in ops
    ]


def _is_cell(cell: object) -> bool:
    try:
        read_cell(cell)
    except EditError:
        return False
    return True


def _structure(key: str, op: int, message: str) -> Conflict:
    return {"edit": key, "op": op, "what": "structure", "message": message}
