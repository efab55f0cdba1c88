"""Use cases for human data: import a file, change details and exclusions, publish, delete, and compare with models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.utils import timezone
from numpy.typing import NDArray

from gym.accounts.models import User
from gym.addresses import at_free_slug, slug_from
from gym.jobs import services as jobs
from gym.jobs.conf import SHORT
from gym.people import permissions, reading
from gym.people.comparing import STEPS
from gym.people.models import KEEP_IMPORTS, HumanData, HumanDataImport, PeopleComparison
from gym.people.quotas import HUMAN_DATA
from gym.people.results import evaluated
from gym.people.selectors import comparable_runs
from gym.people.signals import data_leaving
from gym.people.storage import anonymous, load, packed, write_pieces
from gym.runs.models import SuiteRun
from gym.sharing.models import Visibility
from lmgym.people.exclusions import NO_EXCLUSIONS, Exclusions
from lmgym.people.intake import Imported
from lmgym.people.observations import Observations
from lmgym.text.problems import InvalidArgument
from suites import permissions as suite_permissions
from suites.models import SuiteRevision
from suites.selectors import document_of

IMPORT = "human_data_import"
RECOMPUTE = "human_data_result"
COMPARE = "people_comparison"
MAX_BYTES = 50_000_000
"""Maximum bytes of an uploaded file."""
LIVE_BYTES = 10_000_000
"""Files up to this size are read in the web process (0.5 s), so that their page shows at once how they are read."""
COMPRESSION = 20
"""Compressed files are taken to be so many times as large when unpacked: 8.9 MB of gzip took 16.8 s."""
COMPRESSED = (b"\x1f\x8b", b"PK", b"PAR1")
"""First bytes of gzip, workbooks and Parquet."""
MAX_ANSWERS = 600
MAX_MODELS = 20
CARD = ("title", "description", "licence", "author", "reference", "bibtex")
RESERVED_SLUGS = frozenset({"new", "import", "imports"})


# --- import ---


def upload(
    revision: SuiteRevision,
    data: bytes,
    filename: str,
    *,
    actor: User,
    title: str = "",
    answers: Mapping[str, str] | None = None,
    is_final: bool = False,
) -> HumanDataImport:
    """Store a file and read it, at once if it is small, else in a job, which also imports it if `is_final`. `revision`
    must be frozen and visible to the actor. Raises ValidationError, also if the quota is exceeded, and LimitReached."""
    if not suite_permissions.can_run(actor, revision.suite):
        raise PermissionDenied("sign in to add human data")
    if not revision.is_frozen:
        raise ValidationError("Freeze the draft first: human data belong to a frozen revision.")
    drop_old()
    with HUMAN_DATA.growing(actor, new=True):
        row = HumanDataImport.objects.create(
            owner=actor,
            revision=revision,
            title=(title.strip() or filename.rpartition(".")[0] or filename)[:200],
            filename=filename[-200:],
            size=len(data),
            is_live=is_live(data),
            answers=cleaned_answers(answers or {}),
        )
        write_pieces(row.pieces, data)
    if row.is_live:
        read(row)
    else:
        _queue(row, is_final=is_final)
    return row


def is_live(data: bytes) -> bool:
    """Return whether a file is small enough to be read in the web process."""
    return len(data) * (COMPRESSION if data.startswith(COMPRESSED) else 1) <= LIVE_BYTES


def read(row: HumanDataImport) -> Imported:
    """Read the file with the answers so far, and store its questions and problems."""
    imported = reading.parse(row, row.answers)
    row.reading = reading.reading_of(imported)
    row.save(update_fields=["reading"])
    return imported


def answer(row: HumanDataImport, answers: Mapping[str, str], *, actor: User) -> HumanDataImport:
    """Add answers to the earlier ones, and queue the import. Raises LimitReached, and ValidationError if the file is
    being read or was imported."""
    if row.owner_id != actor.pk:
        raise PermissionDenied("only the account that uploaded a file may import it")
    with transaction.atomic():
        locked = HumanDataImport.objects.select_for_update(of=("self",)).select_related("job").get(pk=row.pk)
        if locked.is_busy or locked.made_id:
            raise ValidationError("This file is being read, or was imported already.")
        row.answers = cleaned_answers({**locked.answers, **answers})
        row.save(update_fields=["answers"])
        _queue(row, is_final=True)
    return row


def cleaned_answers(answers: Mapping[str, str]) -> dict[str, str]:
    """Drop empty answers, and limit the others. Names that no question has are ignored by the reader."""
    kept = {str(name)[:300]: str(value)[:300] for name, value in answers.items() if value}
    return dict(list(kept.items())[:MAX_ANSWERS])


def discard(row: HumanDataImport, *, actor: User) -> None:
    """Delete an uploaded file. Raises PermissionDenied."""
    if row.owner_id != actor.pk:
        raise PermissionDenied("only the account that uploaded a file may delete it")
    jobs.stop(row.job, actor=actor)
    row.delete()


def _queue(row: HumanDataImport, *, is_final: bool) -> None:
    row.job = jobs.enqueue(
        IMPORT,
        {"import": row.pk, "is_final": is_final},
        owner=row.owner,
        queue=SHORT,
        title=f"{'Import' if is_final else 'Read'} {row.filename}",
        total=3,
    )
    row.save(update_fields=["job"])


def prepare(row: HumanDataImport, imported: Imported) -> tuple[HumanData, bytes]:
    """Return the unsaved data set of a file that was read, with its packed columns."""
    matched = imported.matched
    assert matched is not None
    assert matched.observations is not None
    data, columns = new_data_set(row.revision, row.owner, row.title, matched.observations, matched.accuracy)
    data.provenance = {
        **matched.provenance,
        "left_out": dict(matched.left_out),
        "n_mismatches": matched.n_mismatches,
        "notices": [reading.in_words(notice) for notice in imported.notices],
    }
    data.demographics = _counted_demographics(imported)
    return data, columns


def new_data_set(
    revision: SuiteRevision,
    owner: User,
    title: str,
    observations: Observations,
    accuracy: NDArray[np.float64],
) -> tuple[HumanData, bytes]:
    """Return an unsaved data set of anonymous observations with their result, and its packed columns."""
    observations, accuracy = anonymous(observations, accuracy)
    columns, measure = packed(observations, accuracy), observations.measure
    data = HumanData(
        title=title,
        revision=revision,
        owner=owner,
        measure=measure.name[:80],
        kind=measure.kind,
        scale=list(measure.scale) if measure.scale else None,
        n_observations=len(observations),
        n_participants=len(observations.participants),
        n_items=len(set(observations.item.tolist())),
        size=len(columns),
        exclusions=asdict(NO_EXCLUSIONS),
        result=evaluated(observations, accuracy, document_of(revision), NO_EXCLUSIONS),
    )
    return data, columns


def save(data: HumanData, columns: bytes) -> HumanData:
    """Save a new data set under a free address. Call in the transaction that completes its import. Raises OverQuota."""

    def insert(slug: str) -> HumanData:
        data.slug, data.pk = slug, None
        data.save()
        return data

    base = slug_from(data.title, "human-data")
    with HUMAN_DATA.growing(data.owner, new=True):
        at_free_slug(f"{base}-2" if base in RESERVED_SLUGS else base, insert, HumanData)
        write_pieces(data.pieces, columns)
    return data


def _counted_demographics(imported: Imported) -> dict[str, dict[str, int]]:
    """Count participants by value of the chosen columns. Values of single participants are not stored, so that they
    cannot be combined."""
    demographics = imported.matched.demographics if imported.matched else None
    if demographics is None:
        return {}
    counted: dict[str, dict[str, int]] = {name: {} for name in demographics.names}
    for row in demographics.rows:
        for name, value in zip(demographics.names, row, strict=True):
            counted[name][value[:80]] = counted[name].get(value[:80], 0) + 1
    return counted


def drop_old() -> int:
    """Delete uploaded files older than KEEP_IMPORTS; return how many."""
    old = HumanDataImport.objects.filter(created__lt=timezone.now() - KEEP_IMPORTS)
    return old.delete()[1].get(HumanDataImport._meta.label, 0)


# --- changes ---


def change_card(data: HumanData, *, actor: User, **card: str) -> None:
    """Change fields of CARD. Raises ValidationError, PermissionDenied and OverQuota."""
    _require(permissions.can_edit(actor, data), "you may not edit these data")
    for name, value in card.items():
        setattr(data, name, value)
    data.full_clean(exclude=[field.name for field in HumanData._meta.fields if field.name not in card])
    with HUMAN_DATA.growing(data.owner, actor=actor):
        data.save(update_fields=[*card, "updated"])


def set_visibility(data: HumanData, visibility: str, *, actor: User, confirmed: bool = False) -> None:
    """Publish data or make them private. `confirmed`: the actor confirms that participants consented and cannot be
    identified; required for publication, as is a public suite. Raises ValidationError and PermissionDenied."""
    _require(permissions.can_manage(actor, data), "only the owner and staff may change the visibility")
    if visibility == Visibility.PUBLIC and data.visibility != Visibility.PUBLIC:
        if data.revision.suite.visibility != Visibility.PUBLIC:
            raise ValidationError("Make the suite public first: human data are shown with it.")
        if not confirmed:
            raise ValidationError("Confirm that participants consented and cannot be identified.")
        data.confirmed_at = timezone.now()
    if visibility != Visibility.PUBLIC:
        require_not_in_use(data)
    data.visibility = visibility
    data.save(update_fields=["visibility", "confirmed_at", "updated"])


def change_exclusions(data: HumanData, exclusions: Exclusions, *, actor: User) -> None:
    """Queue the computation of the result with other exclusions. Until it is done, the previous result is shown. Raises
    ValidationError, PermissionDenied and LimitReached."""
    _require(permissions.can_edit(actor, data), "you may not edit these data")
    with transaction.atomic():
        locked = HumanData.objects.select_for_update(of=("self",)).select_related("job").get(pk=data.pk)
        jobs.stop(locked.job, actor=actor)
        data.job = jobs.enqueue(
            RECOMPUTE,
            {"data": data.pk, "exclusions": asdict(exclusions)},
            owner=actor,
            queue=SHORT,
            title=f"Exclusions of {data.title}",
        )
        data.save(update_fields=["job"])


def recomputed(data: HumanData, exclusions: Exclusions) -> dict[str, Any]:
    """Compute the result with these exclusions. Raises ValueError if the data lack what a setting needs."""
    observations, accuracy = load(data)
    return evaluated(observations, accuracy, document_of(data.revision), exclusions)


def require_not_in_use(data: HumanData) -> None:
    """Raise InUse if the data may not be deleted or made private, because a published collection holds them."""
    data_leaving.send(sender=HumanData, data=data)


def delete(data: HumanData, *, actor: User) -> None:
    """Delete a data set with its comparisons. Raises PermissionDenied, and InUse if a published collection holds it."""
    _require(permissions.can_manage(actor, data), "only the owner and staff may delete these data")
    require_not_in_use(data)
    jobs.stop(data.job, actor=actor)
    for comparison in data.comparisons.select_related("job"):
        jobs.stop(comparison.job, actor=actor)
    data.delete()


# --- models against people ---


def start_comparison(
    data: HumanData,
    runs: Sequence[SuiteRun],
    *,
    actor: User,
    spill_over: int = 1,
    regions: Sequence[int] = (),
    slopes: bool = False,
) -> PeopleComparison:
    """Queue a comparison of runs with a data set. `spill_over`, `regions` and `slopes`: see
    `lmgym.people.fit_data.Options`. Times are log-transformed if the data's exclusions say so. Raises
    ValidationError and LimitReached."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to compare models with people")
    if not runs:
        raise ValidationError("Choose at least one model.")
    if len(runs) > MAX_MODELS:
        raise ValidationError(f"Choose at most {MAX_MODELS} models.")
    allowed = set(comparable_runs(data, actor).values_list("pk", flat=True))
    if any(run.pk not in allowed for run in runs):
        raise ValidationError("Choose models with surprisals on this revision.")
    options = {
        "spill_over": spill_over,
        "regions": list(regions),
        "slopes": slopes,
        "log": bool(data.exclusions.get("log")),
    }
    with HUMAN_DATA.growing(actor):
        comparison = PeopleComparison.objects.create(
            human_data=data, owner=actor, n_runs=len(runs), options=options, exclusions=data.exclusions
        )
        comparison.runs.set(runs)
        comparison.job = jobs.enqueue(
            COMPARE,
            {"comparison": comparison.pk},
            owner=actor,
            title=f"Models against {data.title}",
            total=STEPS * len(runs),
        )
        comparison.save(update_fields=["job"])
    return comparison


def delete_comparison(comparison: PeopleComparison, *, actor: User) -> None:
    """Delete a comparison. Raises PermissionDenied unless the actor started it, owns the data, or is staff."""
    may = comparison.owner_id == actor.pk or permissions.can_manage(actor, comparison.human_data)
    _require(may, "only who started the comparison, the owner of the data and staff may delete it")
    jobs.stop(comparison.job, actor=actor)
    comparison.delete()


def _require(is_allowed: bool, message: str) -> None:
    if not is_allowed:
        raise PermissionDenied(message)


def parse_exclusions(values: Mapping[str, Any]) -> Exclusions:
    """Build exclusions from checked values. Raises ValidationError."""
    try:
        return Exclusions(**values)
    except (ValueError, InvalidArgument) as error:
        message = str(error)
        raise ValidationError(f"{message[:1].upper()}{message[1:]}.") from error
