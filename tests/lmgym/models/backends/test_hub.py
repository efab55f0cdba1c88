"""Responses of the Hub: commits and file lists, broken downloads, waits and refusals; with a local server."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants, errors

from lmgym.models.backends import (
    BackendError,
    BackendUnavailable,
    FilesMissing,
    hub,
    load_backend,
)
from lmgym.models.engine import ScoringPolicy
from lmgym.models.given import open_model
from tests.lmgym.models import tiny
from tests.lmgym.models.hub_downloads import cache, contents, partials
from tests.lmgym.models.hub_server import HubServer, hub_server, use_hub

WEIGHTS = bytes(range(256)) * 400
FILES = {"config.json": b"{}", "model.safetensors": WEIGHTS, "tokenizer.json": b'{"version": "1.0"}'}
SIZES = {name: len(content) for name, content in FILES.items()}
NAME = "org/name"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """A Hub with one model, used by this process with an empty cache."""
    with hub_server() as there:
        use_hub(monkeypatch, there.url, tmp_path / "cache")
        there.add(NAME, FILES)
        yield there


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses in seconds that our code and the Hub's library ask for; tests shorten each to 10 ms."""
    asked: list[float] = []
    sleep = time.sleep

    def nap(seconds: float) -> None:
        asked.append(seconds)
        sleep(min(seconds, 0.01))

    monkeypatch.setattr(time, "sleep", nap)
    return asked


def commit_of(server: HubServer, repo: str = NAME) -> str:
    return server.repos[repo].refs["main"]


# --- commits and file lists ---


def test_a_branch_a_tag_and_a_commit_are_pinned_to_a_commit(server: HubServer) -> None:
    repo = server.repos[NAME]
    first = commit_of(server)
    repo.refs["v1"] = first
    second = repo.commit(FILES | {"tokenizer.json": b"{}"})
    branch = repo.commit(FILES, branch="refs/pr/1")
    asked = {name: hub.resolve(NAME, name).commit for name in ("main", "v1", "refs/pr/1", first)}
    assert asked == {"main": second, "v1": first, "refs/pr/1": branch, first: first}


def test_only_harmless_files_of_the_top_folder_are_listed(server: HubServer) -> None:
    others = ("pytorch_model.bin", "onnx/model.json", "README.md", "consolidated.safetensors", "train.py")
    server.add(NAME, FILES | dict.fromkeys(others, b"x"))
    model = hub.resolve(NAME)
    assert (model.repo, model.licence, model.files) == (NAME, "apache-2.0", SIZES)
    assert model.total_bytes == sum(SIZES.values())


@pytest.mark.parametrize(
    ("card", "licence"),
    [(None, ""), ({}, ""), ({"license": ["mit", "cc0"]}, "mit, cc0"), ({"license": None}, "")],
)
def test_the_licence_of_the_card_is_read(
    server: HubServer, card: dict[str, Any] | None, licence: str
) -> None:
    server.repos[NAME].card = card
    assert hub.resolve(NAME).licence == licence


def test_old_and_short_names_resolve_to_the_current_name(server: HubServer) -> None:
    server.old_names = {"name": NAME, "former/name": NAME}
    for old in server.old_names:
        assert hub.resolve(old).repo == NAME
        fetched = hub.fetch(old, "main")
        assert (fetched.repo, fetched.commit) == (NAME, commit_of(server))
    assert [path.name for path in cache().glob("models--*")] == ["models--org--name"]


def test_a_short_name_is_a_hub_model_unless_a_folder_has_it(
    server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.old_names = {"name": NAME}
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BackendError, match=r"no folder or file nothing\. On the Hub: "):
        open_model("nothing")
    (tmp_path / "name").mkdir()
    with pytest.raises(BackendError, match=r"config\.json"):
        open_model("name")


@pytest.mark.parametrize(
    "repo",
    [
        *("../x/y", "org/../x", "/org/name", "org/name/x", ".a/b", "a/b c", "a--b/c", "é/b", "/", "a/"),
        *("a/b.", "a-/b", "a/b.git", "a/b\n", "a/" + "b" * 97, "..", "a--b"),
    ],
)
def test_invalid_repository_names_are_refused_without_a_request(server: HubServer, repo: str) -> None:
    for ask in (hub.resolve, hub.fetch):
        with pytest.raises(BackendError, match="not the name of a model on the Hub"):
            ask(repo, "main")
    assert server.requests == []


@pytest.mark.parametrize("revision", ["", "../main", "a b", "-x", "x" * 300])
def test_invalid_revisions_are_refused(revision: str) -> None:
    with pytest.raises(BackendError, match="not a branch"):
        hub.resolve(NAME, revision)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["model.safetensors"], "no config.json"),
        (["config.json", "pytorch_model.bin"], "no safetensors weights"),
        (["config.json", "sub/model.safetensors"], "no safetensors weights"),
        ([], "no config.json"),
        (["m-Q4.gguf"], r"only as GGUF \(m-Q4\.gguf\)"),
        (["config.json", "m-Q4.gguf"], "only as GGUF"),
    ],
)
def test_models_without_weights_or_configuration_are_refused_by_the_file_list(
    server: HubServer, files: list[str], message: str
) -> None:
    server.add(NAME, dict.fromkeys(files, b"x"))
    for ask in (hub.resolve, hub.fetch):
        with pytest.raises(BackendError, match=message):
            ask(NAME, "main")
    assert server.asked("/resolve/") == []


def test_a_model_that_is_too_large_is_refused_and_unknown_sizes_count_as_nothing(server: HubServer) -> None:
    server.repos[NAME].sizes = {"model.safetensors": 41 * 10**9}
    with pytest.raises(BackendError, match=r"has 41\.0 GB to download; the limit is 40\.0 GB"):
        hub.fetch(NAME, "main")
    server.repos[NAME].sizes = {"model.safetensors": None}
    assert hub.resolve(NAME).total_bytes == 20


# --- downloads ---


def test_a_fetch_takes_the_files_of_the_commit_without_token_and_xet(server: HubServer) -> None:
    server.add(NAME, FILES | {"pytorch_model.bin": b"x", "chat_template.jinja": b"{{ x }}"})
    fetched = hub.fetch(NAME, "main")
    assert fetched == (fetched.folder, NAME, commit_of(server), "apache-2.0")
    assert contents(fetched.folder) == FILES | {"chat_template.jinja": b"{{ x }}"}
    assert server.asked("xet") == []
    assert {one.headers.get("authorization") for one in server.requests} == {None}
    assert {one.of for one in server.asked("/repos/")} == {"storage"}


def test_a_complete_commit_needs_no_network_and_a_branch_one_request(server: HubServer) -> None:
    fetched = hub.fetch(NAME, "main")
    server.requests.clear()
    assert hub.fetch(NAME, fetched.commit) == fetched._replace(licence="")
    assert server.requests == []
    assert hub.fetch(NAME, "main") == fetched
    assert [one.path for one in server.requests] == ["/api/models/org/name/revision/main?blobs=true"]


def test_a_new_commit_of_a_branch_fetches_what_changed(server: HubServer) -> None:
    first = hub.fetch(NAME, "main")
    server.repos[NAME].commit(FILES | {"tokenizer.json": b"{}"})
    server.requests.clear()
    second = hub.fetch(NAME, "main")
    assert (contents(first.folder), contents(second.folder)) == (FILES, FILES | {"tokenizer.json": b"{}"})
    assert server.asked(method="GET", path="/repos/") == []


def test_sharded_weights_load_like_a_folder(server: HubServer, tmp_path: Path) -> None:
    folder = tmp_path / "sharded"
    tokenizer = tiny.train("byte-bpe")
    network = tiny.gpt2(tokenizer.get_vocab_size())
    tiny.fast(tokenizer).save_pretrained(folder)
    network.save_pretrained(folder, max_shard_size="20kB")
    assert len(list(folder.glob("*.safetensors"))) > 2
    commit = server.add("org/shards", folder)
    server.old_names = {"shards": "org/shards"}
    config = {"source": "hub", "repo": "org/shards", "kernels": "stock"}
    fetched = load_backend("causal", config, model_dir=tmp_path, hub_allowed=True)
    local = {"source": "directory", "path": "sharded", "kernels": "stock"}
    [expected] = load_backend("causal", local, model_dir=tmp_path, hub_allowed=False).score(
        ["The keys are here."], ScoringPolicy()
    )
    assert fetched.score(["The keys are here."], ScoringPolicy()) == [expected]
    assert fetched.facts.revision == commit
    short = load_backend("causal", config | {"repo": "shards"}, model_dir=tmp_path, hub_allowed=True)
    assert short.facts.fingerprint == fetched.facts.fingerprint
    server.add("org/copy", folder)
    copy = load_backend("causal", config | {"repo": "org/copy"}, model_dir=tmp_path, hub_allowed=True)
    assert copy.facts.fingerprint != fetched.facts.fingerprint


def test_environment_variables_select_the_hub_and_its_cache(server: HubServer) -> None:
    code = f"from lmgym.models.backends import hub; print(hub.fetch({NAME!r}, 'main').commit)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == commit_of(server)


def test_bytes_are_reported_while_they_arrive(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 4096)
    monkeypatch.setattr(hub, "REPORT_SECONDS", 0.02)
    server.fail("/repos/", bytes_per_second=400_000)
    reports: list[tuple[int, int]] = []
    hub.fetch(NAME, "main", report=lambda done, total: reports.append((done, total)))
    total = sum(SIZES.values())
    assert {of for _, of in reports} == {total}
    assert reports == sorted(reports)
    assert any(0 < done < total for done, _ in reports)
    assert reports[-1] == (total, total)


# --- transfers that break ---


def test_an_interrupted_transfer_is_resumed(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 10_000)  # 10 MB; only whole chunks are kept
    server.fail("/repos/", cut_after=60_000)
    server.fail("/repos/", cut_after=30_000)
    assert contents(hub.fetch(NAME, "main").folder) == FILES
    ranges = [one.headers.get("range") for one in server.asked("/repos/", "GET")]
    assert ranges == [None, "bytes=60000-", "bytes=90000-"]


@pytest.mark.parametrize(
    "fault",
    [{"cut_after": 50_000, "reset": True}, {"status": 503}, {"status": 403}],
    ids=["reset connection", "storage down", "address expired"],
)
def test_a_transfer_that_cannot_be_resumed_begins_again_and_keeps_complete_files(
    server: HubServer, fault: dict[str, Any]
) -> None:
    server.fail("/repos/", method="GET", **fault)
    assert contents(hub.fetch(NAME, "main").folder) == FILES
    assert len(server.asked("/repos/", "GET")) == 2
    assert len(server.asked("config.json", "GET")) == 1


def test_a_transfer_that_keeps_breaking_fails_and_leaves_no_partial_file(server: HubServer) -> None:
    server.fail("/repos/", times=99, cut_after=0, reset=True)
    with pytest.raises(BackendUnavailable, match="download of org/name was interrupted several times"):
        hub.fetch(NAME, "main")
    assert partials() == []
    server.faults.clear()
    assert contents(hub.fetch(NAME, "main").folder) == FILES
    assert len(server.asked("config.json", "GET")) == 1  # complete at the first attempt


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_file_with_a_wrong_digest_is_refused_and_deleted(server: HubServer, name: str) -> None:
    path = f"/repos/{hashlib.sha256(WEIGHTS).hexdigest()}" if name == "model.safetensors" else "config.json?"
    server.fail(path, method="GET", content=b"x" * SIZES[name])
    with pytest.raises(BackendUnavailable, match=f"{name} of org/name arrived damaged"):
        hub.fetch(NAME, "main")
    with pytest.raises(FilesMissing):
        offline_fetch(commit_of(server))
    assert contents(hub.fetch(NAME, "main").folder) == FILES


def offline_fetch(commit: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        return hub.fetch(NAME, commit)


def test_a_file_of_a_wrong_size_is_refused(server: HubServer) -> None:
    server.fail("/repos/", method="GET", times=9, content=WEIGHTS[:-1])
    with pytest.raises(BackendUnavailable, match="arrived with the wrong size"):
        hub.fetch(NAME, "main")
    assert partials() == []


# --- waits ---


TOO_MANY = {"status": 429, "headers": {"Retry-After": "3"}}
PLACES = ["/revision/", "/tree/", "/resolve/", "/repos/"]


@pytest.mark.parametrize("place", PLACES)
def test_retry_after_is_honoured(server: HubServer, naps: list[float], place: str) -> None:
    server.fail(place, times=4, **TOO_MANY)
    assert contents(hub.fetch(NAME, "main").folder) == FILES
    assert [seconds for seconds in naps if 3 <= seconds <= 4]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "headers", [{"Retry-After": "3600"}, {"RateLimit": '"api";r=0;t=3600'}], ids=["retry-after", "ratelimit"]
)
def test_a_long_wait_is_an_error_that_states_the_time(
    server: HubServer, naps: list[float], place: str, headers: dict[str, str]
) -> None:
    server.fail(place, times=99, status=429, headers=headers)
    with pytest.raises(BackendUnavailable, match=r"no more requests.*Try again in 3,600 seconds"):
        hub.fetch(NAME, "main")
    assert sum(naps) < 1


@pytest.mark.parametrize("place", PLACES)
def test_a_hub_that_always_answers_429_is_given_up(server: HubServer, naps: list[float], place: str) -> None:
    server.fail(place, times=99, **TOO_MANY)
    with pytest.raises(BackendUnavailable, match="HTTP 429"):
        hub.fetch(NAME, "main")
    assert max(naps) <= 8


def test_a_page_request_does_not_wait(server: HubServer, naps: list[float]) -> None:
    server.fail("/revision/", **TOO_MANY)
    with pytest.raises(BackendUnavailable, match="Try again in 3 seconds"):
        hub.inspect_revision(NAME, "main", seconds=6)
    assert naps == []


# --- refusals ---


REFUSALS = [
    ("/revision/", {"status": 500}, "returned HTTP 500"),
    ("/revision/", {"status": 404}, "returned HTTP 404"),
    ("/revision/", {"status": 401}, "no public model org/name"),
    ("/tree/", {"status": 503}, "returned HTTP 503"),
    ("/tree/", {"status": 401}, "no public model org/name"),
    ("/resolve/", {"status": 502}, "returned HTTP 502"),
    ("/resolve/", {"status": 401}, "no public model org/name"),
    ("/resolve/", {"status": 403, "headers": {"X-Error-Code": "GatedRepo"}}, "is gated"),
    (
        "/resolve/",
        {"status": 404, "headers": {"X-Error-Code": "EntryNotFound"}},
        "lists a file of org/name that it does not have",
    ),
    ("/resolve/", {"status": 200}, "lack a commit or a digest"),
    ("/repos/", {"status": 503}, "returned HTTP 503"),
]


@pytest.mark.parametrize(("path", "fault", "message"), REFUSALS)
def test_every_refusal_has_a_message_without_the_hubs_details(
    server: HubServer, path: str, fault: dict[str, Any], message: str
) -> None:
    server.fail(path, times=999, **fault)
    with pytest.raises(BackendError, match=message) as caught:
        hub.fetch(NAME, "main")
    assert "secret detail" not in str(caught.value)
    assert isinstance(caught.value, BackendUnavailable) == (fault["status"] >= 500)


def test_missing_gated_and_disabled_models_have_messages(server: HubServer) -> None:
    server.add("org/gated", FILES, gated=True)
    server.add("org/disabled", FILES, disabled=True)
    for name, revision, message in [
        ("org/nothing", "main", "no public model org/nothing"),
        ("org/gated", "main", "org/gated is gated"),
        ("org/disabled", "main", "has disabled org/disabled"),
        (NAME, "v9", "no revision 'v9'"),
    ]:
        with pytest.raises(BackendError, match=message) as caught:
            hub.fetch(name, revision)
        assert not isinstance(caught.value, BackendUnavailable)
    assert server.asked("/resolve/") == []


def test_an_unreachable_hub_has_a_message(server: HubServer) -> None:
    commit = commit_of(server)
    server.close()
    for revision in ("main", commit):
        with pytest.raises(BackendUnavailable, match="could not be reached"):
            hub.fetch(NAME, revision)


def test_offline_mode_has_a_message_and_sends_no_request(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for revision in ("main", commit_of(server)):
        with pytest.raises(FilesMissing, match="not in the local cache, and this machine is offline"):
            hub.fetch(NAME, revision)
    assert server.requests == []


def test_a_full_disk_has_a_message(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("huggingface_hub.file_download._chmod_and_move", full)
    with pytest.raises(BackendError, match="The disk is full"):
        hub.fetch(NAME, "main")


def test_an_unknown_error_of_the_library_has_a_message(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(*args: Any, **more: Any) -> None:
        raise errors.HFValidationError("odd answer")

    monkeypatch.setattr("huggingface_hub.snapshot_download", odd)
    with pytest.raises(BackendError, match="could not be reached"):
        hub.fetch(NAME, "main")
