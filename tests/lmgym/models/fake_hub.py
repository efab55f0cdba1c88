"""A fake Hub without a network: file lists of repositories, and downloads of its library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import constants, errors

from lmgym.models.backends import hub_listing
from lmgym.net import NetPolicy, Response

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    """Replaces the request of the file list and snapshot_download, and records the requests."""

    def __init__(self, files: dict[str, int | None]) -> None:
        self.files = dict(files)
        self.sha: str | None = COMMIT
        self.card: dict[str, Any] | None = {"license": "apache-2.0"}
        self.error: Exception | None = None
        self.refusal: tuple[int, dict[str, str]] | None = None
        self.download_error: Exception | None = None
        self.cached: Path | None = None
        self.folder: Path | None = None
        self.urls: list[str] = []
        self.asked: list[tuple[str, str, bool]] = []
        self.tokens: list[Any] = []
        self.patterns: list[Any] = []

    def request(self, method: str, url: str, *, policy: NetPolicy, **more: Any) -> Response:
        assert not more, "nothing but the address is sent"
        self.urls.append(url)
        if self.error:
            raise self.error
        if self.refusal:
            return Response(self.refusal[0], self.refusal[1], b"secret detail")
        siblings = [{"rfilename": name, "size": size} for name, size in self.files.items()]
        body = {"_id": "1", "sha": self.sha, "siblings": siblings, "cardData": self.card}
        return Response(200, {}, json.dumps(body).encode())

    def snapshot(
        self, repo: str, *, revision: str, local_files_only: bool, token: Any, **patterns: Any
    ) -> str:
        self.asked.append((repo, revision, local_files_only))
        self.tokens.append(token)
        self.patterns.append(patterns)
        if local_files_only:
            if self.cached is None:
                raise errors.LocalEntryNotFoundError("not cached")
            return str(self.cached)
        if self.download_error:
            raise self.download_error
        return str(self.folder)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> FakeHub:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(hub_listing, "request", self.request)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", self.snapshot)
        return self
