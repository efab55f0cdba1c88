"""Fetch the commit, licence and file list of a repository on the Hub.

Web requests may trigger this, and mirrors are not trusted. The response has a size limit and one overall deadline, only
the needed fields are decoded, and each name and size is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import msgspec

from lmgym.models.backends.base import BackendError, FilesMissing
from lmgym.net import NetError, NetPolicy, Response, TimedOut, TooLarge, request

MAX_BYTES = 5_000_000
"""Size of the file list of a repository with 20,000 files."""
BY_HAND = "Download it yourself and put the folder into the model directory."
_MAX_FILE_BYTES = 10**15
_MAX_NAME = 250
_LATER = "Try again later."


class _File(msgspec.Struct):
    rfilename: str
    size: Annotated[int, msgspec.Meta(ge=0, le=_MAX_FILE_BYTES)] | None = None


class _Card(msgspec.Struct):
    license: Any = None


class _Repository(msgspec.Struct):
    sha: str | None = None
    siblings: list[_File] | None = None
    cardData: _Card | None = None


@dataclass(frozen=True)
class Listing:
    """Commit, licence and files of a repository. `sizes` maps names to bytes; 0 = unknown."""

    commit: str
    licence: str
    sizes: dict[str, int]


def ask(repo: str, revision: str, *, seconds: float) -> Listing:
    """Request the file list of a repository.

    Raises:
        FilesMissing: this machine is offline.
        BackendError: the request failed.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise not_here(repo, revision)
    url = f"{constants.ENDPOINT}/api/models/{repo}/revision/{quote(revision, safe='')}?blobs=true"
    try:
        response = request("GET", url, policy=_policy(constants.ENDPOINT, seconds))
    except TimedOut as error:
        raise BackendError(f"The Hub took longer than {seconds:g} seconds to list {repo}.", _LATER) from error
    except TooLarge as error:
        limit = f"{MAX_BYTES / 1e6:g} MB"
        raise BackendError(f"The Hub's file list of {repo} is larger than {limit}.", BY_HAND) from error
    except (NetError, ValueError) as error:
        raise unreachable(repo, error) from error
    _require_success(response, repo, revision)
    try:
        repository = msgspec.json.decode(response.body, type=_Repository)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        reason = str(error)[:200]
        raise BackendError(f"The Hub's file list of {repo} is invalid: {reason}.", _LATER) from error
    sizes = {entry.rfilename: entry.size or 0 for entry in repository.siblings or ()}
    return Listing(repository.sha or "", _licence(repository.cardData), sizes)


def require_file_names(repo: str, names: list[str]) -> None:
    """Raise BackendError unless all names are plain file names in the top folder."""
    for name in names:
        if name.startswith(".") or not name.isprintable() or set(name) & set("/\\") or len(name) > _MAX_NAME:
            raise BackendError(
                f"The Hub's file list of {repo} contains {name[:_MAX_NAME]!r}, which is not a valid file name.",
                BY_HAND,
            )


def not_here(repo: str, revision: str) -> FilesMissing:
    return FilesMissing(
        f"{repo} at {revision} is not in the local cache, and this machine is offline.",
        "Unset HF_HUB_OFFLINE, check the network, or put the model into the model directory.",
    )


def no_model(repo: str) -> BackendError:
    return BackendError(
        f"The Hub has no public model {repo}.", "Check the spelling. If the model is private: " + BY_HAND
    )


def gated(repo: str) -> BackendError:
    return BackendError(f"{repo} is gated: its owners require users to accept an agreement.", BY_HAND)


def no_revision(repo: str, revision: str) -> BackendError:
    return BackendError(f"{repo} has no revision {revision!r}.", "Use a branch, a tag or a full commit.")


def disabled(repo: str) -> BackendError:
    return BackendError(f"The Hub has disabled {repo}.")


def bad_status(repo: str, status: object) -> BackendError:
    return BackendError(f"The Hub returned HTTP {status} for {repo}.", _LATER)


def unreachable(repo: str, error: Exception) -> BackendError:
    return BackendError(
        f"The Hub could not be reached for {repo} ({type(error).__name__}).",
        "Check the network and try again.",
    )


def _policy(endpoint: str, seconds: float) -> NetPolicy:
    """Allow only this Hub, which the operator configured, and its redirects. Raises ValueError."""
    parts = urlsplit(endpoint)
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return NetPolicy.allowing(
        f"{parts.scheme}://{host}:{port}", seconds=seconds, max_bytes=MAX_BYTES, redirects=3, proxies=True
    )


def _require_success(answer: Response, repo: str, revision: str) -> None:
    """Raise the error that the Hub's headers indicate."""
    if answer.ok:
        return
    code = answer.headers.get("x-error-code")
    if code == "GatedRepo":
        raise gated(repo)
    if code == "RevisionNotFound":
        raise no_revision(repo, revision)
    if code == "RepoNotFound" or answer.status == 401:
        raise no_model(repo)
    if answer.headers.get("x-error-message") == "Access to this resource is disabled.":
        raise disabled(repo)
    raise bad_status(repo, answer.status)


def _licence(card: _Card | None) -> str:
    """Return the licence in the model card, or ""."""
    stated = card.license if card is not None else None
    return ", ".join(map(str, stated)) if isinstance(stated, list) else str(stated or "")
