"""Use cases for imports: several files, or archives of them, in one batch with a report for each file.

The bytes and parse result of a file with open questions are stored, and `answer` parses it again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.utils import timezone

from gym.accounts.models import User
from gym.accounts.quotas import OverQuota
from gym.conflicts import Conflict
from lmgym.suites.formats import SuiteDocument, next_version
from lmgym.suites.formats.tables import UNTITLED
from lmgym.suites.intake import ENCODINGS, parse_upload
from lmgym.suites.intake.archives import SourceFile
from lmgym.suites.intake.parsing import NOTHING, Choice, Column, ParseOptions, ParseResult
from lmgym.suites.intake.sheets import shape
from lmgym.text import count
from lmgym.text.problems import FormatError, Problem
from suites import services
from suites.models import KEEP_IMPORTS, ImportedFile, Suite, SuiteImport, SuiteRevision
from suites.options import ImportOptions
from suites.quotas import SUITES
from suites.selectors import document_of, listed_for, revisions_for

SECONDS = 60
"""Maximum CPU time of one batch; files that are left after it are refused."""
_LOOKED_AT = 50
"""Number of the user's last answered files whose answers may be proposed for another one."""
_SAME_NAME = 5
"""Maximum number of drafts with the same name that are compared with a file."""


def import_files(
    files: Sequence[SourceFile], options: ImportOptions, *, actor: User, target: Suite | None = None
) -> SuiteImport:
    """Import each file as a separate suite, or as the draft of `target`. A file that is refused or has open questions
    does not stop the others. Imports older than KEEP_IMPORTS are deleted."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to import a suite")
    drop_old()
    batch = SuiteImport.objects.create(owner=actor, options=asdict(options), target=target)
    start = time.thread_time()
    for position, file in enumerate(files):
        row = ImportedFile(batch=batch, position=position, name=file.name[-200:])
        if time.thread_time() - start > SECONDS:
            _refuse(row, "The import ran out of time before this file. Import it separately.")
        else:
            _import_file(row, file, NOTHING, actor)
    return batch


def answer(row: ImportedFile, answers: ParseOptions, *, actor: User) -> list[ImportedFile]:
    """Parse a file with open questions again, with these answers added to the earlier ones.

    If no questions remain, the same answers are given for the other files of the batch with the same headings that wait
    for their first answer.

    Returns:
        The files that were parsed again.

    Raises:
        Conflict: another request has answered all questions about the file.
    """
    headings = _headings(row)
    row.answers = _merged(row.answers, answers)
    if not _import_waiting(row, actor):
        raise Conflict(ANSWERED)
    if row.state == ImportedFile.State.ASKS or not headings:
        return [row]
    waiting = row.batch.files.filter(state=ImportedFile.State.ASKS).exclude(pk=row.pk).order_by("position")
    alike = [other for other in waiting if not other.answers and _headings(other) == headings]
    start = time.thread_time()
    answered = [row]
    for other in alike:
        if time.thread_time() - start > SECONDS:
            break
        other.batch = row.batch
        other.answers = dict(row.answers)
        if _import_waiting(other, actor):
            answered.append(other)
    row.report["headings"] = headings  # for the next file of the kind
    row.save(update_fields=["report"])
    return answered


def _import_waiting(row: ImportedFile, actor: User) -> bool:
    """Parse a waiting file with its answers, and save the outcome unless another request has done so since `row` was
    read. Return whether it was saved."""
    file = SourceFile(row.name, bytes(row.data))
    parsed = _parse(
        row.batch, file, ParseOptions(**row.answers)
    )  # can take seconds, so not in the transaction
    with transaction.atomic():
        waiting = ImportedFile.objects.filter(pk=row.pk, state=ImportedFile.State.ASKS)
        if not waiting.update(answers=row.answers):  # locks the row
            return False
        _save_outcome(row, file, parsed, actor)
    return True


ANSWERED = "This file has no open questions."


def _merged(before: dict[str, Any], answers: ParseOptions) -> dict[str, Any]:
    return before | {name: value for name, value in asdict(answers).items() if value}


def preview(row: ImportedFile, answers: ParseOptions) -> ParseResult:
    """Parse a file with open questions with these answers added to the earlier ones. Nothing is saved."""
    options = ParseOptions(**_merged(row.answers, answers))
    return _parse(row.batch, SourceFile(row.name, bytes(row.data)), options)


def _headings(row: ImportedFile) -> list[str]:
    """Return the headings of a waiting file, by which files of the same kind are recognised; [] if it has none."""
    headings = [column["header"] for column in row.report.get("reading", {}).get("columns", ())]
    return headings if any(headings) else []


def proposed_answers(row: ImportedFile) -> ParseOptions:
    """Return the answers so far for a waiting file, else those for the user's last file with the same headings."""
    if row.answers or not (headings := _headings(row)):
        return ParseOptions(**row.answers)
    answered = ImportedFile.objects.filter(batch__owner=row.batch.owner, state=ImportedFile.State.MADE)
    for earlier in answered.exclude(answers={}).order_by("-pk")[:_LOOKED_AT]:
        if earlier.report.get("headings") == headings:
            return ParseOptions(**earlier.answers)
    return NOTHING


def stored_result(row: ImportedFile) -> ParseResult:
    """Return the stored parse result of a file with open questions (see `_await_answers`), without parsing it again."""
    stored = row.report["reading"]
    columns = [Column(**column) for column in stored["columns"]]
    problems = [Problem(**problem) for problem in row.report["problems"]]
    choices = [Choice(**choice) for choice in stored.get("choices", [])]
    # PostgreSQL sorts the keys of stored JSON, and the first encoding is the proposed one.
    encodings = {name: stored["encodings"][name] for name in ENCODINGS if name in stored["encodings"]}
    restored = {
        "columns": columns,
        "choices": choices,
        "problems": problems,
        "asks": tuple(stored["asks"]),
        "encodings": encodings,
    }
    return ParseResult(**stored | restored)


def known_names(batch: SuiteImport) -> dict[str, Sequence[str]]:
    """Return the names of conditions and regions of the target suite; empty without a target."""
    newest = _newest(batch)
    return {"conditions": newest.condition_names, "regions": newest.region_names} if newest else {}


def _newest(batch: SuiteImport) -> SuiteRevision | None:
    return batch.target.revisions.order_by("-number").first() if batch.target else None


def _parse(batch: SuiteImport, file: SourceFile, answers: ParseOptions) -> ParseResult:
    newest = _newest(batch)
    return parse_upload(file.data, file.name, answers, document_of(newest) if newest else None)


def _import_file(row: ImportedFile, file: SourceFile, answers: ParseOptions, actor: User) -> None:
    """Import one file and save `row` with the outcome."""
    if file.problem:
        parsed = ParseResult("file", problems=[Problem("file", file.problem)])
    else:
        parsed = _parse(row.batch, file, answers)
    _save_outcome(row, file, parsed, actor)


def _save_outcome(row: ImportedFile, file: SourceFile, parsed: ParseResult, actor: User) -> None:
    if parsed.document is not None:
        _store(row, parsed, actor)
    elif parsed.asks or row.answers:
        _await_answers(row, file, parsed)
    else:
        _refuse(row, f"{count(len(parsed.problems), 'problem')}.", parsed.problems)


def _await_answers(row: ImportedFile, file: SourceFile, parsed: ParseResult) -> None:
    """Store the file and its parse result until the user has answered."""
    row.state, row.data = ImportedFile.State.ASKS, file.data
    stored = asdict(replace(parsed, document=None, part=None))
    row.report = {"problems": stored.pop("problems"), "reading": stored}
    try:
        with SUITES.growing(row.batch.owner):
            row.save()
    except OverQuota as error:
        row.data = b""
        _refuse(row, " ".join(error.messages))


def _store(row: ImportedFile, parsed: ParseResult, actor: User) -> None:
    """Save the document as a new suite, or as the draft of the target, unless an identical suite exists."""
    document = parsed.document
    assert document is not None
    options, target = ImportOptions(**row.batch.options), row.batch.target
    row.data = b""
    if target is None:
        document = services.with_metric(document, options.metric)
    identical = None if options.again or target else identical_revision(document, actor)
    if identical is not None:
        row.state, row.suite = ImportedFile.State.THERE, identical.suite
        row.report = {"text": f"identical to r{identical.number}: {shape(document)}."}
        row.save()
        return
    try:
        row.suite = (
            _replaced(target, document, options, actor)
            if target
            else services.import_suite(document, options, actor=actor)
        )
    except FormatError as error:
        _refuse(row, "The file does not match the suite.", error.problems)
        return
    except ValidationError as error:
        _refuse(row, " ".join(error.messages))
        return
    row.state = ImportedFile.State.MADE
    row.report = {
        "text": f"{shape(document)}, {count(len(document.predictions), 'prediction')}.",
        "notices": [line for line in parsed.understood if not (options.title and UNTITLED in line)],
    }
    row.save()


def _replaced(suite: Suite, document: SuiteDocument, options: ImportOptions, actor: User) -> Suite:
    draft = suite.draft
    if options.version != (str(draft.edits) if draft else ""):
        raise ValidationError(STALE)
    newest = suite.revisions.order_by("-number").first()
    if newest:
        document = next_version(document, document_of(newest))
    services.replace_draft(
        suite, document, actor=actor, join_policy=options.join_policy, metric=options.metric
    )
    return suite


STALE = (
    "Another editor changed the draft since you opened this page. Nothing was saved. Check the draft, and upload the "
    "file again to replace it."
)


def _refuse(row: ImportedFile, text: str, problems: Sequence[Problem] = ()) -> None:
    row.state = ImportedFile.State.REFUSED
    row.report = {"text": text, "problems": [asdict(problem) for problem in problems]}
    row.save()


def identical_revision(document: SuiteDocument, user: User) -> SuiteRevision | None:
    """Return a revision with the same sentences, predictions and metrics, or None: a frozen one in this
    user's lists, preferably their own, else one of their own drafts with the same name."""
    digest = document.sha256()
    frozen = (
        revisions_for(user).filter(sha256=digest, suite__in=listed_for(user)).select_related("suite__owner")
    )
    matches = sorted(frozen, key=lambda row: (row.suite.owner_id != user.pk, row.pk))
    if matches:
        return matches[0]
    drafts = SuiteRevision.objects.filter(
        state=SuiteRevision.State.DRAFT, suite__owner=user, name=document.name[:200]
    )
    for draft in drafts.select_related("suite__owner").order_by("pk")[:_SAME_NAME]:
        if document_of(draft).sha256() == digest:
            return draft
    return None


def suites_of(batch: SuiteImport) -> list[Suite]:
    """List the suites that the files became or are identical to, without repetition, in file order."""
    rows = batch.files.filter(suite__isnull=False).select_related("suite__owner").order_by("position")
    return list({row.suite_id: row.suite for row in rows if row.suite}.values())


def keep_results(batch: SuiteImport, results: dict[int, list[dict[str, Any]]]) -> None:
    """Append results of bulk actions that followed an import to its report. `results`: pk of a suite -> rows
    of BulkResult."""
    with SUITES.growing(batch.owner):
        for row in batch.files.filter(suite__in=list(results)):
            assert row.suite_id is not None
            row.report["results"] = [*row.report.get("results", []), *results[row.suite_id]]
            row.save(update_fields=["report"])


def drop_old() -> int:
    """Delete imports older than KEEP_IMPORTS; return how many."""
    old = SuiteImport.objects.filter(created__lt=timezone.now() - KEEP_IMPORTS)
    return old.delete()[1].get(SuiteImport._meta.label, 0)
