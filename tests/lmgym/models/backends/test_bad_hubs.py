"""A wrong, slow or endless Hub or mirror: responses are bounded, and no page fails with status 500."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from lmgym import net
from lmgym.models.backends import BackendError, downloads, hub, hub_listing
from lmgym.net import NetPolicy
from tests.lmgym.net.hostile import answer, server

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {"config.json": 500, "model.safetensors": 10_000}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"


def listing(sizes: dict[str, Any], **more: Any) -> bytes:
    siblings = [{"rfilename": name, "size": size} for name, size in sizes.items()]
    return json.dumps({"sha": COMMIT, "siblings": siblings, **more}).encode()


@contextlib.contextmanager
def hub_that(behave: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with server(behave) as there:
        monkeypatch.setattr(constants, "ENDPOINT", there.url)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        yield


def resolve(behave: Any, monkeypatch: pytest.MonkeyPatch, seconds: float = 5) -> str:
    with hub_that(behave, monkeypatch), pytest.raises(BackendError) as caught:
        hub.inspect_revision("org/name", "main", seconds=seconds)
    return str(caught.value)


def test_a_mirror_without_names_is_understood_and_a_name_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with hub_that(answer(listing(FILES)), monkeypatch):
        assert (hub.resolve("org/name").repo, hub.resolve("org/name").files) == ("org/name", FILES)
    assert "'../x' is not the name of a model on the Hub" in resolve(
        answer(listing(FILES, id="../x")), monkeypatch
    )


def test_a_listing_without_end_is_given_up_after_some_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []

    def endless(connection: socket.socket, request: bytes) -> None:
        connection.sendall(HEAD)
        for _ in range(1_500):
            connection.sendall(b" " * 1_000_000)
            sent.append(1)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "response for org/name is larger than 5 MB" in resolve(endless, monkeypatch)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB
    assert len(sent) < 100


@pytest.mark.parametrize("head", [HEAD, b"HTTP/1.1 200 OK\r\nX-Slow: "], ids=["body", "headers"])
def test_a_byte_now_and_then_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
    def slow(connection: socket.socket, request: bytes) -> None:
        connection.sendall(head)
        for _ in range(100):
            connection.sendall(b" ")
            time.sleep(0.1)

    started = time.monotonic()
    assert "took longer than 0.5 seconds" in resolve(slow, monkeypatch, seconds=0.5)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("size", [-5 * 10**12, -1, 10**30, 1.5, "12", True])
def test_sizes_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch, size: Any) -> None:
    said = resolve(answer(listing({"config.json": 500, "model.safetensors": size})), monkeypatch)
    assert "response for org/name is invalid" in said
    assert "siblings" in said


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b"[" * 100_000, b'{"siblings": {}}', b"\xff"])
def test_what_is_no_listing_is_refused(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    assert "response for org/name is invalid" in resolve(answer(body), monkeypatch)


@pytest.mark.parametrize(
    "name", ["..\\..\\x.json", ".x.json", "a\n.json", "\ud800.json", "x" * 300 + ".json"]
)
def test_names_that_are_no_file_names_are_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    said = resolve(answer(listing(FILES | {name: 1})), monkeypatch)
    assert "not a valid file name" in said or "is invalid" in said


def test_names_that_are_never_fetched_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {"../../../x.json": 1, "a/../../y.json": 1, "..\\z.bin": 1, "onnx/model.json": 1}
    with hub_that(answer(listing(FILES | others)), monkeypatch):
        assert hub.resolve("org/name").files == FILES


def test_a_listing_of_too_many_files_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"{number}.json": 1 for number in range(hub.MAX_FILES)}
    assert "has 2,002 files to download" in resolve(answer(listing(FILES | many)), monkeypatch)


def test_a_page_gets_the_reason_and_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = {"source": "hub", "repo": "org/name"}
    with hub_that(answer(listing(FILES | {"..\\..\\x.json": 1})), monkeypatch):
        found = downloads.download_of("causal", config, model_dir=tmp_path, hub_allowed=True)
    assert "not a valid file name" in found.unknown
    assert found.total_bytes is None


def test_pages_give_a_deadline_and_a_cap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    policies: list[NetPolicy] = []

    def request(method: str, url: str, *, policy: NetPolicy, **more: Any) -> net.Response:
        policies.append(policy)
        return net.request(method, url, policy=policy, **more)

    monkeypatch.setattr(hub_listing, "request", request)
    with hub_that(answer(listing(FILES)), monkeypatch):
        config = {"source": "hub", "repo": "a/b"}
        downloads.download_of("causal", config, model_dir=tmp_path, hub_allowed=True)
    assert [(policy.seconds, policy.max_bytes) for policy in policies] == [(6.0, 5_000_000)]


@pytest.mark.parametrize("endpoint", ["ftp://hub", "hub", "http://[", "http://hub:99999", "http://a:b@hub"])
def test_an_endpoint_that_is_none_is_said_in_words(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(BackendError, match="could not be reached"):
        hub.resolve("org/name")


@pytest.mark.parametrize("sha", [None, "", "main", "ABC"])
def test_an_answer_without_a_commit_is_refused(monkeypatch: pytest.MonkeyPatch, sha: str | None) -> None:
    assert "returned no commit" in resolve(answer(listing(FILES, sha=sha)), monkeypatch)
