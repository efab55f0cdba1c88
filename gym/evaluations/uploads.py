"""Use cases of results that were computed elsewhere: match a file to suites, look at it, keep it, take it back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym import __version__
from gym.evaluations import limits
from gym.evaluations.actors import write_result
from gym.evaluations.graves import delete_runs
from gym.evaluations.judging import ROUNDING_BITS
from gym.evaluations.models import ResultUpload, SuiteRun
from gym.evaluations.uploaded import KINDS, Applied, Part, Uploaded, apply, read_results
from models_registry import permissions as model_permissions
from models_registry.models import UPLOADED, RegisteredModel
from models_registry.services import register_uploaded_model
from suites import permissions as suite_permissions
from suites.formats import Problem, SuiteDocument, SuiteFormatError
from suites.formulas import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE
from suites.models import SuiteRevision
from suites.selectors import document_of, listed_for

if TYPE_CHECKING:
    from gym.accounts.models import User

MAX_RUNS = 300
MAX_CANDIDATES = 5
"""Suites of one name that are tried."""
LISTED_FAILURES = 50


@dataclass(frozen=True)
class GivenFile:
    name: str
    data: bytes

    def facts(self) -> dict[str, Any]:
        digest = hashlib.sha256(self.data).hexdigest()
        return {"name": self.name[:200], "sha256": digest, "bytes": len(self.data)}


@dataclass(frozen=True)
class ModelChoice:
    """Whose results these are: a model that is there, or new ones. Without a name they get the file's."""

    model: RegisteredModel | None = None
    name: str = ""
    slug: str = ""
    visibility: str = RegisteredModel.Visibility.PRIVATE


@dataclass
class PlannedRun:
    """One model on one revision: what it comes to, or why not."""

    part: Part
    revision: SuiteRevision
    applied: Applied | None = None
    problems: list[Problem] = field(default_factory=list)


@dataclass
class Plan:
    """What a file would become. `unmatched`: (name of a suite in the file, why it has no match)."""

    uploaded: Uploaded
    files: list[GivenFile]
    runs: list[PlannedRun] = field(default_factory=list)
    unmatched: list[tuple[str, str]] = field(default_factory=list)

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
    file: GivenFile,
    *,
    actor: User,
    revision: SuiteRevision | None = None,
    spec: GivenFile | None = None,
    kind: str = "auto",
    unit: str = "bits",
) -> Plan:
    """Read a file and fit it to one revision, or to the suites it names. Saves nothing.

    Raises SuiteFormatError when nothing in it can be used, with every reason.
    """
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to upload results")
    if revision is not None:
        require_target(revision, actor)
    uploaded = read_results(file.data, spec=spec.data if spec else None, kind=kind, unit=unit)
    plan = Plan(uploaded, [file, *([spec] if spec else [])])
    candidates = _candidates(uploaded, revision, actor, plan)
    by_suite: dict[str, list[Part]] = {}
    for part in uploaded.parts:
        if candidates.get(part.suite):
            by_suite.setdefault(part.suite, []).append(part)
    if (n := sum(map(len, by_suite.values()))) > MAX_RUNS:
        message = f"{n} pairs of model and suite; at most {MAX_RUNS} at a time"
        raise SuiteFormatError([Problem("file", message, "Split the file, for instance by model.")])
    documents: dict[int, SuiteDocument] = {}
    for name, parts in by_suite.items():
        plan.runs += _fitting(name, parts, candidates[name], documents, plan)
    if not plan.good:
        raise SuiteFormatError(_why_nothing(plan))
    return plan


def require_target(revision: SuiteRevision, actor: User) -> None:
    """Results belong to something that cannot change, and that this user may see."""
    if not suite_permissions.can_run(actor, revision.suite):
        raise PermissionDenied("you may not upload results for this suite")
    if not revision.is_frozen:
        raise ValidationError("Freeze the revision first: results belong to something that cannot change.")


def _why_nothing(plan: Plan) -> list[Problem]:
    several = len(plan.runs) > 1
    problems = [
        Problem(_place(run, problem) if several else problem.where, problem.message, problem.hint)
        for run in plan.runs
        for problem in run.problems
    ]
    problems += [Problem("file", f"suite “{name}”: {reason}") for name, reason in plan.unmatched]
    return problems


def _place(run: PlannedRun, problem: Problem) -> str:
    return f"{run.part.model or 'the model'} on {run.revision.suite.slug}, {problem.where}"


def _fitting(
    name: str,
    parts: list[Part],
    candidates: list[SuiteRevision],
    documents: dict[int, SuiteDocument],
    plan: Plan,
) -> list[PlannedRun]:
    """The parts on the best candidate of their suite's name: the first one all of them fit. When several have the
    name, none of them is exactly called so, and more than one fits, there is no telling them apart."""
    tried: list[list[PlannedRun]] = []
    for revision in candidates:
        document = documents.setdefault(revision.pk, document_of(revision))
        tried.append([_planned(part, revision, document) for part in parts])
    fits = [runs for runs in tried if all(run.applied for run in runs)]
    if len(fits) > 1 and fits[0][0].revision.suite.slug != name:
        slugs = ", ".join(sorted(runs[0].revision.suite.slug for runs in fits))
        plan.unmatched.append(
            (name, f"several suites have this name ({slugs}); upload it on one suite's page")
        )
        return []
    return fits[0] if fits else tried[0]


def _planned(part: Part, revision: SuiteRevision, document: SuiteDocument) -> PlannedRun:
    try:
        return PlannedRun(part, revision, apply(part, document))
    except SuiteFormatError as error:
        return PlannedRun(part, revision, problems=error.problems)


def _candidates(
    uploaded: Uploaded, revision: SuiteRevision | None, actor: User, plan: Plan
) -> dict[str, list[SuiteRevision]]:
    """The revisions each suite name of the file may stand for: by address first, then the actor's own, then others."""
    if revision is not None:
        names = {"", *_names(revision)}
        others = [name for name in uploaded.suites if name not in names]
        plan.unmatched = [(name, "this is another suite than the page's") for name in others]
        return {name: [revision] for name in uploaded.suites if name in names}
    by_name: dict[str, dict[int, SuiteRevision]] = {}
    frozen = SuiteRevision.objects.filter(
        suite__in=listed_for(actor), state=SuiteRevision.State.FROZEN
    ).select_related("suite")
    newest = {row.suite_id: row for row in frozen.order_by("number")}
    for row in newest.values():
        for name in _names(row):
            by_name.setdefault(name, {})[row.suite_id] = row
    found: dict[str, list[SuiteRevision]] = {}
    for name in uploaded.suites:
        rows = list(by_name.get(name, {}).values()) if name else []
        rows.sort(key=lambda row: (row.suite.slug != name, row.suite.owner_id != actor.pk, row.pk))
        found[name] = rows[:MAX_CANDIDATES]
        if not name:
            reason = "the file does not say which suite it is about; upload it on the suite's page"
            plan.unmatched.append((name, reason))
        elif not rows:
            plan.unmatched.append((name, "no frozen suite of this name is listed for you"))
    return found


def _names(revision: SuiteRevision) -> set[str]:
    return {revision.suite.slug, revision.name, revision.suite.title}


def save_upload(plan: Plan, choice: ModelChoice, *, actor: User) -> ResultUpload:
    """Keep what a plan found: one run per model and suite, and the record they belong to."""
    for run in plan.good:
        require_target(run.revision, actor)
    with transaction.atomic():
        limits.check_kept(actor, len(plan.good))
        check_choice(plan, choice, actor=actor)
        models = _models(plan.models, choice, actor)
        upload = ResultUpload.objects.create(
            owner=actor,
            kind=plan.uploaded.kind,
            files=[file.facts() for file in plan.files],
            report=report_of(plan),
        )
        for run in plan.good:
            upload_result(run, models[run.part.model], upload, actor=actor)
    return upload


def upload_result(
    planned: PlannedRun, model: RegisteredModel, upload: ResultUpload, *, actor: User
) -> SuiteRun:
    """One finished run, marked as uploaded. Call inside a transaction."""
    applied = planned.applied
    assert applied is not None
    revision = planned.revision
    policy = {"metric": applied.metric, "eos": applied.end_scored} if applied.metric else {}
    run = SuiteRun.objects.create(
        revision=revision,
        model=model,
        owner=actor,
        source=SuiteRun.Source.UPLOADED,
        upload=upload,
        policy=policy,
        n_sentences=revision.sentences.count(),
    )
    facts = {
        "suite_sha256": revision.sha256,
        "source": "uploaded",
        "kind": planned.part.kind,
        "files": upload.files,
        "model_in_file": planned.part.model,
        "suite_in_file": planned.part.suite,
        "missing": list(applied.missing),
        "notices": said(planned, upload.report["notices"]),
        "item_shift": applied.shift,
        "gym": __version__,
        "equality_tolerance": {"absolute_bits": ABSOLUTE_TOLERANCE, "relative": RELATIVE_TOLERANCE},
        "formula_reading": "import",
        "rounding_bits": ROUNDING_BITS,
    }
    texts = {row.text for row in applied.result.sentences}
    write_result(run, applied.result, facts, n_unique=len(texts))
    run.refresh_from_db()
    return run


def said(planned: PlannedRun, of_file: Sequence[dict[str, str]] = ()) -> list[str]:
    """Notices about a run as sentences; those about the file as a whole come last."""
    assert planned.applied is not None
    rows = [(row.where, row.message) for row in planned.applied.notices]
    rows += [(row["where"], row["message"]) for row in of_file]
    return [
        f"{message[:1].upper()}{message[1:]}." if where == "file" else f"{where}: {message}."
        for where, message in rows
    ]


def check_choice(plan: Plan, choice: ModelChoice, *, actor: User) -> None:
    """Refuse models that the plan's results cannot belong to."""
    names = plan.models
    if choice.model is not None:
        if not model_permissions.can_upload_to(actor, choice.model):
            raise PermissionDenied("results belong to models that are not hosted here, and to their people")
        if len(names) > 1:
            shown = ", ".join(names[:8])
            raise ValidationError(
                f"The file has {len(names)} models ({shown}). Let them become models of their own."
            )
        return
    if choice.name and len(names) > 1:
        raise ValidationError(
            f"The file has {len(names)} models. Leave the name empty: they are called as in the file."
        )
    others = [_known(name, choice, actor) for name in names if choice.name or name.strip()]
    wrong = [row for row in others if row is not None and row.visibility != choice.visibility]
    if wrong:
        shown = ", ".join(f"“{row.name}” ({row.get_visibility_display()})" for row in wrong[:8])
        raise ValidationError(
            {
                "visibility": [
                    f"These results would join a model of yours that others see differently: {shown}. "
                    "Choose its visibility or that model itself, or give a new name."
                ]
            }
        )


def _models(names: Sequence[str], choice: ModelChoice, actor: User) -> dict[str, RegisteredModel]:
    if choice.model is not None:
        return dict.fromkeys(names, choice.model)
    return {name: _known(name, choice, actor) or _new_model(name, choice, actor) for name in names}


def _called(name: str, choice: ModelChoice) -> str:
    name = " ".join((choice.name or name).split())[:200]
    if not name:
        raise ValidationError("The file does not say which model it is about. Give the model a name.")
    return name


def _known(name: str, choice: ModelChoice, actor: User) -> RegisteredModel | None:
    """The actor's uploaded model of this name."""
    mine = RegisteredModel.objects.filter(owner=actor, backend=UPLOADED, name=_called(name, choice))
    known = mine.order_by("pk").first()
    return None if known is not None and choice.slug and choice.slug != known.slug else known


def _new_model(name: str, choice: ModelChoice, actor: User) -> RegisteredModel:
    return register_uploaded_model(
        actor=actor,
        name=_called(name, choice),
        slug=choice.slug,
        visibility=choice.visibility,
        tags=["uploaded"],
    )


def report_of(plan: Plan) -> dict[str, Any]:
    """The part of a report that is not in the runs themselves."""
    return {
        "kind": KINDS[plan.uploaded.kind],
        "notices": [{"where": row.where, "message": row.message} for row in plan.uploaded.notices],
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


def may_see(user: Any, upload: ResultUpload) -> bool:
    """A report names private suites: it is for the person who uploaded and for staff."""
    return bool(user.is_authenticated and (user.is_staff or upload.owner_id == user.pk))


def delete_upload(upload: ResultUpload, *, actor: User) -> int:
    """Take uploaded results back, with all their runs; the models' cards stay. Returns the number of runs.
    Raises Kept when a published collection shows one of them."""
    if not may_see(actor, upload):
        raise PermissionDenied("these results belong to somebody else")
    with transaction.atomic():
        runs = upload.runs.filter(source=SuiteRun.Source.UPLOADED)
        n = runs.count()
        delete_runs(runs)
        upload.delete()
    return n
