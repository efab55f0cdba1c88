"""Fixtures for all tests, a hook that fails tests in CI rather than skipping them when a service or the
browser is missing, and a summary of deselected tests.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.signals import request_finished, setting_changed
from django.db import close_old_connections, transaction
from django.test import override_settings

from tests.lmgym.conftest import CONFORMANCE, ROOT, conformance, real_model  # noqa: F401
from tests.once_a_run import base_of_the_run  # noqa: F401


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """In CI, fail tests that would be skipped because a service or the browser is missing."""
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


KINDS = {
    "long": "take minutes; .ci/full runs them",
    "crawl": "request every address as people with different rights; make test CRAWL=yes",
    "browser": "drive Chromium",
    "gpu": "need a GPU",
    "foreign": "need another program: LM Challenge, syntaxgym, lm-eval, minicons, llama.cpp, neuro-san, ProPara",
    "real_model": "download a trained model of 93 MB once, and compute for minutes",
    "service": "need PostgreSQL, Redis or RabbitMQ",
    "process": "start real workers and servers",
}
"""Markers that `make test` deselects, with what their tests need or do. A test with several markers counts
under the first.
"""
LEFT_OUT = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        default=os.environ.get("GYM_GPU_TEST_DEVICE", ""),
        help="where tests/gpu run: cuda:0, or cpu for the same code with small models (GYM_GPU_TEST_DEVICE)",
    )
    parser.addoption(
        "--browser", choices=("chromium", "firefox"), default="chromium", help="for tests/browser"
    )


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count the tests that `-m` deselects, by kind."""
    if items and (config := items[0].config).option.markexpr:
        found = (next((kind for kind in KINDS if item.get_closest_marker(kind)), "") for item in items)
        config.stash.setdefault(LEFT_OUT, Counter()).update(kind for kind in found if kind)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts of a pytest-xdist worker to the controller, which writes the summary."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.stash.get(LEFT_OUT, Counter()))


def pytest_collection_finish() -> None:
    """Exempt the million objects that exist before the first test from garbage collection, and collect the others as
    rarely as the web server does."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Use the counts of any worker: every worker collects all tests."""
    if counts := getattr(node, "workeroutput", {}).get("left_out"):
        node.config.stash[LEFT_OUT] = Counter(counts)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> Iterator[None]:
    """Write the last section: the kinds of tests that did not run, and the command that runs them."""
    yield
    if counts := config.stash.get(LEFT_OUT, None):
        terminalreporter.section("left out")
        for kind, what in KINDS.items():
            if counts[kind]:
                terminalreporter.line(f"{counts[kind]:5} {kind} tests ({what})")
        terminalreporter.line("make test-all runs everything.")


_streams: list[Any] = []


def pytest_configure() -> None:
    """Record streamed responses, so that those which a test did not read to the end can be closed."""
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
    """Close streamed responses within the transaction of their test, as a server would. If they stayed open,
    garbage collection would close their cursors at an arbitrary time, which on PostgreSQL breaks the
    transaction of a later test. The database connection stays open, as in Django's test client, because
    fixtures of the module may live in its transaction.
    """
    request_finished.disconnect(close_old_connections)
    try:
        while _streams:
            _streams.pop().close()
    finally:
        request_finished.connect(close_old_connections)


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    """Clear the process's caches after each test, so that rate limits do not count requests of other tests. Kept pages
    are also cleared when a setting changes, since pages depend on settings, which a running site does not change."""
    from django.core.cache import cache

    from gym.page_cache.store import store

    def forget(**_: Any) -> None:
        store.clear()

    setting_changed.connect(forget)
    yield
    setting_changed.disconnect(forget)
    store.clear()
    cache.clear()


@pytest.fixture
def people(db):
    """The users alice, bob, dora, charlie and staff, and the anonymous nobody."""
    from tests.people import make_people

    return make_people()


@pytest.fixture(scope="session", autouse=True)
def _settings_of_all_tests() -> Iterator[None]:
    """Settings for all tests: no collected static files, fast password hashing."""
    with override_settings(
        GYM_WEB_THREADS=1_000,  # a test may open many downloads without reading them
        GYM_DEMO_TRAINED_MODEL=False,  # no test downloads it
        GYM_TORCH_THREADS=1,  # read before this file sets the variable
        WHITENOISE_AUTOREFRESH=True,  # otherwise every test client scans all static files
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        STORAGES={
            "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
            "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
        },
    ):
        yield


def own_folders(folder: Path) -> dict[str, Path]:
    """Return settings that keep the tests away from the models and files of a working site."""
    return {"GYM_MODEL_DIR": folder / "models", "VAR_DIR": folder}


@pytest.fixture(autouse=True)
def _own_folders(settings, tmp_path):
    for name, value in own_folders(tmp_path).items():
        setattr(settings, name, value)


@pytest.fixture(scope="module")
def module_db(django_db_setup, django_db_blocker, tmp_path_factory):
    """The database for module-scoped fixtures. Every test of the module sees their rows and rolls back its
    own changes; the rows are deleted after the last test."""
    with (
        override_settings(**own_folders(tmp_path_factory.mktemp("module"))),
        django_db_blocker.unblock(),
        transaction.atomic(),
    ):
        yield
        transaction.set_rollback(True)
