"""A local Hub that speaks the protocol of huggingface.co to the real `huggingface_hub`, and fails on request.

Two servers run in threads: the Hub, and the storage of large files ("LFS") to which it redirects with signed
addresses. What it imitates, with the names of the Hub's headers:

* `/api/models/{repo}/revision/{revision}` with commit, files and card, `/api/models/{repo}/tree/{commit}` in pages;
* `/{repo}/resolve/{commit}/{file}`: large files 302 to the storage, small ones 307 to `/api/resolve-cache`;
* old names of a repository (`gpt2`) by 307 to the new one;
* branches and tags, listed at `/api/models/{repo}/refs`; missing repositories, revisions and files by X-Error-Code;
* gated, private and disabled repositories, tokens, and `/api/models/{repo}/auth-check`. The storage refuses a request
  with a token: it is another host.

Xet addresses are announced for large files, as on the Hub, and must never be requested.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import sleep  # the real one, where a test replaces time.sleep
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest

PAGE = 2
"""Entries per page of a tree; 1,000 on the Hub."""
_MODEL = re.compile(r"/api/models/(?P<repo>[^/]+(?:/[^/]+)?)/(?P<what>revision|tree)/(?P<revision>[^/]+)")
_ABOUT = re.compile(r"/api/models/(?P<repo>[^/]+(?:/[^/]+)?)/(?P<what>refs|auth-check)")
_RESOLVE = re.compile(r"/(?P<repo>[^/]+(?:/[^/]+)?)/resolve/(?P<revision>[^/]+)/(?P<name>.+)")
_CACHED = re.compile(r"/api/resolve-cache/models/(?P<repo>[^/]+/[^/]+)/(?P<revision>[^/]+)/(?P<name>.+)")
_STORED = re.compile(r"/repos/(?P<sha256>[0-9a-f]{64})")
LARGE = (".safetensors", ".bin")


def git_name(content: bytes) -> str:
    """Return Git's hash of a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass
class Repo:
    """A repository: files by commit, and commits by branch and tag."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    card: dict[str, Any] | None = field(default_factory=lambda: {"license": "apache-2.0"})
    tags: set[str] = field(default_factory=set)
    """Names of the refs that are tags."""
    gated: bool = False
    private: bool = False
    disabled: bool = False
    sizes: dict[str, int | None] = field(default_factory=dict)
    """Sizes that the list gives instead of the true ones."""

    def commit(self, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Store files as the newest commit of a branch; return its id."""
        listed = "".join(f"{name}\0{git_name(content)}\n" for name, content in sorted(files.items()))
        sha = hashlib.sha1(f"{len(self.commits)}\0{listed}".encode(), usedforsecurity=False).hexdigest()
        self.commits[sha] = dict(files)
        self.refs[branch] = sha
        return sha

    def find(self, revision: str) -> str | None:
        return self.refs.get(revision, revision if revision in self.commits else None)


@dataclass
class Fault:
    """What to do with the next `times` requests whose path contains `path`, instead of or while answering.

    Attributes:
        method: only requests with this method.
        status: answer this, with `headers`.
        cut_after: close the connection after so many bytes of the body; `reset`: by RST.
        content: send these bytes as the body.
        bytes_per_second: pace of the body, until the fault is removed from `faults`.
    """

    path: str
    method: str = ""
    times: int = 1
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    reset: bool = False
    content: bytes | None = None
    bytes_per_second: float = 0


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    of: str
    """Server that received the request: "hub" or "storage"."""


class HubServer:
    """A running Hub. `url` is its HF_ENDPOINT; `requests` lists the requests it received."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.old_names: dict[str, str] = {}
        self.tokens: dict[str, set[str]] = {}
        """Gated and private repositories that each token may read."""
        self.moved_to = ""
        """Address at which lists continue; "" = this server."""
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.closed = threading.Event()
        self._lock = threading.Lock()
        self._servers = {name: self._start(name) for name in ("hub", "storage")}
        self.url, self.storage_url = (
            f"http://127.0.0.1:{server.server_address[1]}" for server in self._servers.values()
        )

    def add(self, repo: str, files: Mapping[str, bytes] | Path, **more: Any) -> str:
        """Add a repository with one commit on main; return the commit. A folder adds its files."""
        if isinstance(files, Path):
            files = {path.name: path.read_bytes() for path in files.iterdir()}
        self.repos[repo] = Repo(**more)
        return self.repos[repo].commit(files)

    def fail(self, path: str, **more: Any) -> None:
        """Prepare a Fault."""
        self.faults.append(Fault(path, **more))

    def asked(self, path: str = "", method: str = "") -> list[Request]:
        """Return the requests so far whose path contains `path`."""
        with self._lock:
            return [one for one in self.requests if path in one.path and method in ("", one.method)]

    def tokens_sent(self, of: str = "") -> set[str]:
        """Return the Authorization headers of the requests so far, "" for requests without one."""
        with self._lock:
            return {one.headers.get("authorization", "") for one in self.requests if of in ("", one.of)}

    def close(self) -> None:
        self.closed.set()
        for server in self._servers.values():
            server.shutdown()
            server.server_close()

    def take_fault(self, method: str, path: str) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if fault.times > 0 and fault.path in path and fault.method in ("", method):
                    fault.times -= 1
                    return fault
        return None

    def note(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)

    def stored(self, sha256: str) -> bytes | None:
        """Return a large file of any repository, or None."""
        contents = (
            content
            for repo in self.repos.values()
            for files in repo.commits.values()
            for name, content in files.items()
            if name.endswith(LARGE)
        )
        return next((body for body in contents if hashlib.sha256(body).hexdigest() == sha256), None)

    def _start(self, name: str) -> ThreadingHTTPServer:
        handler = type("Handler", (_Handler,), {"hub": self, "of": name})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True).start()
        return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each body waits 40 ms for the client to acknowledge its headers
    hub: HubServer
    of: str

    def log_message(self, *args: Any) -> None:
        """Print nothing."""

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client left
            super().handle()

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.hub.note(Request(self.command, self.path, headers, self.of))
        self.fault = self.hub.take_fault(self.command, self.path)
        if self.fault is not None and self.fault.status:
            return self._send(self.fault.status, b'{"error": "secret detail"}', **self.fault.headers)
        path = unquote(urlsplit(self.path).path)
        if self.of == "storage":
            return self._from_storage(path)
        if found := _MODEL.fullmatch(urlsplit(self.path).path):
            return self._model(found["repo"], found["what"], unquote(found["revision"]))
        if found := _ABOUT.fullmatch(path):
            return self._about(found["repo"], found["what"])
        if found := _CACHED.fullmatch(path) or _RESOLVE.fullmatch(path):
            return self._file(found["repo"], found["revision"], found["name"], cached=found.re is _CACHED)
        return self._error(404, "EntryNotFound", "Not here.")

    # --- what the Hub answers ---

    def _model(self, name: str, what: str, revision: str) -> None:
        if (found := self._commit(name, revision)) is None:
            return None
        repo, commit = found
        files = repo.commits[commit]
        if what == "revision":
            siblings = [
                {"rfilename": file, "blobId": git_name(content), "size": repo.sizes.get(file, len(content))}
                for file, content in files.items()
            ]
            if "blobs=true" not in self.path:
                siblings = [{"rfilename": file} for file in files]
            body = {
                "_id": "0", "id": name, "modelId": name, "sha": commit, "private": repo.private, "disabled": False,
                "gated": "manual" if repo.gated else False, "siblings": siblings, "cardData": repo.card,
            }  # fmt: skip
            return self._json(body, **{"X-Repo-Commit": commit})
        begin = int(parse_qs(urlsplit(self.path).query).get("cursor", ["0"])[0])
        listed = [self._entry(file, content) for file, content in sorted(files.items())]
        more = {}
        if begin + PAGE < len(listed):
            path = f"{self.hub.moved_to or self.hub.url}{urlsplit(self.path).path}?recursive=true&cursor={begin + PAGE}"
            more["Link"] = f'<{path}>; rel="next"'
        return self._json(listed[begin : begin + PAGE], **more)

    def _about(self, name: str, what: str) -> None:
        if (repo := self._repo(name)) is None:
            return None
        if what == "auth-check":
            return None if self._is_kept_out(name, repo) else self._json("OK")
        listed: dict[str, list[dict[str, str]]] = {"branches": [], "tags": [], "converts": []}
        for ref, commit in repo.refs.items():
            kind, folder = ("tags", "tags") if ref in repo.tags else ("branches", "heads")
            listed[kind].append({"name": ref, "ref": f"refs/{folder}/{ref}", "targetCommit": commit})
        return self._json(listed)

    def _entry(self, name: str, content: bytes) -> dict[str, Any]:
        entry = {"type": "file", "oid": git_name(content), "path": name, "size": len(content)}
        if name.endswith(LARGE):
            sha256 = hashlib.sha256(content).hexdigest()
            entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 134}
            entry["xetHash"] = sha256[::-1]
        return entry

    def _file(self, name: str, revision: str, file: str, *, cached: bool) -> None:
        if (found := self._commit(name, revision)) is None:
            return None
        repo, commit = found
        if self._is_kept_out(name, repo):
            return None
        content = repo.commits[commit].get(file)
        if content is None:
            return self._error(404, "EntryNotFound", "Entry not found", **{"X-Repo-Commit": commit})
        headers = {"X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
        if file.endswith(LARGE):
            sha256 = hashlib.sha256(content).hexdigest()
            signed = f"{self.hub.storage_url}/repos/{sha256}?X-Amz-Expires=3600&X-Amz-Signature=0123abcd"
            return self._send(
                302,
                b"Found. Redirecting",
                **headers,
                Location=signed,
                **{"X-Linked-Size": str(len(content)), "X-Linked-ETag": f'"{sha256}"'},
                **{"X-Xet-Hash": sha256[::-1]},
                Link=f'<{self.hub.url}/api/models/{name}/xet-read-token/{commit}>; rel="xet-auth"',
            )
        etag = f'"{git_name(content)}"'
        if not cached:
            there = f"/api/resolve-cache/models/{name}/{commit}/{quote(file)}?etag={quote(etag)}"
            linked = {"X-Linked-Size": str(len(content)), "X-Linked-ETag": etag}
            return self._send(307, b"", **headers, Location=there, **linked)
        return self._content(content, **headers, ETag=etag)

    def _commit(self, name: str, revision: str) -> tuple[Repo, str] | None:
        """Return the repository and commit of a request, or None after sending a redirect or an error."""
        if (repo := self._repo(name)) is None:
            return None
        if (commit := repo.find(revision)) is None:
            self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return None
        return repo, commit

    def _token(self) -> str:
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def _is_kept_out(self, name: str, repo: Repo) -> bool:
        """Return True after refusing a request for files of a gated repository without a token that may read
        them."""
        if not repo.gated or name in self.hub.tokens.get(self._token(), ()):
            return False
        words = f"Access to model {name} is restricted"
        if self._token():
            self._error(403, "GatedRepo", f"{words} and you are not in the authorized list.")
        else:
            self._error(401, "GatedRepo", f"{words}. You must have access to it and be authenticated.")
        return True

    def _repo(self, name: str) -> Repo | None:
        """Return the repository of a request, or None after sending a redirect or an error."""
        token = self._token()
        if token and token not in self.hub.tokens:
            self._error(401, "", "Invalid credentials in Authorization header")
            return None
        if (new := self.hub.old_names.get(name)) is not None:
            self._send(307, b"", Location=self.path.replace(f"/{name}/", f"/{new}/", 1))
            return None
        repo = self.hub.repos.get(name)
        if repo is None or (repo.private and name not in self.hub.tokens.get(token, ())):
            if token:
                self._error(404, "RepoNotFound", "Repository not found")
            else:
                self._error(401, "RepoNotFound", "Invalid username or password.")
            return None
        if repo.disabled:
            self._error(403, "", "Access to this resource is disabled.")
            return None
        return repo

    def _from_storage(self, path: str) -> None:
        found = _STORED.fullmatch(path)
        content = self.hub.stored(found["sha256"]) if found else None
        if found is None or content is None or "X-Amz-Signature=" not in self.path or self._token():
            return self._send(403, b"<Error><Code>AccessDenied</Code></Error>")
        return self._content(content, **{"Accept-Ranges": "bytes", "ETag": f'"{found["sha256"][:32]}"'})

    # --- sending ---

    def _content(self, content: bytes, **headers: str) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted is None:
            return self._send(200, content, **headers)
        begin = int(wanted[1])
        if begin >= len(content):
            return self._send(416, b"", **{"Content-Range": f"bytes */{len(content)}"})
        where = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        return self._send(206, content[begin:], **headers, **{"Content-Range": where})

    def _json(self, value: Any, **headers: str) -> None:
        self._send(200, json.dumps(value).encode(), **{"Content-Type": "application/json"}, **headers)

    def _error(self, status: int, code: str, words: str, **headers: str) -> None:
        named = ({"X-Error-Code": code} if code else {}) | {"X-Error-Message": words}
        self._send(status, json.dumps({"error": words}).encode(), **named, **headers)

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        fault = self.fault
        if fault is not None and fault.content is not None:
            body = fault.content
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        try:
            self._send_body(body, fault)
        except OSError:
            self.close_connection = True  # the client left

    def _send_body(self, body: bytes, fault: Fault | None) -> None:
        if fault is not None and fault.bytes_per_second:
            piece = max(1, int(fault.bytes_per_second / 10))
            for begin in range(0, len(body), piece):
                self.wfile.write(body[begin : begin + piece])
                if self.hub.closed.wait(0.1):
                    self.close_connection = True
                    return
                if fault not in self.hub.faults:  # cleared: the rest comes at once
                    self.wfile.write(body[begin + piece :])
                    return
            return
        if fault is None or fault.cut_after is None:
            self.wfile.write(body)
            return
        self.wfile.write(body[: fault.cut_after])
        self.close_connection = True
        if fault.reset:
            sleep(0.05)  # what was sent arrives before the RST
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            socket.close(self.connection.detach())


@contextmanager
def hub_server() -> Iterator[HubServer]:
    server = HubServer()
    try:
        yield server
    finally:
        server.close()


def use_hub(monkeypatch: pytest.MonkeyPatch, url: str, cache: Path) -> None:
    """Make this process and its children use the Hub at `url`. Constants of huggingface_hub are replaced,
    because this process has read them already.
    """
    from huggingface_hub import constants
    from huggingface_hub.utils._http import close_session

    monkeypatch.setattr(constants, "ENDPOINT", url)
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    for name, value in {"HF_ENDPOINT": url, "HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "0"}.items():
        monkeypatch.setenv(name, value)
    close_session()
