"""Data retention: how long each kind of data is kept, and deletion of older data. Used by the page /retention/,
*Tidy up* and `clean_up`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module

from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from gym import stored_files
from gym.accounts import invitations, throttle
from gym.api import idempotency
from gym.api.models import KEEP as KEEP_RESPONSES
from gym.collections import zips
from gym.jobs.reaper import KEEP_SILENT_WORKERS
from gym.notices import services as notices
from gym.pages import account_downloads
from gym.people import services as people
from gym.people.models import KEEP_IMPORTS as KEEP_UPLOADED
from gym.propara import services as propara
from gym.runs.models import KEEP_SCORE_REQUESTS
from gym.runs.work import cache, preview, score_requests
from lmgym.text import count
from suites import history, imports
from suites.models import KEEP_IMPORTS


@dataclass(frozen=True)
class Rule:
    """How long one kind of data is kept. `delete` deletes expired rows and returns their number; None if they are
    deleted elsewhere."""

    what: str
    kept: str
    delete: Callable[[], int] | None = None


def expiring(on_trimmed: Callable[[int, int], None] = lambda done, total: None) -> list[Rule]:
    """Return the rules for data that is deleted automatically. `on_trimmed`: see `gym.runs.work.cache.trim`."""
    budget = settings.GYM_SCORE_CACHE_SENTENCES
    zips_kept = f"{_span(stored_files.KEEP)}, and at most {settings.GYM_KEPT_ZIPS_MB:,} MB of them"
    newest = f"the {budget:,} read most recently" if budget else "all"
    return [
        Rule("Sessions of browsers", _span(timedelta(seconds=settings.SESSION_COOKIE_AGE)), _end_sessions),
        Rule("Counters of failed sign-ins", _span(timedelta(seconds=throttle.DAY)), throttle.drop_full),
        Rule(
            "Invitations to create an account",
            f"{_span(invitations.KEEP)} after they expire",
            invitations.drop_old,
        ),
        Rule("Notifications", _span(notices.KEPT), notices.forget_old),
        Rule("Sentences sent to be scored", _span(KEEP_SCORE_REQUESTS), score_requests.drop_old),
        Rule("Jobs of previews in the editor", _span(preview.KEEP), preview.drop_old),
        Rule("Responses to API requests with Idempotency-Key", _span(KEEP_RESPONSES), idempotency.drop_old),
        Rule("Reports of imports (their suites are kept)", _span(KEEP_IMPORTS), imports.drop_old),
        Rule("Uploaded files with human data that were not imported", _span(KEEP_UPLOADED), people.drop_old),
        Rule(
            "ProPara files that were checked but not saved", _span(propara.CHECKED_FOR), propara.drop_unsaved
        ),
        Rule(
            "Zips of collections",
            zips_kept,
            zips.drop_old,
        ),
        Rule("Downloads of accounts’ data", zips_kept, account_downloads.drop_old),
        Rule(
            "Scores of sentences, shared by all runs, under a hash of the sentence",
            newest,
            lambda: cache.trim(progress=on_trimmed).removed,
        ),
        Rule("Chunk plans of runs", "until the run has finished", cache.drop_spent_chunks),
        Rule(
            "Undo data of a suite’s drafts",
            f"the newest {history.KEEP_EDITS:,} changes and {history.KEEP_BYTES // 1_000_000} MB",
        ),
        Rule("Names of silent workers", _span(KEEP_SILENT_WORKERS)),
    ]


LASTING = (
    Rule(
        "Account, API tokens, tokens of the Hub, connected services, second factors",
        "until you delete the account or the token",
    ),
    Rule(
        "Suites, models, runs, human data, collections, submissions, games and agent tests",
        "until you delete them",
    ),
    Rule(
        "Jobs with their logs",
        "until an administrator deletes old ones; failed jobs that explain a missing result stay with it",
    ),
    Rule("Log of changes made by staff", "not deleted"),
    Rule("Logs of the server and backups", "decided by whoever runs this site"),
)
"""Data that is never deleted automatically."""


def clean_up(on_trimmed: Callable[[int, int], None] = lambda done, total: None) -> list[str]:
    """Delete everything that has expired. Return a sentence for each rule that deleted something."""
    removed = [(rule, rule.delete()) for rule in expiring(on_trimmed) if rule.delete]
    return [f"{rule.what}: {count(number, 'row')} deleted." for rule, number in removed if number]


def _span(time: timedelta) -> str:
    minutes = round(time.total_seconds() / 60)
    if minutes < 120:
        return count(minutes, "minute")
    return count(minutes // 60, "hour") if minutes < 2 * 24 * 60 else count(minutes // (24 * 60), "day")


def _end_sessions() -> int:
    n_expired = Session.objects.filter(expire_date__lt=timezone.now()).count()
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    return n_expired
