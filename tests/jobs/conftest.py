"""Fixtures: temporary handlers, a movable clock, two users, and a lab of real processes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from gym.jobs import handlers, kinds, reaper, services, states
from gym.jobs.kinds import JobKind
from tests.jobs.lab.bench import Lab


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Register handlers for the duration of a test."""
    monkeypatch.setattr(handlers, "_handlers", dict(handlers._handlers))
    monkeypatch.setattr(kinds, "_kinds", dict(kinds._kinds))

    def add(kind: str, function: Callable = lambda context: None) -> str:
        handlers._handlers[kind] = function
        kinds._kinds.setdefault(kind, JobKind(kind))
        return kind

    return add


class Clock:
    def __init__(self) -> None:
        self.moved = timedelta()
        self._now = timezone.now

    def now(self) -> datetime:
        return self._now() + self.moved

    def forward(self, seconds: float) -> None:
        self.moved += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timezone, "now", clock.now)
    return clock


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Queues to which a message was sent."""
    sent: list[str] = []
    for module in (reaper, services, states):
        monkeypatch.setattr(module, "wake", sent.append)
    return sent


@pytest.fixture
def alice(db):
    return get_user_model().objects.create_user("alice")


@pytest.fixture
def bob(db):
    return get_user_model().objects.create_user("bob")


@pytest.fixture(scope="session")
def empty_lab_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Lab(tmp_path_factory.mktemp("lab")).prepare().folder / "lab.sqlite3"


@pytest.fixture
def lab(tmp_path: Path, empty_lab_database: Path) -> Iterator[Lab]:
    shutil.copy(empty_lab_database, tmp_path)
    lab = Lab(tmp_path)
    yield lab
    lab.close()
