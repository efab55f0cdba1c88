"""Weights that this site downloaded from the Hub to this machine: the limit on their size, and the deletion of those
that no model uses.

The limit applies to the site, not to each account, because accounts whose models have the same weights share
the files, and staff approve every such model.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from gym.jobs.models import ACTIVE_STATES, Job
from lmgym.models.backends import hub, hub_cache
from lmgym.models.backends.hub_cache import Cached
from lmgym.models.backends.hub_listing import HubToken
from models_registry.models import RegisteredModel

GIGABYTE = 10**9
CLOCK_SECONDS = 60.0
"""Maximum assumed difference between the clocks of files, database and other machines."""


def hub_budget() -> int:
    """Return the limit in bytes; 0 = no limit."""
    return int(settings.GYM_HUB_CACHE_GB) * GIGABYTE


def fetched(config: dict[str, object], token: HubToken | None) -> dict[str, object]:
    """Download the files of a configuration, if they are on the Hub and not on this machine. Return the configuration
    with the repository's current name and commit. Raises BackendError."""
    if config.get("source") != "hub" or not settings.GYM_HUB_ALLOWED:
        return config
    repo, revision = str(config["repo"]), str(config.get("revision", "main"))
    found = hub.fetch(repo, revision, budget=hub_budget(), token=token)
    return config | {"repo": found.repo, "revision": found.commit}


def unused() -> list[Cached]:
    """Return the commits downloaded by this site that no registered model uses. Leaves out repositories whose
    models have no commit yet or are being checked, and downloads begun since the oldest unfinished check was
    queued: if the repository was renamed, they are stored under a newer name than the one in the configuration."""
    pinned: set[tuple[str, str]] = set()
    kept: set[str] = set()
    rows = RegisteredModel.objects.filter(config__source="hub").values_list(
        "config__repo", "source_revision", "check_job__state"
    )
    for repo, commit, state in rows:
        if not commit or state in ACTIVE_STATES:
            kept.add(repo)
        pinned.add((repo, commit))
    checks = Job.objects.filter(kind="check_model", state__in=ACTIVE_STATES).order_by("created")
    first = checks.values_list("created", flat=True).first()
    return [
        cached
        for cached in hub_cache.marked()
        if cached.repo not in kept
        and (cached.repo, cached.commit) not in pinned
        and (first is None or cached.begun < first.timestamp() - CLOCK_SECONDS)
    ]


def delete_unused() -> Iterator[tuple[Cached, int]]:
    """Delete the commits in `unused()`, except in repositories with an active download. Yield each commit
    with the bytes freed."""
    for cached in unused():
        if not hub_cache.is_busy(cached.repo):
            yield cached, hub_cache.delete([cached])
