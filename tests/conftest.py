"""Fixtures for all tests, and the rule that CI skips neither services nor the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# One thread a computation, here and in every process a test starts: sums made by two threads differ in their last
# digits from sums made by one, and several test processes share the processors anyway.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GYM_TORCH_THREADS", "1")

ROOT = Path(__file__).resolve().parent.parent
CONFORMANCE = Path(os.environ.get("GYM_CONFORMANCE_DIR", ROOT.parent / "shared" / "conformance"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """In CI a test that needs a service or the browser fails instead of skipping."""
    outcome = yield
    report = outcome.get_result()
    needed = item.get_closest_marker("service") or item.get_closest_marker("browser")
    absent = item.get_closest_marker("published") and not CONFORMANCE.is_dir()
    if (
        report.skipped
        and needed
        and not absent
        and os.environ.get("CI") == "true"
        and not hasattr(report, "wasxfail")
    ):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} may not be skipped in CI: {call.excinfo and call.excinfo.value}"


_streams: list[Any] = []


def pytest_configure() -> None:
    """Streamed answers that a test did not read to their end are remembered."""
    from django.test import Client

    ask = Client.request

    def request(self: Client, **given: Any) -> Any:
        response = ask(self, **given)
        if getattr(response, "streaming", False):
            _streams.append(response)
        return response

    Client.request = request


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown() -> None:
    """They are closed while their test's transaction lasts, as a server closes them. Otherwise their cursors are
    closed whenever the garbage is collected, which on PostgreSQL breaks the transaction of a later test."""
    while _streams:
        _streams.pop().close()


@pytest.fixture
def people(db):
    """alice, bob, charlie, staff and nobody."""
    from tests.people import make_people

    return make_people()


@pytest.fixture(scope="session")
def conformance() -> Path:
    """The folder with published suites and recorded reference outputs; not part of the repository."""
    if not CONFORMANCE.is_dir():
        pytest.skip(f"no conformance data at {CONFORMANCE} (set GYM_CONFORMANCE_DIR)")
    return CONFORMANCE


@pytest.fixture(autouse=True)
def _own_folders(settings, tmp_path):
    """No test touches the models or files of a working site."""
    settings.GYM_MODEL_DIR = tmp_path / "models"
    settings.VAR_DIR = tmp_path
    settings.GYM_WEB_THREADS = 1_000  # a test may hold many downloads that it does not read
    settings.GYM_TORCH_THREADS = 1  # read before this file sets the variable


@pytest.fixture(autouse=True)
def _plain_static(settings):
    """Pages in tests need no collected static files; passwords need not be expensive to check."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
