"""History of a suite's drafts: who changed what and when, and earlier states of the draft.

Every entry of the log keeps what undoes it, so an earlier state is the present one with the later edits undone. The
log continues from one draft to the next: a new draft starts as the newest revision ended. It is bounded, see
KEEP_EDITS and KEEP_BYTES.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F, Max, QuerySet

from gym.accounts.models import User
from gym.accounts.quotas import OverQuota
from lmgym.suites.formats import SentenceDoc, SuiteDocument
from lmgym.suites.history import Key, Past, Step, steps_of, undo_of
from suites.models import DraftEdit, Suite, SuiteRevision
from suites.quotas import SUITES, bytes_of_edit
from suites.selectors import document_of

KEEP_EDITS = 2_000
"""Number of newest changes of a suite that are kept."""
KEEP_BYTES = 10_000_000
"""Maximum size of a suite's earlier states in bytes. The oldest are dropped first; their changes stay in the list."""
PRUNE_EVERY = 100
LARGE = 100_000
"""Size of an edit, in bytes, from which the log is pruned at once."""
MOST_EARLIER = 50
"""Number of changes that the editor can undo after a reload."""
WHOLE = "replaced-"
"""Prefix of the ids of entries about the draft as a whole."""


State = tuple[SuiteDocument, str]
"""A document and its join policy."""


class NotKept(ValueError):
    """The state is no longer kept, or never was."""


@dataclass(frozen=True)
class Change:
    """A change of the draft to display.

    `before`, `after`: whether these states can be shown and restored; `frozen`: number of the revision that was frozen
    after it, or None."""

    edit: DraftEdit
    steps: list[Step]
    before: bool
    after: bool
    frozen: int | None

    @property
    def version_before(self) -> int:
        return self.edit.version - 1


# ---- writing ----


def last_version(suite: Suite) -> int:
    """Return the highest version of any draft of this suite, past or present."""
    logged = suite.edits.aggregate(Max("version"))["version__max"] or 0
    return max(logged, suite.revisions.aggregate(Max("edits"))["edits__max"] or 0)


def log(
    suite: Suite,
    version: int,
    ops: Sequence[Any],
    undo: dict[str, Any],
    *,
    actor: User | None,
    key: str,
    conflicts: Sequence[Any] = (),
) -> DraftEdit:
    """Store one change of the draft and drop what exceeds the limits."""
    undo_size = bytes_of_edit(undo, None)
    entry = DraftEdit.objects.create(
        suite=suite,
        edit_id=key,
        version=version,
        actor=actor,
        ops=list(ops),
        conflicts=list(conflicts),
        undo=undo,
        undo_size=undo_size,
        size=bytes_of_edit(ops, conflicts) + undo_size,
    )
    if version % PRUNE_EVERY == 0 or undo_size > LARGE:
        _prune(suite, version)
    return entry


def log_whole(
    suite: Suite,
    name: str,
    version: int,
    before: State,
    after: State,
    *,
    actor: User | None,
) -> None:
    """Log that the draft became another document. Earlier states are dropped if the quota of the owner has no room for
    them."""
    undo = undo_of(before[0], after[0], (before[1], after[1]))
    entry = log(suite, version, [{"op": name}], undo, actor=actor, key=f"{WHOLE}{version}")
    if not has_room(suite, entry.size, actor=actor or suite.owner):
        forget(suite, version)


def has_room(suite: Suite, grown: int, *, actor: User) -> bool:
    """Return whether the quota of the owner has room for the bytes just written."""
    try:
        SUITES.require_bytes(suite.owner, grown, actor=actor)
    except OverQuota:
        return False
    return True


def forget(suite: Suite, version: int) -> None:
    """Drop what undoes the changes up to this version. The changes stay in the list."""
    suite.edits.filter(version__lte=version, undo__isnull=False).update(
        size=F("size") - F("undo_size"), undo=None, undo_size=0
    )


def _prune(suite: Suite, version: int) -> None:
    suite.edits.filter(version__lte=version - KEEP_EDITS).delete()
    total = 0
    sizes = suite.edits.filter(undo__isnull=False).order_by("-version").values_list("version", "undo_size")
    for each, size in list(sizes):
        total += size
        if total > KEEP_BYTES:
            forget(suite, each)
            return


# ---- reading ----


def edits_of(suite: Suite) -> QuerySet[DraftEdit]:
    """Return the changes of a suite's drafts, newest first."""
    return suite.edits.select_related("actor").defer("undo", "conflicts").order_by("-version")


def changes_in(edits: Iterable[DraftEdit], suite: Suite, draft: SuiteRevision | None) -> list[Change]:
    """Return these edits to display; without a draft, no state can be restored."""
    oldest = last_version(suite) + 1 if draft is None else oldest_state(draft)
    frozen = dict(
        suite.revisions.filter(state=SuiteRevision.State.FROZEN)
        .order_by("-number")
        .values_list("edits", "number")
    )
    return [
        Change(
            edit,
            steps_of(edit.ops),
            before=edit.version > oldest,
            after=edit.version >= oldest,
            frozen=frozen.get(edit.version),
        )
        for edit in edits
    ]


def oldest_state(draft: SuiteRevision) -> int:
    """Return the oldest version of the draft that can be restored."""
    oldest = draft.edits
    kept = draft.suite.edits.filter(version__lte=draft.edits, undo__isnull=False)
    for version in list(kept.order_by("-version").values_list("version", flat=True)):
        if version != oldest:
            break
        oldest = version - 1
    return oldest


def state_of(revision: SuiteRevision) -> State:
    return document_of(revision), revision.join_policy


def state_at(draft: SuiteRevision, version: int) -> State:
    """Return what the draft was at a version. Raises NotKept."""
    past = Past(document_of(draft), draft.join_policy)  # may refresh `draft.edits`: read it afterwards
    entries = draft.suite.edits.filter(version__gt=version, version__lte=draft.edits)
    here = draft.edits
    for logged, undo in list(entries.order_by("-version").values_list("version", "undo")):
        if logged != here or undo is None:
            raise NotKept
        past.back(undo)
        here -= 1
    if here != version:
        raise NotKept
    return past.document(), past.join


def with_former_data(suite: Suite, before: SuiteDocument, after: SuiteDocument) -> SuiteDocument:
    """Give rows that an edit brings back their data: an editor that undoes a deletion sends the texts only. A row is
    back if item, condition and all texts are those of a deleted one."""
    known = before.table()
    new = {key for key, row in after.table().items() if known.get(key) != row and any(row.contents)}
    if not new:
        return after
    deleted, items = _deleted(suite, new)
    rows = [_completed(row, deleted) for row in after.sentences]
    numbers = {str(item) for item, _ in new if item not in set(before.items)}
    extra = after.extra
    if returned := {key: value for key, value in items.items() if key in numbers}:
        extra = {**extra, "items": {**returned, **extra.get("items", {})}}
    return replace(after, sentences=tuple(rows), extra=extra)


Texts = tuple[int, str, tuple[str, ...]]


def _deleted(suite: Suite, keys: Collection[Key]) -> tuple[dict[Texts, list[Any]], dict[str, Any]]:
    """Return raw texts and extra keys of the newest deleted rows at these keys, and the data of deleted items."""
    edits = suite.edits.filter(undo__isnull=False).order_by("-version")
    versions = [
        version
        for version, ops in edits.values_list("version", "ops")[:MOST_EARLIER]
        if any(str(op.get("op")).startswith("delete_") for op in ops)
    ]
    deleted: dict[Texts, list[Any]] = {}
    items: dict[str, Any] = {}
    for undo in list(edits.filter(version__in=versions).values_list("undo", flat=True)):
        if undo is None:
            continue
        for item, condition, contents, raw, extra in undo.get("rows", ()):
            if (item, condition) in keys:
                deleted.setdefault((item, condition, tuple(contents)), [raw, extra])
        put: dict[str, Any] = undo.get("items", {}).get("put", {})
        items = {**put, **items}
    return deleted, items


def _completed(row: SentenceDoc, deleted: dict[Texts, list[Any]]) -> SentenceDoc:
    known = deleted.get((row.item, row.condition, row.contents))
    if known is None:
        return row
    raw, extra = known
    if row.raw is None and raw is not None:
        row = replace(row, raw=tuple(raw))
    return replace(row, extra={**row.extra, **extra})


def earlier_edits(draft: SuiteRevision, user: User) -> list[dict[str, Any]]:
    """List the newest changes that this user made in a row, newest first, for undo in the editor: {version, words}.
    Freezing, and replacing the draft as a whole, end the row."""
    newest = draft.suite.edits.filter(version__lte=draft.edits).order_by("-version")
    rows = newest.values_list("version", "actor_id", "edit_id", "ops")[:MOST_EARLIER]
    frozen = draft.suite.latest_frozen
    oldest = max(oldest_state(draft), frozen.edits if frozen else 0)
    earlier: list[dict[str, Any]] = []
    for version, actor, key, ops in rows:
        if actor != user.pk or key.startswith(WHOLE) or version <= oldest:
            break
        earlier.append({"version": version, "words": "; ".join(step.words for step in steps_of(ops))})
    return earlier
