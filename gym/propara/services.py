"""Use cases for answer sets and submissions. Functions that make changes take the acting user as `actor`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.dispatch import receiver
from django.utils import timezone

from gym.accounts.models import User
from gym.addresses import slug_from
from gym.jobs import services as jobs
from gym.jobs.conf import SHORT
from gym.jobs.models import Job
from gym.propara import permissions
from gym.propara.models import (
    RESERVED,
    AnswerSet,
    AnswerSetVersion,
    FormerSubmissionKey,
    PublishedResult,
    Submission,
)
from gym.propara.quotas import ANSWER_SETS, SUBMISSIONS
from gym.sharing import addresses
from gym.sharing.addresses import secret_address_given
from gym.sharing.models import Visibility
from gym.sharing.selectors import shared_by
from lmgym.propara.digest import digest
from lmgym.propara.published import PUBLISHED, TABLE, TABLE_LINK, Published, split_of
from lmgym.propara.report import EVALUATOR, Report, evaluate
from lmgym.propara.uploads import ReferenceAnswers, parse_upload, read_answers
from lmgym.text import count

ABOUT = ("title", "description", "licence", "reference", "visibility")
RESCORE = "propara_rescore"
SCORE_VERSION = "propara_score_version"
CHECKED_FOR = timedelta(days=1)
"""Age at which a checked, unsaved file expires. Expired files are deleted when the next file is checked."""
MAX_PUBLISHED = 200
"""Maximum number of published results per version."""


@dataclass(frozen=True)
class About:
    """Submission metadata."""

    system: str
    description: str = ""
    paper: str = ""
    link: str = ""
    visibility: str = Visibility.PRIVATE


def default_system(filename: str) -> str:
    """Return the default name for a submission: the file name without its extension."""
    return filename.rpartition(".")[0][:200] or filename[:200]


# --- answer sets ---


def create_answer_set(
    answers: bytes,
    sentences: bytes = b"",
    *,
    actor: User,
    title: str,
    slug: str = "",
    visibility: str = Visibility.PRIVATE,
    **about: str,
) -> AnswerSet:
    """Create an answer set with its first version. `about`: description, licence, reference.

    Raises ProParaError with all problems of the files, ValidationError, PermissionDenied and OverQuota.
    """
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to add reference answers")
    if visibility not in Visibility.values:
        raise ValidationError({"visibility": [f"Choose one of {', '.join(Visibility.values)}."]})
    parsed = read_answers(answers, sentences)
    with ANSWER_SETS.growing(actor, new=True):
        answer_set = AnswerSet(title=title, owner=actor, visibility=visibility, **about)
        answer_set.full_clean(exclude=["slug"])
        addresses.assign_slug(answer_set, _slug_of(slug or title))
        _add_version(answer_set, parsed, "")
    return answer_set


def add_version(
    answer_set: AnswerSet, answers: bytes, sentences: bytes = b"", *, actor: User, note: str = ""
) -> AnswerSetVersion:
    """Add a version. Submissions stay with the version on which they were scored. Raises ValidationError if
    the files equal the newest version's files, ProParaError with all problems of the files, PermissionDenied
    and OverQuota."""
    _require(permissions.can_edit(actor, answer_set))
    parsed = read_answers(answers, sentences)
    with ANSWER_SETS.growing(answer_set.owner, actor=actor):
        AnswerSet.objects.select_for_update().get(pk=answer_set.pk)
        _require_change(answer_set, parsed)
        version = _add_version(answer_set, parsed, note)
        answer_set.save(update_fields=["updated"])
    return version


def _require_change(answer_set: AnswerSet, parsed: ReferenceAnswers) -> None:
    newest = answer_set.versions.order_by("-number").first()
    if newest and (newest.answers, newest.sentences) == (parsed.text, parsed.sentences_text):
        files = "Both files are" if parsed.sentences_text else "The file is"
        raise ValidationError(
            f"{files} the same as in v{newest.number}. Upload a changed file to add a version."
        )


def edit_answer_set(answer_set: AnswerSet, *, actor: User, **fields: str) -> None:
    """Change title, description, licence or reference. Only the owner and staff can change the visibility. Raises
    ValidationError if the set would become private while other people's submissions depend on it."""
    _require(permissions.can_edit(actor, answer_set))
    if fields.get("visibility", answer_set.visibility) != answer_set.visibility:
        _require(permissions.can_manage(actor, answer_set))
    hides = fields.get("visibility") == Visibility.PRIVATE and answer_set.visibility != Visibility.PRIVATE
    if hides and (n := _count_of_others(answer_set)):
        raise ValidationError(
            "These reference answers cannot become private, because other people's submissions depend on them "
            f"(submissions: {n})."
        )
    was = answer_set.visibility
    for name in ABOUT:
        if name in fields:
            setattr(answer_set, name, fields[name])
    answer_set.full_clean()
    with ANSWER_SETS.growing(answer_set.owner, actor=actor):
        addresses.save_with_visibility(answer_set, was, [*ABOUT, "updated"])
        if "former_address_note" in fields:
            addresses.leave_note(answer_set, fields["former_address_note"])


def delete_answer_set(answer_set: AnswerSet, *, actor: User, note: str = "") -> None:
    """Delete an answer set with its versions, its owner's submissions and other people's unsaved ones. Raises
    ValidationError while other people's saved submissions depend on it, and PermissionDenied unless the actor is its
    owner or staff."""
    _require(permissions.can_manage(actor, answer_set))
    if n := _count_of_others(answer_set):
        raise ValidationError(
            "These reference answers cannot be deleted, because other people's submissions depend on them "
            f"(submissions: {n})."
        )
    with transaction.atomic():
        # Checked, unsaved submissions by other people do not prevent deletion.
        mine = Submission.objects.filter(version__answer_set=answer_set)
        mine.delete()
        answer_set.delete()
        addresses.leave_note_of_deleted(answer_set, note)


def _count_of_others(answer_set: AnswerSet) -> int:
    rows = Submission.objects.filter(version__answer_set=answer_set).exclude(state=Submission.State.CHECKED)
    return rows.exclude(owner=answer_set.owner_id).count()


def _add_version(answer_set: AnswerSet, parsed: ReferenceAnswers, note: str) -> AnswerSetVersion:
    last = answer_set.versions.aggregate(last=Max("number"))["last"] or 0
    return AnswerSetVersion.objects.create(
        answer_set=answer_set,
        number=last + 1,
        note=note,
        answers=parsed.text,
        sentences=parsed.sentences_text,
        sha256=sha256_of(parsed.text.encode()),
        sentences_sha256=sha256_of(parsed.sentences_text.encode()) if parsed.sentences_text else "",
        process_ids=list(parsed.grids),
        n_participants=parsed.n_participants,
        n_steps=parsed.n_steps,
        events=parsed.events,
        notices=list(parsed.notices),
    )


def _slug_of(text: str) -> str:
    base = slug_from(text, "answers")
    return f"{base}-answers" if base in RESERVED else base


@receiver(secret_address_given, sender=AnswerSet, dispatch_uid="gym.propara.keys")
def _new_keys(obj: AnswerSet, **kwargs: Any) -> None:
    """Renew the keys of a set's submissions together with its secret address, because their pages link to the set."""
    submissions = Submission.objects.filter(version__answer_set=obj)
    addresses.renew_keys(submissions.only("pk", "key"), FormerSubmissionKey)


# --- submissions ---


def submit(
    version: AnswerSetVersion, data: bytes, filename: str, about: About, *, actor: User, agreed: bool = False
) -> Submission:
    """Parse and score a file. A file that needs repairs is scored only if `agreed`; otherwise it waits for `agree`.

    Raises ProParaError with all problems, PermissionDenied or OverQuota, and then saves nothing.
    """
    with _new_submission(version, data, filename, about, actor) as submission:
        if submission.repairs and not agreed:
            submission.state = Submission.State.WAITING
            submission.save()
            return submission
        submission.agreed_at = timezone.now() if submission.repairs else None
        score(submission)
    return submission


def check_first(
    version: AnswerSetVersion, data: bytes, filename: str, about: About, *, actor: User
) -> Submission:
    """Score a file, repaired if necessary. The result is visible only to its owner and staff, and expires
    after CHECKED_FOR unless saved by `save_checked`. Raises ProParaError with all problems, PermissionDenied, and
    OverQuota.
    """
    _require(permissions.can_submit(actor, version.answer_set), "submit to these reference answers")
    drop_unsaved()
    with _new_submission(version, data, filename, about, actor) as submission:
        score(submission, checked=True)
    return submission


def drop_unsaved() -> int:
    """Delete checked, unsaved files older than CHECKED_FOR; return how many."""
    old = Submission.objects.filter(state=Submission.State.CHECKED, created__lt=timezone.now() - CHECKED_FOR)
    return old.delete()[1].get(Submission._meta.label, 0)


@contextmanager
def _new_submission(
    version: AnswerSetVersion, data: bytes, filename: str, about: About, actor: User
) -> Iterator[Submission]:
    """Build an unsaved submission within its owner's quota."""
    _require(permissions.can_submit(actor, version.answer_set), "submit to these reference answers")
    upload = parse_upload(data, version.answers, filename or "predictions")
    with SUBMISSIONS.growing(actor, new=True):
        submission = Submission(
            version=version,
            owner=actor,
            filename=filename[:200],
            file=data,
            file_sha256=sha256_of(data),
            kind=upload.kind,
            repairs=[item._asdict() for item in upload.repairs],
            samples=[{"text": item.text, "failures": list(item.failures)} for item in upload.samples],
        )
        describe(submission, about)
        yield submission


def save_checked(submission: Submission, *, actor: User) -> None:
    """Save a checked submission, thereby agreeing to its repairs."""
    _require(permissions.can_steer(actor, submission), "change this submission")
    with transaction.atomic():
        row = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
        if row.state != Submission.State.CHECKED:
            raise ValidationError("This submission is already saved.")
        row.agreed_at = timezone.now() if row.repairs else None
        row.created = timezone.now()
        if row.evaluator != EVALUATOR:
            score(row)
        else:
            row.state = _state_of(row.f1)
            row.save()
    submission.refresh_from_db()


def agree(submission: Submission, *, actor: User) -> None:
    """Agree to the repairs of a waiting submission and score it."""
    _require(permissions.can_steer(actor, submission), "change this submission")
    with transaction.atomic():
        row = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
        if row.state != Submission.State.WAITING:
            raise ValidationError("This submission is not waiting for agreement.")
        row.agreed_at = timezone.now()
        score(row)
    submission.refresh_from_db()


def edit_submission(submission: Submission, about: About, *, actor: User) -> None:
    """Change name, description, paper, link or visibility, but not the file."""
    _require(permissions.can_steer(actor, submission), "change this submission")
    was = submission.visibility
    describe(submission, about)
    with SUBMISSIONS.growing(submission.owner or actor, actor=actor):
        submission.save(update_fields=["system", "description", "paper", "link", "visibility"])
        if submission.visibility == Visibility.UNLISTED != was:
            addresses.renew_keys([submission], FormerSubmissionKey)


def delete_submission(submission: Submission, *, actor: User) -> None:
    _require(permissions.can_steer(actor, submission), "change this submission")
    submission.delete()


def score(submission: Submission, *, checked: bool = False) -> None:
    """Score all samples and save. Earlier scores move to the history. `checked`: visible only to the owner
    and staff."""
    version = submission.version
    reports: list[Report] = []
    samples = []
    for k, sample in enumerate(submission.samples):
        report = evaluate(version.answers, sample["text"], version.sentences or None)
        reports += [report] if k == 0 else []
        numbers = {"precision": report.precision, "recall": report.recall, "f1": report.f1}
        samples.append(
            {
                "text": sample["text"],
                "failures": sample["failures"],
                **numbers,
                "corrected_f1": report.corrected.f1,
            }
        )
    if submission.scored_at:
        submission.history = [
            *submission.history,
            {
                "evaluator": submission.evaluator,
                "scored_at": submission.scored_at.isoformat(),
                **{key: (submission.reference or {}).get(key) for key in ("precision", "recall", "f1")},
            },
        ]
    submission.samples = samples
    submission.n_samples = len(samples)
    submission.report = digest(reports[0])
    submission.f1 = reports[0].f1
    submission.evaluator = EVALUATOR
    submission.scored_at = timezone.now()
    submission.state = Submission.State.CHECKED if checked else _state_of(submission.f1)
    submission.save()


def _state_of(f1: float | None) -> str:
    return Submission.State.UNSCORABLE if f1 is None else Submission.State.SCORED


def describe(submission: Submission, about: About) -> None:
    """Set and validate the metadata of a submission without saving it."""
    for name, value in vars(about).items():
        setattr(submission, name, value)
    submission.clean_fields(exclude=["file", "samples", "repairs", "report", "history", "state"])


def _require(allowed: bool, action: str = "change these reference answers") -> None:
    if not allowed:
        raise PermissionDenied(f"you may not {action}")


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- new versions of reference answers ---


def on_other_versions(submission: Submission) -> QuerySet[Submission]:
    """Return submissions of the same file to other versions of the reference answers."""
    root = submission.rescored_from_id or submission.pk
    rows = Submission.objects.filter(Q(pk=root) | Q(rescored_from=root))
    return rows.exclude(pk=submission.pk).order_by("version__number")


def unscored_on(version: AnswerSetVersion) -> QuerySet[Submission]:
    """Return scored submissions to other versions that can still be scored on this version. Copies created by scoring a
    file on another version are left out."""
    return _on_other_versions_only(version).exclude(does_not_fit__has_key=str(version.number))


def incompatible(version: AnswerSetVersion) -> dict[str, list[Submission]]:
    """Return submissions to other versions that cannot be scored on this version, by reason."""
    key = str(version.number)
    by_reason: dict[str, list[Submission]] = {}
    rows = _on_other_versions_only(version).filter(does_not_fit__has_key=key).select_related(None)
    for row in rows.only("system", "does_not_fit").order_by("pk"):
        by_reason.setdefault(row.does_not_fit[key], []).append(row)
    return by_reason


def note_incompatible(submission: Submission, version: AnswerSetVersion, reason: str) -> None:
    """Store why a submission cannot be scored on a version. This is final, because files and versions never change."""
    submission.does_not_fit = submission.does_not_fit | {str(version.number): reason}
    submission.save(update_fields=["does_not_fit"])


def _on_other_versions_only(version: AnswerSetVersion) -> QuerySet[Submission]:
    on_version = Submission.objects.filter(version=version)
    rows = Submission.objects.filter(version__answer_set=version.answer_set_id, rescored_from=None)
    rows = rows.filter(state__in=[Submission.State.SCORED, Submission.State.UNSCORABLE])
    same_file = on_version.filter(owner=OuterRef("owner"), file_sha256=OuterRef("file_sha256"))
    rows = rows.exclude(version=version).exclude(Exists(on_version.filter(rescored_from=OuterRef("pk"))))
    return rows.exclude(Exists(same_file)).select_related("owner", "version__answer_set")


def score_on_version(submission: Submission, version: AnswerSetVersion, *, actor: User) -> Submission:
    """Score a submission's file on another version of its reference answers, as a new submission to that version. The
    original keeps its scores.

    Raises ProParaError if the file does not fit the version, ValidationError, PermissionDenied, and OverQuota.
    """
    may_rescore = permissions.can_steer(actor, submission) or permissions.can_edit(actor, version.answer_set)
    _require(may_rescore, "score this submission again")
    if not submission.is_scored:
        raise ValidationError("Only a scored submission can be scored on another version.")
    if version.answer_set_id != submission.version.answer_set_id:
        raise ValidationError("This version belongs to other reference answers.")
    root = submission.rescored_from or submission
    if version.pk == root.version_id or root.rescored.filter(version=version).exists():
        raise ValidationError(f"This submission is already scored on v{version.number}.")
    upload = parse_upload(bytes(submission.file), version.answers, submission.filename or "predictions")
    made = Submission(
        version=version,
        owner=submission.owner,
        rescored_from=root,
        kind=upload.kind,
        repairs=[item._asdict() for item in upload.repairs],
        agreed_at=submission.agreed_at if upload.repairs else None,
        samples=[{"text": item.text, "failures": list(item.failures)} for item in upload.samples],
        **{name: getattr(submission, name) for name in _SAME_FILE},
    )
    quota = (
        SUBMISSIONS.growing(submission.owner, actor=actor, new=True) if submission.owner else nullcontext()
    )
    with transaction.atomic(), quota:
        if upload.repairs and made.agreed_at is None:
            made.state = Submission.State.WAITING
            made.save()
        else:
            score(made)
    return made


_SAME_FILE = (
    "system", "description", "paper", "link", "visibility", "filename", "file", "file_sha256",
)  # fmt: skip


def queue_scoring_on(version: AnswerSetVersion, *, actor: User) -> Job | None:
    """Queue a job that scores `unscored_on(version)`. Return None if there are none."""
    _require(permissions.can_edit(actor, version.answer_set))
    n = unscored_on(version).count()
    if not n:
        return None
    title = f"{version}: score {count(n, 'earlier submission')}"
    payload = {"version": version.pk}
    return jobs.enqueue(SCORE_VERSION, payload, owner=actor, queue=SHORT, title=title, total=n)


# --- published results ---


def add_published(version: AnswerSetVersion, *, actor: User, **fields: Any) -> PublishedResult:
    """Add a paper's result to the leaderboard. `fields`: system, precision, recall, f1 (0 to 1), citation, link."""
    _require(permissions.can_edit(actor, version.answer_set))
    with ANSWER_SETS.growing(version.answer_set.owner, actor=actor):
        if version.published.count() >= MAX_PUBLISHED:
            raise ValidationError(f"A version can have at most {MAX_PUBLISHED} published results.")
        row = PublishedResult(version=version, **fields)
        row.full_clean()
        row.save()
    return row


def edit_published(row: PublishedResult, *, actor: User, **fields: Any) -> None:
    _require(permissions.can_edit(actor, row.version.answer_set))
    for name, value in fields.items():
        setattr(row, name, value)
    row.full_clean()
    with ANSWER_SETS.growing(row.version.answer_set.owner, actor=actor):
        row.save()


def delete_published(row: PublishedResult, *, actor: User) -> None:
    _require(permissions.can_edit(actor, row.version.answer_set))
    row.delete()


def is_official_test(version: AnswerSetVersion) -> bool:
    """Return True if the version has the size of the official test split."""
    return split_of(version.n_processes, version.n_participants, version.n_steps) == "test"


def unlisted_published_results(version: AnswerSetVersion) -> list[Published]:
    """Return published results on the official test split that are not listed yet; empty for other versions."""
    if not is_official_test(version):
        return []
    present = set(version.published.filter(citation=TABLE).values_list("system", flat=True))
    return [published for published in PUBLISHED if published.system not in present]


def add_known_published(version: AnswerSetVersion, *, actor: User) -> int:
    """Add missing published results on the official test split and return their number."""
    _require(permissions.can_edit(actor, version.answer_set))
    if not is_official_test(version):
        raise ValidationError("These results are for the official test split of 54 processes.")
    with ANSWER_SETS.growing(version.answer_set.owner, actor=actor):
        rows = [
            PublishedResult(version=version, citation=TABLE, link=TABLE_LINK, **published._asdict())
            for published in unlisted_published_results(version)
        ]
        PublishedResult.objects.bulk_create(rows)
    return len(rows)


# --- after changes to the evaluator ---


def outdated() -> Any:
    """Return submissions scored by a different version of the evaluator."""
    scored = [Submission.State.SCORED, Submission.State.UNSCORABLE]
    return Submission.objects.filter(state__in=scored).exclude(evaluator=EVALUATOR)


def queue_rescore(*, actor: User) -> Job | None:
    """Queue a job that rescores `outdated()`; return None if there are none. Only for staff."""
    if not (actor.is_authenticated and actor.is_staff):
        raise PermissionDenied("only staff may score everything again")
    n = outdated().count()
    if not n:
        return None
    return jobs.enqueue(
        RESCORE, {}, owner=actor, title=f"ProPara: score {count(n, 'submission')} again", total=n
    )


# --- deleted accounts ---


def kept_sets(user: User) -> Any:
    """Return the user's sets on which others depend: public sets, and sets with collaborators or other people's saved
    submissions."""
    mine = AnswerSet.objects.filter(owner=user)
    rows = Submission.objects.exclude(owner=user).exclude(state=Submission.State.CHECKED)
    others = rows.values("version__answer_set")
    return mine.filter(Q(visibility=Visibility.PUBLIC) | Q(pk__in=others) | shared_by(user, AnswerSet))


def doomed_sets(user: User) -> Any:
    return AnswerSet.objects.filter(owner=user).exclude(pk__in=kept_sets(user).values("pk"))


def doomed_submissions(user: User) -> Any:
    """Return submissions to delete with the account: submissions visible only to their owner and staff, and
    submissions to answer sets that are also deleted."""
    waiting = [Submission.State.WAITING, Submission.State.CHECKED]
    hidden = Q(visibility=Visibility.PRIVATE) | Q(state__in=waiting)
    gone = Q(version__answer_set__in=doomed_sets(user).values("pk"))
    return Submission.objects.filter(hidden | gone, owner=user)


def delete_or_hand_over(user: User, heir: User) -> None:
    """Delete or hand over the answer sets and submissions of a deleted account. Call inside a transaction.

    Sets on which others depend (see `kept_sets`) go to `heir`; the user's other sets are deleted with their
    submissions. Submissions that only the user and staff could see are deleted too; the remaining ones lose their
    owner when the account is deleted.
    """
    kept = list(kept_sets(user).values_list("pk", flat=True))
    doomed = list(doomed_sets(user).values_list("pk", flat=True))
    Submission.objects.filter(pk__in=list(doomed_submissions(user).values_list("pk", flat=True))).delete()
    Submission.objects.filter(version__answer_set__in=doomed, state=Submission.State.CHECKED).delete()
    AnswerSet.objects.filter(pk__in=doomed).delete()
    AnswerSet.objects.filter(pk__in=kept).update(owner=heir)
