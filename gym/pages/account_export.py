"""Everything that an account owns, in one zip: for the page *Download your data* and the command `export_account`."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import IO, Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import QuerySet
from django.utils import timezone

from gym.accounts.models import User
from gym.agents.models import AgentSuite
from gym.agents.run_views import run_file
from gym.agents.selectors import runs_visible_to as visible_agent_runs
from gym.collections.models import Collection
from gym.collections.services import human_data_of
from gym.lmchallenge import storage
from gym.lmchallenge.counting import keep_of
from gym.lmchallenge.downloads import record
from gym.lmchallenge.models import Corpus
from gym.lmchallenge.selectors import games_for
from gym.notices.models import Notice
from gym.people.exports import observation_rows
from gym.people.models import HumanData
from gym.people.selectors import models_of, own_comparisons
from gym.people.services import CARD
from gym.propara.exports import full_report
from gym.propara.models import AnswerSetVersion
from gym.propara.selectors import submissions_for
from gym.runs.read.selectors import visible_to as visible_runs
from gym.runs.tables.registry import FRAMES, frame_for, rows_of
from lmgym import __version__
from lmgym.agents.archives import write_archive
from lmgym.files.zip_writer import add_to_zip
from lmgym.people.tables import HumanValue
from lmgym.suites.formats import write_json
from lmgym.text.columns import header
from lmgym.text.csv_writer import csv_pieces
from models_registry.api.serializers import ModelDetailSerializer
from models_registry.models import RegisteredModel
from suites.models import SuiteRevision
from suites.selectors import export_document

Entry = tuple[str, Iterable[str | bytes]]
HUMAN_DATA = (
    *CARD, "visibility", "confirmed_at", "measure", "kind", "scale", "is_simulated", "provenance", "exclusions",
    "demographics", "result", "created",
)  # fmt: skip
ACCOUNT = ("username", "email", "first_name", "last_name", "date_joined", "last_login", "notices_by_mail")


def export_account(
    user: User,
    file: IO[bytes],
    *,
    on_file: Callable[[int], None] = lambda n_files: None,
    on_piece: Callable[[], None] = lambda: None,
) -> int:
    """Write the zip and return its number of files, with manifest.json.

    Results that the account may no longer see, and secrets (passwords, tokens, keys of servers), are left out.

    Args:
        user: the owner.
        file: binary file to write to.
        on_file: called with the number of finished files after each one. It may write to the database.
        on_piece: called for every piece of a file. It must not write to the database, because a query may be open.
    """
    entries: list[dict[str, Any]] = []
    with zipfile.ZipFile(file, "w") as archive:
        for path, pieces in _entries(user):
            entries.append(add_to_zip(archive, path, _watched(pieces, on_piece)))
            on_file(len(entries))
        manifest = {
            "account": user.get_username(),
            "made": timezone.now(),
            "made_by": f"LM Gym {__version__}",
            "files": entries,
        }
        add_to_zip(archive, "manifest.json", _json(manifest))
    return len(entries) + 1


def _watched(pieces: Iterable[str | bytes], on_piece: Callable[[], None]) -> Iterator[str | bytes]:
    for piece in pieces:
        on_piece()
        yield piece


def _each(rows: QuerySet[Any]) -> Iterator[Any]:
    """Yield rows in their order, one in memory at a time. One query per row, so that none is open between two files."""
    for pk in list(rows.values_list("pk", flat=True)):
        yield from rows.filter(pk=pk)


def _json(value: Any) -> list[str]:
    return [json.dumps(value, indent=1, ensure_ascii=False, cls=DjangoJSONEncoder) + "\n"]


def _entries(user: User) -> Iterator[Entry]:
    """Yield the paths in the zip with their contents."""
    yield from _account(user)
    yield from _suites(user)
    yield from _runs(user)
    yield from _human_data(user)
    yield from _propara(user)
    yield from _games(user)
    yield from _agent_tests(user)


def _account(user: User) -> Iterator[Entry]:
    tokens = user.api_tokens.values("name", "prefix", "scopes", "created", "expires", "last_used", "revoked")
    account = {name: getattr(user, name) for name in ACCOUNT}
    yield "account.json", _json({**account, "api_tokens": list(tokens), **_ways_to_sign_in(user)})
    notices = Notice.objects.filter(user=user).values("kind", "text", "address", "created", "read")
    yield "notifications.json", _json(list(notices))
    as_owner = {"request": SimpleNamespace(user=user)}
    for model in _each(RegisteredModel.objects.filter(owner=user).select_related("owner")):
        yield f"models/{model.slug}.json", _json(ModelDetailSerializer(model, context=as_owner).data)
    for collection in _each(Collection.objects.filter(owner=user)):
        revisions = SuiteRevision.objects.filter(collection_entries__collection=collection)
        body = {name: getattr(collection, name) for name in ("slug", "title", "description", "reference")}
        body |= {
            "created": collection.created,
            "published": collection.published_at,
            "sha256": collection.sha256,
        }
        body["suites"] = list(
            revisions.order_by("collection_entries__position").values("suite__slug", "number", "sha256")
        )
        body["human_data"] = [data.slug for data in human_data_of(collection, user)]
        yield f"collections/{collection.slug}.json", _json(body)


def _ways_to_sign_in(user: User) -> dict[str, Any]:
    """Return what is stored about how the account is signed in to, without secrets."""
    services = SocialAccount.objects.filter(user=user)
    factors = Authenticator.objects.filter(user=user)
    return {
        "confirmed_addresses": list(
            EmailAddress.objects.filter(user=user, verified=True).values_list("email", flat=True)
        ),
        "groups": list(user.groups.values_list("name", flat=True)),
        "services": list(services.values("provider", "uid", "extra_data", "date_joined", "last_login")),
        "second_factors": list(factors.values("type", "created_at", "last_used_at")),
        "invitations_accepted": list(user.account_invitations.values("email", "sent", "accepted")),
        "invitations_sent": list(user.sent_account_invitations.values("email", "sent", "accepted")),
    }


def _suites(user: User) -> Iterator[Entry]:
    revisions = SuiteRevision.objects.filter(suite__owner=user).select_related("suite")
    for revision in _each(revisions.order_by("suite__slug", "number")):
        name = f"{revision.suite.slug}-r{revision.number}{'' if revision.is_frozen else '-draft'}"
        yield f"suites/{name}.json", [write_json(export_document(revision))]


def _runs(user: User) -> Iterator[Entry]:
    done = visible_runs(user).filter(owner=user, completed_at__isnull=False)
    rows = done.select_related("revision__suite", "model").prefetch_related("scores")
    for run in _each(rows.order_by("pk")):
        stem = f"runs/{run.revision.suite.slug}-r{run.revision.number}-{run.model.slug}-{run.key}"
        yield (
            f"{stem}/run.json",
            _json({"policy": run.policy, "provenance": run.provenance, "created": run.created}),
        )
        for name in FRAMES:
            frame = frame_for(name, [run.revision])
            yield f"{stem}/{name}.csv", csv_pieces(frame.header, rows_of(frame, [run]))


def _human_data(user: User) -> Iterator[Entry]:
    rows = HumanData.objects.filter(owner=user).select_related("revision__suite").order_by("pk")
    for data in _each(rows):
        facts = {name: getattr(data, name) for name in HUMAN_DATA}
        facts |= {"suite": data.revision.suite.slug, "revision": data.revision.number}
        yield f"human-data/{data.slug}.json", _json(facts)
        yield f"human-data/{data.slug}.csv", csv_pieces(header(HumanValue), observation_rows(data))
    compared = own_comparisons(user).filter(completed_at__isnull=False).prefetch_related("runs__model")
    for comparison in _each(compared.order_by("pk")):
        facts = {name: getattr(comparison, name) for name in ("options", "exclusions", "result", "created")}
        facts |= {"human_data": comparison.human_data.slug, "models": list(models_of(comparison.runs.all()))}
        yield f"comparisons-with-people/{comparison.key}.json", _json(facts)


def _propara(user: User) -> Iterator[Entry]:
    versions = AnswerSetVersion.objects.filter(answer_set__owner=user).select_related("answer_set")
    for version in _each(versions.order_by("answer_set__slug", "number")):
        stem = f"propara/answers/{version.answer_set.slug}-{version.number}"
        yield f"{stem}.tsv", [version.answers]
        if version.sentences:
            yield f"{stem}-sentences.tsv", [version.sentences]
    submissions = submissions_for(user).filter(owner=user).select_related("version__answer_set")
    for submission in _each(submissions.order_by("pk")):
        stem = f"propara/submissions/{submission.key}"
        yield f"{stem}-as-uploaded", [bytes(submission.file)]
        if submission.has_scores:
            yield f"{stem}.json", _json(full_report(submission))


def _games(user: User) -> Iterator[Entry]:
    for corpus in _each(Corpus.objects.filter(owner=user)):
        yield f"corpora/{corpus.slug}.{corpus.form}", storage.unpacked_lines(bytes(corpus.packed))
    for game in _each(games_for(user).filter(owner=user).select_related("corpus").order_by("pk")):
        if game.lines:
            yield f"games/{game.key}.log", storage.log_lines(game)
        if game.is_counted:
            yield f"games/{game.key}.json", _json(record(game, keep_of("", game)))


def _agent_tests(user: User) -> Iterator[Entry]:
    for suite in _each(AgentSuite.objects.filter(owner=user)):
        yield (
            f"agents/suites/{suite.slug}.zip",
            [write_archive({case.name: case.text for case in suite.cases.all()})],
        )
    runs = visible_agent_runs(user).filter(owner=user, completed_at__isnull=False)
    for run in _each(runs.select_related("suite", "server__model").order_by("pk")):
        yield f"agents/runs/{run.key}.json", run_file(run, "json").streaming_content  # type: ignore[misc]
