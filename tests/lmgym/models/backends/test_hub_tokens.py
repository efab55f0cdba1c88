"""Gated and private models of the Hub: which token is sent, when, and where; with a local server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lmgym.models.backends import BackendError, downloads, hub, hub_cache
from lmgym.models.backends.hub_listing import AccessDenied, HubToken
from lmgym.models.given import open_model
from tests.lmgym.models import tiny
from tests.lmgym.models.hub_server import HubServer, hub_server, use_hub

FILES = {
    "config.json": b"{}",
    "model.safetensors": b"weights" * 9,
    "tokenizer.json": b"{}",
    "vocab.json": b"{}",
}
SECRET = "hf_alices0secret"
TOKEN = HubToken(SECRET, "the token of a test")
HEADER = f"Bearer {SECRET}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """A Hub with a public, a gated and a private model; alice's token may read all."""
    with hub_server() as there:
        use_hub(monkeypatch, there.url, tmp_path / "cache")
        there.add("org/open", FILES)
        there.add("org/gated", FILES, gated=True)
        there.add("org/private", FILES, private=True)
        there.tokens = {SECRET: {"org/gated", "org/private"}, "hf_without0access": set()}
        yield there


@pytest.mark.parametrize("repo", ["org/gated", "org/private"])
def test_a_token_opens_a_model_and_reaches_only_the_hub(server: HubServer, repo: str) -> None:
    fetched = hub.fetch(repo, "main", token=TOKEN)
    assert (fetched.folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert server.tokens_sent("hub") == {"", HEADER}
    assert server.tokens_sent("storage") == {""}


def test_no_token_is_sent_for_a_public_model(server: HubServer) -> None:
    hub.fetch("org/open", "main", token=TOKEN)
    assert server.tokens_sent() == {""}


def test_a_list_that_continues_at_another_host_is_asked_for_without_the_token(server: HubServer) -> None:
    server.moved_to = server.storage_url
    with pytest.raises(BackendError):
        hub.fetch("org/private", "main", token=TOKEN)
    assert [one.path for one in server.asked("cursor=") if one.of == "storage"]
    assert server.tokens_sent("storage") == {""}


def test_a_redirect_to_another_host_is_refused(server: HubServer) -> None:
    server.fail("/revision/", times=9, status=307, headers={"Location": server.storage_url + "/revision/x"})
    with pytest.raises(BackendError, match="could not be reached"):
        hub.resolve("org/private", token=TOKEN)
    assert server.tokens_sent("storage") == set()


def test_tokens_of_the_environment_and_of_other_programs_are_ignored(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", SECRET)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", __file__)
    hub.fetch("org/open", "main")
    with pytest.raises(AccessDenied):
        hub.fetch("org/private", "main")
    assert server.tokens_sent() == {""}


@pytest.mark.parametrize(
    ("repo", "secret", "message"),
    [
        ("org/gated", "", r"org/gated is gated.* Ask for access at http\S+/org/gated, then add your token on your "),
        ("org/gated", "hf_without0access", r"gated, and my token does not have access to it\. Ask for access at "),
        ("org/gated", "hf_expired", r"rejected my token when asked for org/gated\. It may have expired"),
        ("org/private", "", r"no public model org/private\..* private: add your token on your profile page"),
        ("org/private", "hf_without0access", r"no model org/private that is public or that my token may read"),
        ("org/private", "hf_expired", "rejected my token"),
    ],
)  # fmt: skip
def test_refusals_say_what_to_do_and_never_the_token(
    server: HubServer, repo: str, secret: str, message: str
) -> None:
    token = HubToken(secret, "my token") if secret else None
    for ask in (hub.resolve, hub.fetch):
        with pytest.raises(AccessDenied, match=message) as raised:
            ask(repo, "main", token=token)
        assert not secret or secret not in f"{raised.value} {raised.value!r} {token!r}"
    assert server.asked("/resolve/") == []


def test_access_that_is_withdrawn_during_a_download_is_named(server: HubServer) -> None:
    server.fail("/resolve/", times=9, status=403, headers={"X-Error-Code": "GatedRepo"})
    with pytest.raises(AccessDenied, match="the token of a test does not have access"):
        hub.fetch("org/gated", "main", token=TOKEN)


def test_what_one_token_brought_is_not_given_to_a_check_without_it(server: HubServer) -> None:
    fetched = hub.fetch("org/private", "main", token=TOKEN, budget=0)
    assert hub_cache.is_restricted("org/private", fetched.commit)
    with pytest.raises(AccessDenied):
        hub.fetch("org/private", fetched.commit, ask_access=True)
    with pytest.raises(AccessDenied):
        hub.inspect_revision("org/private", fetched.commit, seconds=5)
    server.close()
    with pytest.raises(BackendError, match="could not be reached"):  # file names are not cached either
        hub.inspect_revision("org/private", fetched.commit, seconds=5)
    assert hub.fetch("org/private", fetched.commit).folder == fetched.folder  # a run of a checked model


def test_the_review_lists_a_gated_model_with_the_token_only(server: HubServer, tmp_path: Path) -> None:
    config = {"source": "hub", "repo": "org/gated"}

    def listed(token: HubToken | None) -> downloads.Download:
        return downloads.download_of("causal", config, model_dir=tmp_path, hub_allowed=True, token=token)

    assert "is gated" in listed(None).obstacle
    assert (listed(TOKEN).obstacle, listed(TOKEN).total_bytes) == ("", sum(map(len, FILES.values())))


def test_the_library_reads_a_private_model_with_hf_token(
    server: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    tokenizer = tiny.train("byte-bpe")
    folder = tiny.save(tmp_path / "m", tiny.gpt2(tokenizer.get_vocab_size()), tiny.fast(tokenizer))
    server.add("org/private", folder, private=True)
    with pytest.raises(AccessDenied, match="set HF_TOKEN"):
        open_model("org/private")
    monkeypatch.setenv("HF_TOKEN", SECRET)
    assert open_model("org/private").backend.facts.revision == server.repos["org/private"].refs["main"]
