"""Fetch the commit, licence, file list, branches and tags of a repository on the Hub.

Web requests may trigger this, and mirrors are not trusted. The response has a size limit and one overall deadline, only
the needed fields are decoded, and each name and size is checked. Tokens are sent to the Hub's endpoint only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from lmgym.models.backends.base import BackendError, BackendUnavailable, FilesMissing
from lmgym.net import NetError, NetPolicy, Response, TimedOut, TooLarge, request
from lmgym.net.responses import retry_after

MAX_BYTES = 5_000_000
"""Limit on a response in bytes: the size of the file list of a repository with 20,000 files."""
BY_HAND = "Download the model yourself and put its folder into the model directory."
MAX_WAIT_SECONDS = 60.0
"""Longest wait in seconds accepted after status 429. huggingface_hub and `fetch_listing` wait up to five times."""
_WAITS = 5
_MAX_FILE_BYTES = 10**15
_MAX_NAME = 250
_LATER = "Try again later."
_BRING_ONE = "add your token on your profile page (on your own machine: set HF_TOKEN)."
_Body = TypeVar("_Body")


class AccessDenied(BackendError):
    """The Hub does not show a repository or its files without a token, or with the token in use."""


@dataclass(frozen=True)
class HubToken:
    """An access token of the Hub.

    Attributes:
        value: the secret; left out of `repr`.
        name: name in messages, such as "the token in HF_TOKEN".
    """

    value: str = field(repr=False)
    name: str


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


class _Ref(msgspec.Struct):
    name: str
    targetCommit: str


class _Refs(msgspec.Struct):
    branches: list[_Ref] = []
    tags: list[_Ref] = []


@dataclass(frozen=True)
class Listing:
    """Commit, licence and files of a repository.

    Attributes:
        repo: current name; the requested name may be old or short.
        sizes: bytes by file name; 0 = unknown.
        is_gated: only accounts approved by the owners may download the files.
    """

    repo: str
    commit: str
    licence: str
    sizes: dict[str, int]
    is_gated: bool = False


def fetch_listing(
    repo: str, revision: str, *, seconds: float, patient: bool = False, token: HubToken | None = None
) -> Listing:
    """Request the file list of a repository.

    Args:
        seconds: deadline of the request.
        patient: on status 429 (too many requests), wait as long as the Hub demands, up to MAX_WAIT_SECONDS
            each time.
        token: sent with the request.

    Raises:
        FilesMissing: this machine is offline.
        BackendUnavailable: the Hub cannot be reached, is overloaded or down.
        AccessDenied: the repository is private or does not exist, or the token does not permit reading it.
        BackendError: the request failed otherwise.
    """
    path = f"/revision/{quote(revision, safe='')}?blobs=true"
    response = _get(repo, path, revision, seconds, token, patient=patient)
    repository = _decode(response, _Repository, repo)
    sizes = {entry.rfilename: entry.size or 0 for entry in repository.siblings or ()}
    licence, is_gated = _licence(repository.cardData), bool(repository.gated)
    return Listing(repository.id or repo, repository.sha or "", licence, sizes, is_gated)


def refs(repo: str, *, seconds: float, token: HubToken | None = None) -> dict[str, str]:
    """Request the branches and tags of a repository. Raises like `fetch_listing`.

    Returns:
        The commit of each. A branch takes precedence over a tag of the same name.
    """
    found = _decode(_get(repo, "/refs", "", seconds, token), _Refs, repo)
    return {ref.name: ref.targetCommit for ref in (*found.tags, *found.branches)}


def require_access(repo: str, token: HubToken, *, seconds: float, patient: bool = False) -> None:
    """Raise AccessDenied unless this token permits reading the files of a gated repository.

    Other errors are those of `fetch_listing`.
    """
    _get(repo, "/auth-check", "", seconds, token, patient=patient)


def _get(
    repo: str, path: str, revision: str, seconds: float, token: HubToken | None, *, patient: bool = False
) -> Response:
    """Request a path below the repository's URL in the Hub's API. Returns only a successful response."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise not_cached(repo, revision)
    endpoint, waits = constants.ENDPOINT, _WAITS if patient else 0
    url = f"{endpoint}/api/models/{repo}{path}"
    while (response := _send(url, repo, endpoint, seconds, token)).status == 429 and waits:
        if (pause := pause_seconds(response.headers) or 1.0) > MAX_WAIT_SECONDS:
            break
        waits -= 1
        time.sleep(pause)
    _require_success(response, repo, revision, token)
    return response


def _send(url: str, repo: str, endpoint: str, seconds: float, token: HubToken | None) -> Response:
    headers = {"Authorization": f"Bearer {token.value}"} if token else {}
    try:
        return request("GET", url, policy=_policy(endpoint, seconds), headers=headers)
    except TimedOut as error:
        raise BackendUnavailable(
            f"The Hub took longer than {seconds:g} seconds to respond for {repo}.", _LATER
        ) from error
    except TooLarge as error:
        limit = f"{MAX_BYTES / 1e6:g} MB"
        raise BackendError(f"The Hub's response for {repo} is larger than {limit}.", BY_HAND) from error
    except (NetError, ValueError) as error:
        raise unreachable(repo, error) from error


def _decode(response: Response, kind: type[_Body], repo: str) -> _Body:
    try:
        return msgspec.json.decode(response.body, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        reason = str(error)[:200]
        raise BackendError(f"The Hub's response for {repo} is invalid: {reason}.", _LATER) from error


def require_file_names(repo: str, names: list[str]) -> None:
    """Raise BackendError unless all names are plain file names in the top folder."""
    for name in names:
        if name.startswith(".") or not name.isprintable() or set(name) & set("/\\") or len(name) > _MAX_NAME:
            raise BackendError(
                f"The Hub's file list of {repo} contains {name[:_MAX_NAME]!r}, which is not a valid file name.",
                BY_HAND,
            )


def not_cached(repo: str, revision: str) -> FilesMissing:
    named = f"{repo} at {revision}" if revision else repo
    return FilesMissing(
        f"{named} is not in the local cache, and this machine is offline.",
        "Unset HF_HUB_OFFLINE, check the network, or put the model into the model directory.",
    )


def no_model(repo: str, token: HubToken | None = None) -> AccessDenied:
    if token:
        return AccessDenied(
            f"The Hub has no model {repo} that is public or that {token.name} may read.",
            "Check the spelling, and that the token has read access to the model.",
        )
    return AccessDenied(
        f"The Hub has no public model {repo}.", f"Check the spelling. If the model is private: {_BRING_ONE}"
    )


def gated(repo: str, token: HubToken | None = None) -> AccessDenied:
    from huggingface_hub import constants

    page = f"{constants.ENDPOINT}/{repo}"
    if token:
        return AccessDenied(
            f"{repo} is gated, and {token.name} does not have access to it.", f"Ask for access at {page}."
        )
    return AccessDenied(
        f"{repo} is gated: its owners decide who may read it.",
        f"Ask for access at {page}, then {_BRING_ONE}",
    )


def bad_token(repo: str, token: HubToken) -> AccessDenied:
    return AccessDenied(
        f"The Hub rejected {token.name} when asked for {repo}.",
        "It may have expired or been revoked. Replace it.",
    )


def no_revision(repo: str, revision: str) -> BackendError:
    return BackendError(f"{repo} has no revision {revision!r}.", "Use a branch, a tag or a full commit hash.")


def disabled(repo: str) -> BackendError:
    return BackendError(f"The Hub has disabled {repo}.")


def bad_status(
    repo: str, status: int, headers: Mapping[str, str], token: HubToken | None = None
) -> BackendError:
    """Build the error for an HTTP status without a known error code of the Hub."""
    if token and headers.get("x-error-message") == "Invalid credentials in Authorization header":
        return bad_token(repo, token)
    if status == 401 or (status == 403 and token):
        return no_model(repo, token)
    if status == 429:
        return rate_limited(repo, pause_seconds(headers))
    kind = BackendUnavailable if status >= 500 else BackendError
    return kind(f"The Hub returned HTTP {status} for {repo}.", _LATER)


def rate_limited(repo: str, pause: float | None) -> BackendUnavailable:
    seconds = math.ceil(pause or 0)
    when = f"Try again in {seconds:,} {'second' if seconds == 1 else 'seconds'}." if pause else _LATER
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
    """Return the seconds to wait after status 429, or None if no header gives them."""
    from huggingface_hub.utils._http import parse_ratelimit_headers

    limit = parse_ratelimit_headers(headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    return retry_after(headers)


def _policy(endpoint: str, seconds: float) -> NetPolicy:
    """Build a policy that allows only the configured endpoint, with redirects on it. Raises ValueError."""
    parts = urlsplit(endpoint)
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return NetPolicy.allowing(
        f"{parts.scheme}://{host}:{port}", seconds=seconds, max_bytes=MAX_BYTES, redirects=3, proxies=True
    )


def _require_success(answer: Response, repo: str, revision: str, token: HubToken | None) -> None:
    """Raise the error that the Hub's headers indicate."""
    if answer.ok:
        return
    code = answer.headers.get("x-error-code")
    if code == "GatedRepo":
        raise gated(repo, token)
    if code == "RevisionNotFound":
        raise no_revision(repo, revision)
    if code == "RepoNotFound":
        raise no_model(repo, token)
    if answer.headers.get("x-error-message") == "Access to this resource is disabled.":
        raise disabled(repo)
    raise bad_status(repo, answer.status, answer.headers, token)


def _licence(card: _Card | None) -> str:
    """Return the licence in the model card, or ""."""
    stated = card.license if card is not None else None
    return ", ".join(map(str, stated)) if isinstance(stated, list) else str(stated or "")
