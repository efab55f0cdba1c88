"""Parse a file of results and match it with suites. Saves nothing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError

from gym.accounts.models import User
from lmgym.runs.uploaded import AUTO, KINDS, FittedPart, Part, Uploaded, fit_part, has_text, read_results
from lmgym.suites.formats import SuiteDocument
from lmgym.text import listing
from lmgym.text.problems import FormatError, Notice, Problem
from models_registry.models import RegisteredModel
from suites import permissions as suite_permissions
from suites.models import SuiteRevision
from suites.selectors import document_of, listed_for

MAX_CANDIDATES = 5
"""Maximum number of suites with the same name that are tried."""
_NAME_THE_SUITE = "name one suite (site: upload the file on the suite's page; API: suite; command: --suite)"


@dataclass(frozen=True)
class ResultFile:
    name: str
    data: bytes

    def facts(self) -> dict[str, Any]:
        digest = hashlib.sha256(self.data).hexdigest()
        return {"name": self.name[:200], "sha256": digest, "bytes": len(self.data)}


@dataclass
class PlannedRun:
    """One model on one revision: results, or the problems that prevent them. `model` is set when the plan is saved."""

    part: Part
    revision: SuiteRevision
    applied: FittedPart | None = None
    problems: list[Problem] = field(default_factory=list)
    model: RegisteredModel | None = None


@dataclass
class Plan:
    """Preview of an upload. `unmatched`: (name of a suite in the file, reason why it has no match). `notices`: about
    the whole file."""

    uploaded: Uploaded
    files: list[ResultFile]
    unit: str = AUTO
    runs: list[PlannedRun] = field(default_factory=list)
    unmatched: list[tuple[str, str]] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    @property
    def good(self) -> list[PlannedRun]:
        return [run for run in self.runs if run.applied is not None]

    @property
    def refused(self) -> list[PlannedRun]:
        return [run for run in self.runs if run.applied is None]

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(run.part.model for run in self.good))


def plan_upload(
    file: ResultFile,
    *,
    actor: User,
    revision: SuiteRevision | None = None,
    spec: ResultFile | None = None,
    kind: str = "auto",
    unit: str = AUTO,
) -> Plan:
    """Parse a file and fit it to one revision, or to the suites it names. Saves nothing.

    Raises FormatError with all reasons if nothing in the file can be used, and PermissionDenied or ValidationError if
    the user may not upload results, see `require_target`.
    """
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to upload results")
    if revision is not None:
        require_target(revision, actor)
    uploaded = read_results(file.data, spec=spec.data if spec else None, kind=kind, unit=unit)
    plan = Plan(uploaded, [file, *([spec] if spec else [])], unit, notices=list(uploaded.notices))
    candidates = _candidates(uploaded, revision, actor, plan)
    by_suite: dict[str, list[Part]] = {}
    for part in uploaded.parts:
        if candidates.get(part.suite):
            by_suite.setdefault(part.suite, []).append(part)
    documents: dict[int, SuiteDocument] = {}
    for name, parts in by_suite.items():
        plan.runs += _fitting(name, parts, candidates[name], documents, plan, actor)
    if not plan.good:
        raise FormatError(_why_nothing(plan))
    return plan


def require_target(revision: SuiteRevision, actor: User) -> None:
    """Raise PermissionDenied or ValidationError unless the revision is frozen and this user may upload
    results for its suite."""
    if not suite_permissions.can_run(actor, revision.suite):
        raise PermissionDenied("you may not upload results for this suite")
    if not revision.is_frozen:
        raise ValidationError("Freeze the revision first: results need a fixed revision.")


def _why_nothing(plan: Plan) -> list[Problem]:
    several = len(plan.runs) > 1
    places: dict[tuple[str, str], list[str]] = {}
    for run in plan.runs:
        for problem in run.problems:
            place = _place(run, problem.where) if several else problem.where
            places.setdefault((problem.message, problem.hint), []).append(place)
    problems = [Problem(listing(where, 3), *text) for text, where in places.items()]
    problems += [Problem("file", f"suite “{name}”: {reason}") for name, reason in plan.unmatched]
    return problems


def _place(run: PlannedRun, where: str) -> str:
    return f"{run.part.model or 'the model'} on {run.revision.suite.slug}, {where}"


def _fitting(
    name: str,
    parts: list[Part],
    candidates: list[SuiteRevision],
    documents: dict[int, SuiteDocument],
    plan: Plan,
    actor: User,
) -> list[PlannedRun]:
    """Match the parts with one suite name to the first candidate that fits all of them. If the next match
    ranks equally, the name is ambiguous and no candidate is chosen. If none fits, return the problems with the
    first."""
    tried: list[list[PlannedRun]] = []
    for revision in candidates:
        document = documents.setdefault(revision.pk, document_of(revision))
        tried.append([planned_run(part, revision, document) for part in parts])
    fits = [runs for runs in tried if all(run.applied for run in runs)]
    if not fits:
        return tried[0]
    revisions = [runs[0].revision for runs in fits]
    slugs = [revision.suite.slug for revision in revisions]
    if len(fits) > 1 and _rank(revisions[0], name, actor) == _rank(revisions[1], name, actor):
        shown = ", ".join(sorted(slugs))
        reason = f"several suites have this name ({shown}); {_NAME_THE_SUITE}"
        plan.unmatched.append((name, reason))
        return []
    if len(fits) > 1:
        message = f"“{name}” was matched with {slugs[0]}; it also fits {listing(slugs[1:])}"
        plan.notices.append(Notice("file", message))
    return fits[0]


def planned_run(part: Part, revision: SuiteRevision, document: SuiteDocument) -> PlannedRun:
    """Fit a part to a revision. A part that names another suite is refused unless its sentences are those of
    this suite."""
    try:
        applied = fit_part(part, document)
    except FormatError as error:
        return PlannedRun(part, revision, problems=error.problems)
    if part.suite and part.suite not in _names(revision):
        slug = revision.suite.slug
        if applied.failures or not has_text(part):
            message = f"the file names the suite “{part.suite}”, and nothing in it shows that this is {slug}"
            hint = "If it is, correct the suite's name in the file, or remove it."
            return PlannedRun(part, revision, problems=[Problem("file", message, hint)])
        notice = Notice("file", f"the file calls the suite “{part.suite}”; its sentences are those of {slug}")
        applied = replace(applied, notices=(*applied.notices, notice))
    return PlannedRun(part, revision, applied)


def _candidates(
    uploaded: Uploaded, revision: SuiteRevision | None, actor: User, plan: Plan
) -> dict[str, list[SuiteRevision]]:
    """Map each suite name in the file to the revisions it may refer to, best first (`_rank`). With
    `revision`, only names of its suite are matched, or all names if the file has none of them. Names without a
    revision are added to `plan.unmatched`."""
    if revision is not None:
        names = {"", *_names(revision)} & set(uploaded.suites) or set(uploaded.suites)
        others = [name for name in uploaded.suites if name not in names]
        plan.unmatched = [(name, "not the selected suite") for name in others]
        return {name: [revision] for name in uploaded.suites if name in names}
    by_name: dict[str, dict[int, SuiteRevision]] = {}
    frozen = SuiteRevision.objects.filter(
        suite__in=listed_for(actor), state=SuiteRevision.State.FROZEN
    ).select_related("suite")
    newest = {row.suite_id: row for row in frozen.order_by("number")}
    for row in newest.values():
        for name in _names(row):
            by_name.setdefault(name, {})[row.suite_id] = row
    candidates: dict[str, list[SuiteRevision]] = {}
    for name in uploaded.suites:
        rows = list(by_name.get(name, {}).values()) if name else []
        rows.sort(key=lambda row: (*_rank(row, name, actor), row.pk))
        candidates[name] = rows[:MAX_CANDIDATES]
        if not name:
            reason = f"the file does not name a suite; {_NAME_THE_SUITE}"
            plan.unmatched.append((name, reason))
        elif not rows:
            plan.unmatched.append((name, "your lists have no suite with this name and a frozen revision"))
    return candidates


def _rank(revision: SuiteRevision, name: str, actor: User) -> tuple[bool, bool]:
    """Return a sort key: the actor's own suites come first, even if published under another slug; then suites
    with this slug."""
    return revision.suite.owner_id != actor.pk, revision.suite.slug != name


def _names(revision: SuiteRevision) -> set[str]:
    return {revision.suite.slug, revision.name, revision.suite.title}


def report_of(plan: Plan) -> dict[str, Any]:
    """Return the parts of an upload's report that are not stored with its runs."""
    return {
        "kind": KINDS[plan.uploaded.kind],
        "notices": [_shown(row) for row in plan.notices if not row.is_warning],
        "warnings": [_shown(row) for row in plan.notices if row.is_warning],
        "unmatched": [{"name": name, "reason": reason} for name, reason in plan.unmatched],
        "refused": [
            {
                "suite": run.revision.suite.slug,
                "model": run.part.model,
                "problems": [
                    {"where": row.where, "message": row.message, "hint": row.hint}
                    for row in run.problems[:20]
                ],
            }
            for run in plan.refused
        ],
    }


def _shown(row: Notice) -> dict[str, str]:
    return {"where": row.where, "message": row.message}


def notices_of(planned: PlannedRun, report: dict[str, Any]) -> list[str]:
    """Return notices about a run as sentences, followed by notices about the whole file from `report_of`."""
    return _sentences(planned, report, is_warning=False)


def warnings_of(planned: PlannedRun, report: dict[str, Any]) -> list[str]:
    """Return warnings in the order of `notices_of`: reasons why the values may not be surprisals in bits."""
    return _sentences(planned, report, is_warning=True)


def _sentences(planned: PlannedRun, report: dict[str, Any], *, is_warning: bool) -> list[str]:
    assert planned.applied is not None
    rows = [_shown(row) for row in planned.applied.notices if row.is_warning == is_warning]
    rows += report.get("warnings" if is_warning else "notices", [])
    return [
        f"{message[:1].upper()}{message[1:]}." if where == "file" else f"{where}: {message}."
        for where, message in ((row["where"], row["message"]) for row in rows)
    ]
