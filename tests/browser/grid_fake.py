"""A fake server that implements docs/grid.md in memory, so that the sheet can be tested alone.

It serves the real template and the real static files under the site's content security policy. `suite.down =
True` makes it unreachable; `suite.elsewhere(ops)` is an edit by another user.
"""

from __future__ import annotations

import copy
import io
import json
import mimetypes
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.http.multipartparser import MultiPartParser
from django.template.loader import render_to_string

from suites.answer_forms import pasted_sheet
from suites.fields import METRIC_NAMES
from suites.models import JoinPolicy
from tests.browser.grid_suite import Doc, Suite, agreement, big

__all__ = ["Doc", "Sheet", "Suite", "agreement", "big"]

ROOT = Path(__file__).resolve().parents[2]


LEAVE_TAB = """() => {
  Object.defineProperty(document, "visibilityState", {value: "hidden", configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
  delete document.visibilityState;
}"""
"""Switch to another tab: the editor then saves at once, not half a second after the last edit."""


# --- the page and its address ---------------------------------------------------------------------------------
def render(card: Doc) -> str:
    endpoints = {
        name: f"/{name}/"
        for name in ("draft", "cells", "preview", "lint", "formula", "design", "freeze", "history", "sheet")
    }
    suite = SimpleNamespace(
        slug="demo",
        title="Agreement, a demonstration",
        get_absolute_url="/suites/demo/",
        is_right_to_left=card.get("rtl"),
    )
    context = {
        "suite": suite,
        "draft": SimpleNamespace(number=2),
        "endpoints": endpoints,
        "card": card,
        "models": [SimpleNamespace(slug="letters", name="Letters"), SimpleNamespace(slug="b", name="Other")],
        "metrics": METRIC_NAMES,
        "joins": JoinPolicy.choices,
        "may_freeze": True,
        "csrf_token": "token",
        "user": SimpleNamespace(
            is_authenticated=True, is_staff=False, username="alice", display_name="Alice"
        ),
    }
    return render_to_string("suites/editor.html", context)


def policy() -> str:
    directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    return "; ".join(f"{name} {' '.join(values)}" for name, values in directives.items())


class Handler(BaseHTTPRequestHandler):
    suite: Suite
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each file waits for the acknowledgement of its headers

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        url = urlparse(self.path)
        if url.path.startswith("/static/"):
            self._static(url.path.removeprefix("/static/"))
        elif url.path.startswith("/harness/"):
            script = ROOT / "tests" / "js" / url.path.rpartition("/")[2]
            self._send(200, script.read_bytes(), "text/javascript")
        elif url.path == "/draft/":
            self._json(self.suite.draft)
        elif url.path == "/cells/":
            self._json(lambda: self.suite.cells(parse_qs(url.query)))
        elif url.path == "/lint/":
            self._json(self.suite.lint)
        elif url.path == "/":
            self._send(200, self.suite.html.encode(), "text/html; charset=utf-8")
        else:
            self._send(200, b"<title>Elsewhere</title><h1>Elsewhere</h1>", "text/html")

    def do_PATCH(self) -> None:
        self._json(lambda: self.suite.patch(self._body()))

    def do_POST(self) -> None:
        if self.path == "/sheet/" and not self.suite.down:
            self._sheet()
            return
        name = urlparse(self.path).path.strip("/")
        self._json(lambda: getattr(self.suite, name)(self._body()))

    def _sheet(self) -> None:
        """Handle a pasted sheet as the site does, with the real reader and the real form."""
        body = io.BytesIO(self.rfile.read(int(self.headers["Content-Length"])))
        meta = {
            "CONTENT_TYPE": self.headers["Content-Type"],
            "CONTENT_LENGTH": self.headers["Content-Length"],
        }
        parsed, form = pasted_sheet(MultiPartParser(meta, body, [], "utf-8").parse()[0])
        if parsed.part:
            told = {"kind": parsed.kind, "regions": parsed.part.regions, "cells": parsed.part.texts}
            self._json(lambda: (200, {**told, "understood": parsed.understood}))
        else:
            page = render_to_string("suites/editor/_pasted.html", {"parsed": parsed, "form": form})
            self._send(200, page.encode(), "text/html; charset=utf-8")

    def _body(self) -> dict[str, Any]:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")

    def _json(self, answer: Callable[[], tuple[int, Any]]) -> None:
        if self.suite.down:
            self._hang_up()
            return
        status, data = answer()
        if self.suite.lose_answer and self.command == "PATCH":
            self.suite.lose_answer = False
            self._hang_up()
            return
        self._send(
            status, json.dumps(data).encode(), "application/json", {"ETag": f'"v{self.suite.version}"'}
        )

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _static(self, path: str) -> None:
        found = finders.find(path)
        if not found:
            self._send(404, b"", "text/plain")
            return
        with open(found, "rb") as file:
            kind = (
                "text/javascript" if path.endswith(".js") else mimetypes.guess_type(path)[0] or "text/plain"
            )
            self._send(200, file.read(), kind)

    def _send(self, status: int, data: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Content-Security-Policy", policy())
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the page did not wait for the response


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


def serve(doc: Doc) -> tuple[Suite, str, Server]:
    suite = Suite(copy.deepcopy(doc))
    suite.html = render(suite.draft()[1])
    handler = type("BoundHandler", (Handler,), {"suite": suite})
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return suite, f"http://127.0.0.1:{server.server_port}", server


class Sheet:
    """Page object for the sheet."""

    def __init__(self, page: Any, suite: Suite, url: str, complaints: list[str]) -> None:
        self.page, self.suite, self.url, self.complaints = page, suite, url, complaints

    def open(self) -> None:
        self.page.goto(self.url)
        if (offer := self.page.get_by_role("button", name="Open a draft")).count():
            offer.click()
        self.page.wait_for_selector("[data-ready=yes]")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def cell(self, row: int, column: int) -> Any:
        """Return a cell by row (from 0; heading: -1) and region column (from 0; condition: -1, item: -2)."""
        return self.page.locator(
            f'[role=grid] tr[aria-rowindex="{row + 2}"] > [aria-colindex="{column + 3}"]'
        )

    def click(self, row: int, column: int, **options: Any) -> None:
        self.cell(row, column).click(**options)

    def active(self) -> str:
        return self.page.evaluate("document.activeElement.getAttribute('aria-label')")

    def value(self) -> str:
        return self.page.evaluate("document.activeElement.value")

    def text(self, row: int, column: int) -> str:
        return self.cell(row, column).locator(".text").inner_text()

    def said(self) -> str:
        return self.page.locator("#announcer").inner_text().strip()

    def saved(self, state: str = "saved") -> None:
        self.page.wait_for_selector(f'[data-save-status][data-state="{state}"]', timeout=10_000)

    def until(self, happened: Callable[[], Any]) -> None:
        """Wait until `happened` returns True, usually because the page has sent a request."""
        deadline = time.monotonic() + 20
        while not happened():
            assert time.monotonic() < deadline
            self.page.wait_for_timeout(20)

    def settle(self) -> Doc:
        """Wait until everything is saved, and return the draft as stored on the server."""
        self.page.wait_for_timeout(30)
        self.page.evaluate(LEAVE_TAB)
        self.saved()
        return self.suite.doc

    def paste(self, text: str, html: str = "") -> None:
        script = """([text, html]) => {
          const data = new DataTransfer();
          if (text) data.setData("text/plain", text);
          if (html) data.setData("text/html", html);
          const event = new ClipboardEvent("paste", {bubbles: true, cancelable: true});
          Object.defineProperty(event, "clipboardData", {value: data});  // Firefox takes none from the constructor
          document.activeElement.dispatchEvent(event);
        }"""
        self.page.evaluate(script, [text, html])

    def copied(self, kind: str = "copy") -> dict[str, str]:
        script = """(kind) => {
          const data = new DataTransfer();
          const event = new ClipboardEvent(kind, {bubbles: true, cancelable: true});
          Object.defineProperty(event, "clipboardData", {value: data});
          document.activeElement.dispatchEvent(event);
          return {text: data.getData("text/plain"), html: data.getData("text/html")};
        }"""
        return self.page.evaluate(script, kind)


@pytest.fixture
def make_sheet(browser: Any) -> Iterator[Callable[..., Sheet]]:
    """`make_sheet(doc, **options)` opens a page. The test fails if the browser reports an error."""
    made: list[tuple[Any, Server, Sheet]] = []

    def make(doc: Doc | None = None, *, context: dict[str, Any] | None = None, start: bool = True) -> Sheet:
        suite, url, server = serve(doc or agreement())
        options = {"viewport": {"width": 1400, "height": 900}, **(context or {})}
        opened = browser.new_context(**options)
        page = opened.new_page()
        sheet = watch(page, suite, url)
        made.append((opened, server, sheet))
        if start:
            sheet.open()
        return sheet

    yield make
    for opened, server, _ in made:
        opened.close()
        server.shutdown()
    complaints = [text for _, _, sheet in made for text in sheet.complaints]
    assert not complaints, complaints


def watch(page: Any, suite: Suite, url: str) -> Sheet:
    complaints: list[str] = []

    def hear(message: Any) -> None:
        expected = "409" in message.text or "net::ERR" in message.text
        if message.type == "error" and not expected:
            complaints.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    return Sheet(page, suite, url, complaints)


@pytest.fixture
def sheet(make_sheet: Callable[..., Sheet]) -> Sheet:
    return make_sheet()
