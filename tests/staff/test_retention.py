"""Data retention: the policy page, `clean_up`, and *Tidy up*."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.utils import timezone

from gym.accounts.models import TokenBucket
from gym.api.models import SentRequest
from gym.collections.models import Collection, CollectionZip
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.notices.models import Notice
from gym.pages import retention
from gym.pages.models import AccountExport
from gym.people.models import HumanDataImport
from gym.runs.models import ScoreCache, ScoreRequest
from gym.staff import services
from suites.models import SuiteImport
from tests.factories import make_model, make_revision

LONG_AGO = timedelta(days=400)


def add_each(people, age: timedelta) -> None:
    """Create a row of each kind that expires, of this age."""
    then, alice = timezone.now() - age, people.alice
    collection = Collection.objects.create(slug=f"c{age.days}", title="c", owner=alice)
    rows = {
        SuiteImport: {"owner": alice, "options": {}},
        HumanDataImport: {
            "owner": alice,
            "revision": make_revision(alice, name=f"s{age.days}"),
            "size": 1,
        },
        SentRequest: {"user": alice, "key": str(age), "digest": "d"},
        AccountExport: {"user": people.bob if age else alice},
        CollectionZip: {"collection": collection, "address": "a"},
        Notice: {"user": alice, "kind": "run", "text": "t", "address": "/"},
        ScoreRequest: {
            "owner": alice,
            "model": make_model(alice, slug=f"m{age.days}"),
            "policy": {},
            "n_sentences": 1,
            "texts": ["x"],
        },
    }
    for kind, fields in rows.items():
        row = kind.objects.create(**fields)
        kind.objects.filter(pk=row.pk).update(created=then)
    Job.objects.create(kind="preview", state="done", started=then, finished=then)
    Session.objects.create(session_key=str(age), session_data="", expire_date=then + timedelta(days=14))
    TokenBucket.objects.create(key=str(age), full_at=then.timestamp())


KINDS = (
    SuiteImport, HumanDataImport, SentRequest, CollectionZip, AccountExport, Notice, ScoreRequest, Session, TokenBucket,
)  # fmt: skip


def counts() -> dict[str, int]:
    return {kind.__name__: kind.objects.count() for kind in KINDS} | {
        "previews": Job.objects.filter(kind="preview").count()
    }


def test_clean_up_deletes_what_has_expired_and_nothing_else(people, capsys):
    add_each(people, LONG_AGO)
    add_each(people, timedelta())
    call_command("clean_up")
    assert counts() == dict.fromkeys(counts(), 1)
    assert "Reports of imports (their suites are kept): 1 row deleted." in capsys.readouterr().out
    call_command("clean_up")
    assert capsys.readouterr().out == "Nothing has expired.\n"


def test_clean_up_trims_the_score_cache_to_its_budget(db, settings):
    settings.GYM_SCORE_CACHE_SENTENCES = 2
    ScoreCache.objects.bulk_create(ScoreCache(scorer="x", text_sha256=str(n), scores={}) for n in range(5))
    call_command("clean_up")
    assert ScoreCache.objects.count() == 2


def test_old_jobs_stay_unless_their_age_is_given(db, capsys):
    Job.objects.create(kind="x", state="done", finished=timezone.now() - LONG_AGO)
    call_command("clean_up")
    assert Job.objects.count() == 1
    call_command("clean_up", "--jobs", "365", "--runs", "365")
    assert Job.objects.count() == 0
    assert capsys.readouterr().out.endswith("Old runs: 0 deleted.\nOld jobs: 1 deleted.\n")


def test_a_wrong_age_deletes_nothing(people):
    add_each(people, LONG_AGO)
    with pytest.raises(CommandError, match="from 30 to 3650"):
        call_command("clean_up", "--jobs", "1")
    assert counts() == dict.fromkeys(counts(), 1)


def test_tidying_up_deletes_what_has_expired_and_says_so(people):
    add_each(people, LONG_AGO)
    services.queue_task("tidy_storage", actor=people.staff)
    job = Job.objects.get(pk=run_pending()[-1].pk)
    assert job.state == "done"
    assert "Notifications: 1 row deleted." in job.log
    assert not ScoreRequest.objects.exists()


def test_the_policy_page_shows_every_rule(client, db, settings):
    settings.GYM_KEPT_ZIPS_MB = 123
    page = " ".join(client.get("/retention/").content.decode().split())
    for rule in (*retention.expiring(), *retention.LASTING):
        assert f'<th scope="row">{rule.what}</th><td>{rule.kept}</td>' in page
    assert "<td>7 days, and at most 123 MB of them</td>" in page
    assert "<td>90 days</td>" in page
    assert "<td>30 minutes</td>" in page
