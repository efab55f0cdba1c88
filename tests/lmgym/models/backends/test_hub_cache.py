"""The Hub's download cache: free space, budget, deletion, and what broken downloads leave."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock
from huggingface_hub import constants

from lmgym.models.backends import BackendError, FilesMissing, hub, hub_cache
from tests.lmgym.models.hub_downloads import cache, contents, partials
from tests.lmgym.models.hub_server import HubServer, hub_server, use_hub

FILES = {"config.json": b"{}", "model.safetensors": bytes(100_000), "tokenizer.json": b'{"version": "1.0"}'}
SIZES = {name: len(content) for name, content in FILES.items()}
NAME = "org/name"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """A Hub with one model, used by this process with an empty cache."""
    with hub_server() as there:
        use_hub(monkeypatch, there.url, tmp_path / "cache")
        there.add(NAME, FILES)
        yield there


def test_a_model_larger_than_the_free_space_is_refused_before_the_download(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=100_000))
    with pytest.raises(
        BackendError, match=r"needs 0\.1 MB, and the disk of the download cache has 0\.1 MB free"
    ):
        hub.fetch(NAME, "main")
    assert server.asked("/resolve/") == []


def test_the_budget_counts_only_downloads_of_the_site(server: HubServer) -> None:
    total = sum(SIZES.values())
    hub.fetch(NAME, "main")  # downloaded by another program
    server.add("org/first", FILES)
    server.add("org/second", FILES)
    hub.fetch("org/first", "main", budget=total)
    assert [(one.repo, one.bytes) for one in hub_cache.marked()] == [("org/first", total)]
    assert hub_cache.used_bytes() == total
    with pytest.raises(BackendError, match=r"This site may keep .* of downloaded models"):
        hub.fetch("org/second", "main", budget=2 * total - 1)
    hub.fetch("org/second", "main", budget=0)  # no limit
    assert hub_cache.used_bytes() == 2 * total


def test_deleting_a_commit_keeps_files_shared_with_another(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = hub.fetch(NAME, "main", budget=0)
    server.repos[NAME].commit(FILES | {"tokenizer.json": b"{}"})
    second = hub.fetch(NAME, "main")  # downloaded by another program, so not marked
    [old] = hub_cache.marked()
    assert (old.commit, hub_cache.delete([old])) == (first.commit, SIZES["tokenizer.json"])
    assert hub_cache.marked() == []
    assert contents(second.folder) == FILES | {"tokenizer.json": b"{}"}
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(FilesMissing):
        hub.fetch(NAME, first.commit)


def test_deleting_the_last_commit_deletes_the_folder(server: HubServer) -> None:
    hub.fetch(NAME, "main", budget=0)
    assert hub_cache.delete(hub_cache.marked()) == sum(SIZES.values())
    assert list(cache().glob("models--*")) == []
    assert contents(hub.fetch(NAME, "main").folder) == FILES


def test_leftovers_of_a_killed_download_are_deleted_but_not_those_of_a_running_one(server: HubServer) -> None:
    fetched = hub.fetch(NAME, "main")
    blobs = fetched.folder.parents[1] / "blobs"
    orphan, running = blobs / f"{'a' * 64}.0123abcd.incomplete", blobs / f"{'b' * 64}.0123abcd.incomplete"
    for path in (orphan, running):
        path.write_bytes(b"half")
    with FileLock(cache() / ".locks" / "models--org--name" / f"{'b' * 64}.lock"):
        assert hub_cache.is_busy(NAME)
        assert partials() == [running]
    assert not hub_cache.is_busy(NAME)
    assert partials() == []


def test_a_fetch_completes_an_incomplete_commit(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_PAUSES", ())
    commit = server.repos[NAME].refs["main"]
    server.fail("/repos/", times=99, status=404)
    with pytest.raises(BackendError, match="returned HTTP 404"):
        hub.fetch(NAME, commit, budget=0)
    assert [one.repo for one in hub_cache.marked()] == [NAME]
    server.faults.clear()
    assert contents(hub.fetch(NAME, commit, budget=0).folder) == FILES
    assert json.loads((cache() / "models--org--name" / "trees" / f"{commit}.json").read_bytes())
