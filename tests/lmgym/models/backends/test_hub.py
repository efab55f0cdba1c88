"""The Hub without a network: pinned commits, checks before downloads, error messages."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import errors

from lmgym.models.backends import BackendError, hub, load_backend
from lmgym.net import Unreachable
from tests.lmgym.models.fake_hub import COMMIT, FakeHub

FILES = {"config.json": 500, "model.safetensors": 10_000, "tokenizer.json": 2_000}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    return FakeHub(FILES).install(monkeypatch)


def test_a_branch_is_pinned_to_its_commit(fake: FakeHub) -> None:
    fake.files |= {
        "pytorch_model.bin": 9,
        "onnx/model.json": 7,
        "README.md": 5,
        "consolidated.safetensors": 10_000,
    }
    model = hub.resolve("org/name", "main")
    assert (model.commit, model.licence, model.files) == (COMMIT, "apache-2.0", FILES)
    assert model.total_bytes == 12_500
    assert fake.urls == ["https://huggingface.co/api/models/org/name/revision/main?blobs=true"]


@pytest.mark.parametrize(
    ("card", "licence"),
    [(None, ""), ({}, ""), ({"license": ["mit", "cc0"]}, "mit, cc0"), ({"license": None}, "")],
)
def test_licences(fake: FakeHub, card: dict[str, Any] | None, licence: str) -> None:
    fake.card = card
    assert hub.resolve("org/name").licence == licence


@pytest.mark.parametrize(
    "repo",
    [
        *("gpt2", "../x/y", "org/../x", "/org/name", "org/name/x", ".a/b", "a/b c", "a--b/c", "é/b"),
        *("a/b.", "a-/b", "a/b.git", "a/b\n", "a/" + "b" * 97),
    ],
)
def test_names_that_are_no_repositories(fake: FakeHub, repo: str) -> None:
    with pytest.raises(BackendError, match="not a Hub model"):
        hub.resolve(repo)
    with pytest.raises(BackendError, match="not a Hub model"):
        hub.fetch(repo, COMMIT)
    assert fake.asked == []


@pytest.mark.parametrize("revision", ["", "../main", "a b", "-x", "x" * 300])
def test_names_that_are_no_revisions(fake: FakeHub, revision: str) -> None:
    with pytest.raises(BackendError, match="not a branch"):
        hub.resolve("org/name", revision)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"model.safetensors": 5}, "no config.json"),
        ({"config.json": 5, "pytorch_model.bin": 5}, "no safetensors weights"),
        ({"config.json": 5, "sub/model.safetensors": 5}, "no safetensors weights"),
        ({"config.json": 5, "model.safetensors": 41 * 10**9}, r"has 41\.0 GB"),
        ({}, "no config.json"),
        ({"m-Q4.gguf": 5}, r"only as GGUF \(m-Q4\.gguf\)"),
        ({"config.json": 5, "m-Q4.gguf": 5}, "only as GGUF"),
    ],
)
def test_what_the_listing_shows(fake: FakeHub, files: dict[str, int | None], message: str) -> None:
    fake.files = files
    with pytest.raises(BackendError, match=message):
        hub.resolve("org/name")
    with pytest.raises(BackendError, match=message):
        hub.fetch("org/name", COMMIT)
    assert all(local for _, _, local in fake.asked)


def test_unknown_sizes_count_as_nothing(fake: FakeHub) -> None:
    fake.files["model.safetensors"] = None
    assert hub.resolve("org/name").total_bytes == 2_500


@pytest.mark.parametrize("sha", [None, "", "main", "ABC"])
def test_an_answer_without_a_commit(fake: FakeHub, sha: str | None) -> None:
    fake.sha = sha
    with pytest.raises(BackendError, match="returned no commit"):
        hub.resolve("org/name")


def http(kind: type[Exception], status: int = 404) -> Exception:
    """An error as huggingface_hub raises it."""
    error = kind.__new__(kind)
    Exception.__init__(error, "secret detail")
    error.response = SimpleNamespace(status_code=status)  # type: ignore[attr-defined]
    return error


FAILURES = [
    (http(errors.RepositoryNotFoundError), "no public model org/name"),
    (http(errors.GatedRepoError), "gated"),
    (http(errors.RevisionNotFoundError), "no revision"),
    (http(errors.DisabledRepoError), "disabled"),
    (http(errors.HfHubHTTPError, 503), "returned HTTP 503"),
    (errors.OfflineModeIsEnabled("offline"), "not in the local cache"),
    (errors.LocalEntryNotFoundError("gone"), "not in the local cache"),
    (ConnectionError("refused"), "could not be reached"),
    (TimeoutError("slow"), "could not be reached"),
    (ValueError("odd answer"), "could not be reached"),
    (OSError(28, "No space left on device"), "disk is full"),
]


@pytest.mark.parametrize(("error", "message"), FAILURES, ids=[message for _, message in FAILURES])
def test_every_failure_of_a_download_is_said_in_words(fake: FakeHub, error: Exception, message: str) -> None:
    fake.download_error = error
    with pytest.raises(BackendError, match=message) as caught:
        hub.fetch("org/name", "main")
    assert "secret detail" not in str(caught.value)


REFUSALS = [
    (404, {"x-error-code": "RepoNotFound"}, "no public model org/name"),
    (401, {}, "no public model org/name"),
    (403, {"x-error-code": "GatedRepo"}, "gated"),
    (404, {"x-error-code": "RevisionNotFound"}, "no revision 'v9'"),
    (403, {"x-error-message": "Access to this resource is disabled."}, "disabled"),
    (503, {}, "returned HTTP 503"),
    (404, {}, "returned HTTP 404"),
]


@pytest.mark.parametrize(("status", "headers", "message"), REFUSALS)
def test_every_refusal_of_a_listing_is_said_in_words(
    fake: FakeHub, status: int, headers: dict[str, str], message: str
) -> None:
    fake.refusal = status, headers
    with pytest.raises(BackendError, match=message) as caught:
        hub.resolve("org/name", "v9")
    assert "secret detail" not in str(caught.value)


def test_a_cached_commit_needs_no_network(fake: FakeHub, tmp_path: Path) -> None:
    fake.cached, fake.error = tmp_path, Unreachable("no network")
    assert hub.fetch("org/name", COMMIT) == (tmp_path, COMMIT)
    assert fake.asked == [("org/name", COMMIT, True)]


def test_a_fetch_asks_first_and_takes_only_harmless_files(fake: FakeHub, tmp_path: Path) -> None:
    fake.folder = tmp_path
    assert hub.fetch("org/name", "main") == (tmp_path, COMMIT)
    assert fake.asked == [("org/name", COMMIT, False)]
    assert fake.patterns[-1] == {
        "allow_patterns": ["*.json", "*.safetensors", "*.txt", "*.model", "chat_template.jinja"],
        "ignore_patterns": ["*/*", "consolidated*"],
    }
    assert set(fake.tokens) == {False}


def test_the_real_library_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for revision in ("main", COMMIT):
        with pytest.raises(BackendError, match="not in the local cache"):
            hub.fetch("org/name", revision)


def test_a_hub_model_loads_like_a_folder(fake: FakeHub, tiny_models: Path, tmp_path: Path) -> None:
    fake.cached = Path(shutil.copytree(tiny_models / "character", tmp_path / "snapshot"))
    config = {"source": "hub", "repo": "org/name", "revision": COMMIT}
    backend = load_backend("causal", config, model_dir=tmp_path, hub_allowed=True)
    assert backend.facts.revision == COMMIT
    other = load_backend("causal", {**config, "repo": "org/other"}, model_dir=tmp_path, hub_allowed=True)
    assert other.facts.fingerprint != backend.facts.fingerprint
    (fake.cached / "model.safetensors").unlink()
    with pytest.raises(BackendError, match=r"no model\.safetensors"):
        load_backend("causal", config, model_dir=tmp_path, hub_allowed=True)
