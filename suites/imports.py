"""Use cases of importing: several files or an archive of them in one go, and what became of each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.utils import timezone

from gym.accounts.models import User
from gym.accounts.quotas import OverQuota
from gym.sharing.models import Visibility
from lmgym.suites.formats import SuiteDocument, inherit
from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.archives import GivenFile
from lmgym.suites.intake.parsing import NOTHING, ParseOptions, ParseResult
from lmgym.suites.intake.sheets import shape
from lmgym.text import count
from lmgym.text.problems import FormatError, Problem
from suites import services
from suites.models import KEEP_IMPORTS, ImportedFile, Suite, SuiteImport, SuiteRevision
from suites.quotas import SUITES
from suites.selectors import document_of, listed_for, revisions_for

SECONDS = 60
"""Of reading and saving; what is left then is said to be left."""
_SAME_NAME = 5
"""Drafts of one name that are compared with a file."""


@dataclass(frozen=True)
class ImportOptions:
    """What holds for all suites of an import. `again`: also of files whose content is here already.
    `version`: of the draft that a file replaces, as the person saw it. `freeze`, `models`: what gym.pages does with the
    suites then; files that ask first get it when they are answered."""

    visibility: str = Visibility.PRIVATE
    tags: tuple[str, ...] = ()
    join_policy: str = "space"
    metric: str = ""
    title: str = ""
    again: bool = False
    version: str = ""
    language: str = ""
    freeze: bool = False
    models: tuple[str, ...] = ()


def import_files(
    files: Sequence[GivenFile], wishes: ImportOptions, *, actor: User, target: Suite | None = None
) -> SuiteImport:
    """Every file becomes a suite of its own (or the draft of `target`), asks, or says why not: one file does not stop
    the others."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to import a suite")
    SuiteImport.objects.filter(created__lt=timezone.now() - KEEP_IMPORTS).delete()
    batch = SuiteImport.objects.create(owner=actor, options=asdict(wishes), target=target)
    begun = time.thread_time()
    for position, file in enumerate(files):
        row = ImportedFile(batch=batch, position=position, name=file.name[-200:])
        if time.thread_time() - begun > SECONDS:
            _refuse(row, "There was no time left to read it. Import it by itself.")
        else:
            _bring_in(row, file, NOTHING, actor)
    return batch


def answer(row: ImportedFile, answers: ParseOptions, *, actor: User) -> None:
    """Read a file again that asked, with these answers added to those before."""
    given = asdict(answers)
    row.answers = row.answers | {name: value for name, value in given.items() if value}
    _bring_in(row, GivenFile(row.name, bytes(row.data)), ParseOptions(**row.answers), actor)


def reading_of(row: ImportedFile) -> ParseResult:
    """A file that asks, as it reads with the answers so far."""
    return parse_upload(bytes(row.data), row.name, ParseOptions(**row.answers), _known(row.batch))


def known_names(batch: SuiteImport) -> dict[str, Sequence[str]]:
    """Conditions and regions of the suite that the files are for."""
    known = _known(batch)
    return {"conditions": known.conditions, "regions": known.region_names} if known else {}


def _known(batch: SuiteImport) -> SuiteDocument | None:
    """The suite whose names the file should have."""
    newest = batch.target and batch.target.revisions.order_by("-number").first()
    return document_of(newest) if newest else None


def _bring_in(row: ImportedFile, file: GivenFile, answers: ParseOptions, actor: User) -> None:
    """One file of an import; `row` is saved and says what became of it."""
    reading = ParseResult("file", problems=[Problem("file", file.problem)]) if file.problem else None
    reading = reading or parse_upload(file.data, file.name, answers, _known(row.batch))
    if reading.document is not None:
        _settle(row, reading.document, actor)
    elif reading.asks or row.answers:
        _wait(row, file, reading)
    else:
        _refuse(row, f"{count(len(reading.problems), 'problem')}.", reading.problems)


def _wait(row: ImportedFile, file: GivenFile, reading: ParseResult) -> None:
    """Keep the file until the person has answered."""
    row.state, row.data = ImportedFile.State.ASKS, file.data
    row.report = {"problems": [asdict(problem) for problem in reading.problems]}
    try:
        with SUITES.growing(row.batch.owner):
            row.save()
    except OverQuota as error:
        row.data = b""
        _refuse(row, " ".join(error.messages))


def _settle(row: ImportedFile, document: SuiteDocument, actor: User) -> None:
    """The document becomes a suite, or the draft it was meant for, unless it is there already."""
    wishes, target = ImportOptions(**row.batch.options), row.batch.target
    row.data = b""
    if target is None:
        document = services.with_metric(document, wishes.metric)
    there = None if wishes.again or target else says_the_same(document, actor)
    if there is not None:
        row.state, row.suite = ImportedFile.State.THERE, there.suite
        row.report = {"text": f"r{there.number} says the same: {shape(document)}."}
        row.save()
        return
    try:
        row.suite = _replaced(target, document, wishes, actor) if target else _made(document, wishes, actor)
    except FormatError as error:
        _refuse(row, "It does not fit the suite.", error.problems)
        return
    except ValidationError as error:
        _refuse(row, " ".join(error.messages))
        return
    row.state = ImportedFile.State.MADE
    row.report = {
        "text": f"{shape(document)}, {count(len(document.predictions), 'prediction')}.",
        "notices": [str(notice) for notice in document.notices],
    }
    row.save()


def _made(document: SuiteDocument, wishes: ImportOptions, actor: User) -> Suite:
    return services.import_suite(
        document,
        actor=actor,
        title=wishes.title,
        visibility=wishes.visibility,
        tags=wishes.tags,
        join_policy=wishes.join_policy,
        language=wishes.language,
    )


def _replaced(suite: Suite, document: SuiteDocument, wishes: ImportOptions, actor: User) -> Suite:
    draft = suite.draft
    if wishes.version != (str(draft.edits) if draft else ""):
        raise ValidationError(STALE)
    newest = suite.revisions.order_by("-number").first()
    if newest and document.is_table:
        document = inherit(document, document_of(newest))
    services.replace_draft(suite, document, actor=actor, join_policy=wishes.join_policy, metric=wishes.metric)
    return suite


STALE = (
    "Somebody changed the draft since you opened this page; nothing was saved. Look at the draft, and upload the file "
    "again to replace what they changed."
)


def _refuse(row: ImportedFile, text: str, problems: Sequence[Problem] = ()) -> None:
    row.state = ImportedFile.State.REFUSED
    row.report = {"text": text, "problems": [asdict(problem) for problem in problems]}
    row.save()


def says_the_same(document: SuiteDocument, user: User) -> SuiteRevision | None:
    """A revision in this user's lists with the same sentences, predictions and metrics: their own before others',
    frozen ones before drafts."""
    digest = document.sha256()
    frozen = (
        revisions_for(user).filter(sha256=digest, suite__in=listed_for(user)).select_related("suite__owner")
    )
    found = sorted(frozen, key=lambda row: (row.suite.owner_id != user.pk, row.pk))
    if found:
        return found[0]
    drafts = SuiteRevision.objects.filter(
        state=SuiteRevision.State.DRAFT, suite__owner=user, name=document.name[:200]
    )
    for draft in drafts.select_related("suite__owner").order_by("pk")[:_SAME_NAME]:
        if document_of(draft).sha256() == digest:
            return draft
    return None


def suites_of(batch: SuiteImport) -> list[Suite]:
    """Suites that the files became or were already, each once, in the order of the files."""
    rows = batch.files.filter(suite__isnull=False).select_related("suite__owner").order_by("position")
    return list({row.suite_id: row.suite for row in rows if row.suite}.values())


def keep_said(batch: SuiteImport, said: dict[int, list[dict[str, Any]]]) -> None:
    """Add to the report what was done with the suites afterwards: pk of a suite -> rows."""
    with SUITES.growing(batch.owner):
        for row in batch.files.filter(suite__in=list(said)):
            assert row.suite_id is not None
            row.report["said"] = [*row.report.get("said", []), *said[row.suite_id]]
            row.save(update_fields=["report"])
