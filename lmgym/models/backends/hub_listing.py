"""Fetch the commit, licence and file list of a repository on the Hub.

Web requests may trigger this, and mirrors are not trusted. The response has a size limit and one overall deadline, only
the needed fields are decoded, and each name and size is checked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import msgspec

from lmgym.models.backends.base import BackendError, BackendUnavailable, FilesMissing
from lmgym.net import NetError, NetPolicy, Response, TimedOut, TooLarge, request
from lmgym.net.responses import retry_after

MAX_BYTES = 5_000_000
"""Size of the file list of a repository with 20,000 files."""
BY_HAND = "Download it yourself and put the folder into the model directory."
MAX_WAIT_SECONDS = 60.0
"""Longest wait that the Hub may impose by status 429. huggingface_hub and `ask` wait up to five times."""
_WAITS = 5
_MAX_FILE_BYTES = 10**15
_MAX_NAME = 250
_LATER = "Try again later."


class _File(msgspec.Struct):
    rfilename: str
    size: Annotated[int, msgspec.Meta(ge=0, le=_MAX_FILE_BYTES)] | None = None


class _Card(msgspec.Struct):
    license: Any = None


class _Repository(msgspec.Struct):
    id: str | None = None
    sha: str | None = None
    gated: bool | str = False
    siblings: list[_File] | None = None
    cardData: _Card | None = None


@dataclass(frozen=True)
class Listing:
    """Commit, licence and files of a repository.

    Attributes:
        repo: its present name; the requested one may be an old or short one.
        sizes: bytes by file name; 0 = unknown.
        is_gated: the files are given only to accounts that its owners admit.
    """

    repo: str
    commit: str
    licence: str
    sizes: dict[str, int]
    is_gated: bool = False


def ask(repo: str, revision: str, *, seconds: float, patient: bool = False) -> Listing:
    """Request the file list of a repository.

    Args:
        seconds: deadline of the request.
        patient: wait as the Hub demands when it receives too many requests (status 429), up to MAX_WAIT_SECONDS each.

    Raises:
        FilesMissing: this machine is offline.
        BackendUnavailable: the Hub cannot be reached, is overloaded or down.
        BackendError: the request failed otherwise.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise not_here(repo, revision)
    url = f"{constants.ENDPOINT}/api/models/{repo}/revision/{quote(revision, safe='')}?blobs=true"
    waits = _WAITS if patient else 0
    while (response := _get(url, repo, constants.ENDPOINT, seconds)).status == 429 and waits:
        if (pause := pause_seconds(response.headers) or 1.0) > MAX_WAIT_SECONDS:
            break
        waits -= 1
        time.sleep(pause)
    _require_success(response, repo, revision)
    try:
        repository = msgspec.json.decode(response.body, type=_Repository)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        reason = str(error)[:200]
        raise BackendError(f"The Hub's file list of {repo} is invalid: {reason}.", _LATER) from error
    sizes = {entry.rfilename: entry.size or 0 for entry in repository.siblings or ()}
    licence, is_gated = _licence(repository.cardData), bool(repository.gated)
    return Listing(repository.id or repo, repository.sha or "", licence, sizes, is_gated)


def _get(url: str, repo: str, endpoint: str, seconds: float) -> Response:
    try:
        return request("GET", url, policy=_policy(endpoint, seconds))
    except TimedOut as error:
        raise BackendUnavailable(
            f"The Hub took longer than {seconds:g} seconds to list {repo}.", _LATER
        ) from error
    except TooLarge as error:
        limit = f"{MAX_BYTES / 1e6:g} MB"
        raise BackendError(f"The Hub's file list of {repo} is larger than {limit}.", BY_HAND) from error
    except (NetError, ValueError) as error:
        raise unreachable(repo, error) from error


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


def bad_status(repo: str, status: int, headers: Mapping[str, str]) -> BackendError:
    """Build the error for a status that no header of the Hub explains."""
    if status == 401:
        return no_model(repo)
    if status == 429:
        return rate_limited(repo, pause_seconds(headers))
    kind = BackendUnavailable if status >= 500 else BackendError
    return kind(f"The Hub returned HTTP {status} for {repo}.", _LATER)


def rate_limited(repo: str, pause: float | None) -> BackendUnavailable:
    when = f"Try again in {pause:,.0f} seconds." if pause else _LATER
    return BackendUnavailable(
        f"The Hub accepts no more requests from this machine for now (HTTP 429 for {repo}).", when
    )


def unreachable(repo: str, error: Exception) -> BackendUnavailable:
    return BackendUnavailable(
        f"The Hub could not be reached for {repo} ({type(error).__name__}).",
        "Check the network and try again.",
    )


def interrupted(repo: str, error: Exception) -> BackendUnavailable:
    return BackendUnavailable(
        f"The download of {repo} was interrupted several times ({type(error).__name__}).",
        "Check the network and try again; files that are complete are kept.",
    )


def pause_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait after status 429, or None if the Hub does not say."""
    from huggingface_hub.utils._http import parse_ratelimit_headers

    limit = parse_ratelimit_headers(headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    return retry_after(headers)


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
    if code == "RepoNotFound":
        raise no_model(repo)
    if answer.headers.get("x-error-message") == "Access to this resource is disabled.":
        raise disabled(repo)
    raise bad_status(repo, answer.status, answer.headers)


def _licence(card: _Card | None) -> str:
    """Return the licence in the model card, or ""."""
    stated = card.license if card is not None else None
    return ", ".join(map(str, stated)) if isinstance(stated, list) else str(stated or "")
