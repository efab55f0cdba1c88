"""A server that speaks the contract of docs/grid.md from memory, so that the sheet is tested by itself.

It serves the real template and the real static files under the site's content security policy. `suite.down = True`
takes it off the network; `suite.elsewhere(ops)` is somebody else's edit.
"""

from __future__ import annotations

import copy
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
from django.template.loader import render_to_string

from suites.formulas import FormulaError, parse

Doc = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]


def agreement(items: int = 4) -> Doc:
    """A small suite: two conditions, three regions."""
    rows = []
    for item in range(1, items + 1):
        for condition, verb in (("match", "plays"), ("mismatch", "play")):
            rows.append(
                {"item": item, "condition": condition, "contents": [f"The woman {item}", verb, "guitar"]}
            )
    formula = "(2;%mismatch%) > (2;%match%)"
    return {
        "metric": "sum",
        "join": "space",
        "regions": ["Subject", "Verb", "Rest"],
        "conditions": ["match", "mismatch"],
        "items": list(range(1, items + 1)),
        "rows": rows,
        "predictions": [{"name": "agreement", "description": "", "formula": formula}],
    }


def big(items: int, conditions: int, regions: int) -> Doc:
    names = [f"cond_{k}" for k in range(conditions)]
    return {
        "metric": "sum",
        "join": "space",
        "regions": [f"Region {k + 1}" for k in range(regions)],
        "conditions": names,
        "items": list(range(1, items + 1)),
        "rows": [
            {"item": i, "condition": c, "contents": [f"word {i} {k}" for k in range(regions)]}
            for i in range(1, items + 1)
            for c in names
        ],
        "predictions": [],
    }


class Suite:
    """One draft, and everything that the page asked for."""

    def __init__(self, doc: Doc) -> None:
        self.doc = doc
        self.version = 7
        self.edits: list[dict[str, Any]] = []
        self.patches: list[dict[str, Any]] = []
        self.previews: list[dict[str, Any]] = []
        self.findings: list[dict[str, Any]] = []
        self.ignored: dict[tuple[str, str], str] = {}
        self.seen: set[str] = set()
        self.down = False
        self.slow_preview = 0.0
        self.lose_answer = False
        self.html = ""
        self.lock = threading.RLock()

    # --- the document ---
    def cell(self, item: int, condition: str, region: int) -> str:
        return self._row(item, condition)["contents"][region - 1]

    def _row(self, item: int, condition: str) -> dict[str, Any]:
        return next(r for r in self.doc["rows"] if r["item"] == item and r["condition"] == condition)

    def apply(self, op: dict[str, Any]) -> None:
        OPS[op["op"]](self, op)
        place = {name: k for k, name in enumerate(self.doc["conditions"])}
        order = {number: k for k, number in enumerate(self.doc["items"])}
        self.doc["rows"].sort(key=lambda r: (order[r["item"]], place[r["condition"]]))

    def elsewhere(self, *ops: dict[str, Any]) -> None:
        with self.lock:
            for op in ops:
                self.apply(op)
            self.version += 1

    # --- the addresses ---
    def draft(self, query: dict[str, list[str]]) -> tuple[int, Any]:
        offset, limit = int(query.get("offset", ["0"])[0]), int(query.get("limit", ["500"])[0])
        rows = self.doc["rows"]
        return 200, {
            **self.doc,
            "version": self.version,
            "suite": {"slug": "demo", "title": "Demo"},
            "rows": rows[offset : offset + limit],
            "n_rows": len(rows),
            "ignored": [],
        }

    def patch(self, body: dict[str, Any]) -> tuple[int, Any]:
        with self.lock:
            self.patches.append(body)
            stale = body["version"] != self.version
            conflicts: list[dict[str, Any]] = []
            applied = []
            for edit in body["edits"]:
                if edit["id"] in self.seen:
                    continue
                self.seen.add(edit["id"])
                before = len(conflicts)
                for index, op in enumerate(edit["ops"]):
                    conflicts += self._try(edit["id"], index, op, stale)
                self.version += 1
                self.edits.append(edit)
                if len(conflicts) == before:
                    applied.append(edit["id"])
            if conflicts:
                return 409, {"version": self.version, "conflicts": conflicts, "applied": applied}
            return 200, {"version": self.version}

    def _try(self, edit: str, index: int, op: dict[str, Any], stale: bool) -> list[dict[str, Any]]:
        where = {"edit": edit, "op": index}
        if op["op"] != "set_cells":
            try:
                self.apply(op)
            except (ValueError, StopIteration, AssertionError) as error:
                return [{**where, "what": "structure", "message": f"It no longer fits: {error}"}]
            return []
        found = []
        for item, condition, region, old, new in op["cells"]:
            theirs = self.cell(item, condition, region)
            if theirs == old:
                self._row(item, condition)["contents"][region - 1] = new
            elif theirs != new:
                assert stale, f"the page thinks {old!r} stands at {item} {condition} {region}: {theirs!r}"
                values = {"item": item, "condition": condition, "region": region}
                sides = {"old": old, "yours": new, "theirs": theirs, "by": "bob"}
                found.append({**where, "what": "cell", **values, **sides})
        return found

    def preview(self, body: dict[str, Any]) -> tuple[int, Any]:
        """Every letter is a bit; predictions are judged by the real language."""
        self.previews.append(body)
        time.sleep(self.slow_preview)
        rows = []
        bits: dict[tuple[int, str], list[float]] = {}
        for row in body["rows"]:
            values = [float(len(text)) for text in row["contents"]]
            bits[row["item"], row["condition"]] = values
            rows.append(
                {"item": row["item"], "condition": row["condition"], "bits": values, "total": sum(values)}
            )
        outcomes, margins = [], []
        for text in body["predictions"]:
            codes, gaps = [], []
            for item in body["items"]:
                values = {(c, k + 1): b for c in body["conditions"] for k, b in enumerate(bits[item, c])}
                try:
                    found = parse(text, reading="strict").evaluate_items({k: [v] for k, v in values.items()})
                    codes.append(int(found.outcome[0]))
                    gaps.append(float(found.margin[0]))
                except (FormulaError, KeyError):
                    codes.append(3)
                    gaps.append(None)
            outcomes.append(codes)
            margins.append(gaps)
        return 200, {"rows": rows, "outcomes": outcomes, "margins": margins}

    def lint(self, body: dict[str, Any]) -> tuple[int, Any]:
        if "ignore" in body:
            given = body["ignore"]
            self.ignored[given["code"], given["where"]] = given["reason"]
        found = [{**f, "ignored": self.ignored.get((f["code"], f["where"]), "")} for f in self.findings]
        return 200, {"version": self.version, "findings": found}

    def formula(self, body: dict[str, Any]) -> tuple[int, Any]:
        regions = dict(enumerate(body["regions"], start=1))
        try:
            formula = parse(body["formula"], reading="strict")
            errors = formula.check(regions, body["conditions"])
        except FormulaError as error:
            errors, formula = [error], None
        told = [
            {"message": e.message, "position": e.position, "length": e.length, "hint": e.hint} for e in errors
        ]
        if errors or formula is None:
            return 200, {"ok": False, "errors": told, "prose": "", "chance": None, "pieces": []}
        chance = formula.chance_level()
        level = {"value": chance.value, "exact": chance.exact, "standard_error": chance.standard_error}
        return 200, {
            "ok": True,
            "errors": [],
            "prose": formula.describe(regions),
            "chance": level,
            "pieces": [],
        }


def _move(values: list[Any], source: int, to: int) -> None:
    values.insert(to, values.pop(source))


def _set_cells(s: Suite, op: Doc) -> None:
    for item, condition, region, _, new in op["cells"]:
        s._row(item, condition)["contents"][region - 1] = new


def _insert_items(s: Suite, op: Doc) -> None:
    for k, one in enumerate(op["items"]):
        assert one["number"] not in s.doc["items"], f"there is an item {one['number']} already"
        s.doc["items"].insert(op["at"] + k, one["number"])
        for name in s.doc["conditions"]:
            row = [*one["rows"].get(name, []), *[""] * len(s.doc["regions"])][: len(s.doc["regions"])]
            s.doc["rows"].append({"item": one["number"], "condition": name, "contents": row})


def _delete_items(s: Suite, op: Doc) -> None:
    for number in op["items"]:
        s.doc["items"].remove(number)
    s.doc["rows"] = [r for r in s.doc["rows"] if r["item"] not in op["items"]]


def _renumber(s: Suite, op: Doc) -> None:
    s.doc["items"][s.doc["items"].index(op["item"])] = op["to"]
    for row in s.doc["rows"]:
        if row["item"] == op["item"]:
            row["item"] = op["to"]


def _insert_condition(s: Suite, op: Doc) -> None:
    s.doc["conditions"].insert(op["at"], op["name"])
    for item in s.doc["items"]:
        row = op["rows"].get(str(item), [""] * len(s.doc["regions"]))
        s.doc["rows"].append({"item": item, "condition": op["name"], "contents": list(row)})


def _delete_condition(s: Suite, op: Doc) -> None:
    s.doc["conditions"].remove(op["name"])
    s.doc["rows"] = [r for r in s.doc["rows"] if r["condition"] != op["name"]]


def _rename_condition(s: Suite, op: Doc) -> None:
    s.doc["conditions"][s.doc["conditions"].index(op["name"])] = op["to"]
    for row in s.doc["rows"]:
        if row["condition"] == op["name"]:
            row["condition"] = op["to"]


def _regions(s: Suite, change: Callable[[list[Any], bool], None]) -> None:
    change(s.doc["regions"], True)
    for row in s.doc["rows"]:
        change(row["contents"], False)


def _insert_region(s: Suite, op: Doc) -> None:
    _regions(s, lambda values, head: values.insert(op["at"] - 1, op["name"] if head else ""))
    for item, condition, text in op["texts"]:
        s._row(item, condition)["contents"][op["at"] - 1] = text


OPS: dict[str, Callable[[Suite, Doc], Any]] = {
    "set_cells": _set_cells,
    "insert_items": _insert_items,
    "delete_items": _delete_items,
    "move_item": lambda s, op: _move(s.doc["items"], s.doc["items"].index(op["item"]), op["to"]),
    "renumber_item": _renumber,
    "insert_condition": _insert_condition,
    "delete_condition": _delete_condition,
    "move_condition": lambda s, op: _move(
        s.doc["conditions"], s.doc["conditions"].index(op["name"]), op["to"]
    ),
    "rename_condition": _rename_condition,
    "insert_region": _insert_region,
    "delete_region": lambda s, op: _regions(s, lambda v, _: v.pop(op["region"] - 1)),
    "move_region": lambda s, op: _regions(s, lambda v, _: _move(v, op["region"] - 1, op["to"] - 1)),
    "rename_region": lambda s, op: s.doc["regions"].__setitem__(op["region"] - 1, op["to"]),
    "set_predictions": lambda s, op: s.doc.__setitem__("predictions", copy.deepcopy(op["predictions"])),
}


# --- the page and its address ---------------------------------------------------------------------------------
def render() -> str:
    endpoints = {name: f"/{name}/" for name in ("draft", "preview", "lint", "formula", "freeze")}
    suite = SimpleNamespace(slug="demo", title="Agreement, a demonstration", get_absolute_url="/suites/demo/")
    context = {
        "suite": suite,
        "draft": SimpleNamespace(number=2),
        "endpoints": endpoints,
        "models": [SimpleNamespace(slug="letters", name="Letters"), SimpleNamespace(slug="b", name="Other")],
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
            self._json(lambda: self.suite.draft(parse_qs(url.query)))
        elif url.path == "/":
            self._send(200, self.suite.html.encode(), "text/html; charset=utf-8")
        else:
            self._send(200, b"<title>Elsewhere</title><h1>Elsewhere</h1>", "text/html")

    def do_PATCH(self) -> None:
        self._json(lambda: self.suite.patch(self._body()))

    def do_POST(self) -> None:
        name = urlparse(self.path).path.strip("/")
        self._json(lambda: getattr(self.suite, name)(self._body()))

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
        self._send(status, json.dumps(data).encode(), "application/json")

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

    def _send(self, status: int, data: bytes, kind: str) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Content-Security-Policy", policy())
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the page did not wait


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


def serve(doc: Doc) -> tuple[Suite, str, Server]:
    suite = Suite(copy.deepcopy(doc))
    suite.html = render()
    handler = type("BoundHandler", (Handler,), {"suite": suite})
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return suite, f"http://127.0.0.1:{server.server_port}", server


class Sheet:
    """The page with the words that tests use."""

    def __init__(self, page: Any, suite: Suite, url: str, complaints: list[str]) -> None:
        self.page, self.suite, self.url, self.complaints = page, suite, url, complaints

    def open(self) -> None:
        self.page.goto(self.url)
        self.page.wait_for_selector("[data-ready=yes]")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def cell(self, row: int, column: int) -> Any:
        """Row from 0 (heading: -1), region column from 0 (condition: -1, item: -2)."""
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

    def settle(self) -> Doc:
        """Wait until everything is saved; the draft as the server has it."""
        self.page.wait_for_timeout(30)
        self.saved()
        return self.suite.doc

    def paste(self, text: str, html: str = "") -> None:
        script = """([text, html]) => {
          const data = new DataTransfer();
          if (text) data.setData("text/plain", text);
          if (html) data.setData("text/html", html);
          const event = new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true});
          document.activeElement.dispatchEvent(event);
        }"""
        self.page.evaluate(script, [text, html])

    def copied(self, kind: str = "copy") -> dict[str, str]:
        script = """(kind) => {
          const data = new DataTransfer();
          const event = new ClipboardEvent(kind, {clipboardData: data, bubbles: true, cancelable: true});
          document.activeElement.dispatchEvent(event);
          return {text: data.getData("text/plain"), html: data.getData("text/html")};
        }"""
        return self.page.evaluate(script, kind)


@pytest.fixture
def make_sheet(chromium: Any) -> Iterator[Callable[..., Sheet]]:
    """make_sheet(doc, **context options): an open page; the test fails when the page complains."""
    made: list[tuple[Any, Server, Sheet]] = []

    def make(doc: Doc | None = None, *, context: dict[str, Any] | None = None, start: bool = True) -> Sheet:
        suite, url, server = serve(doc or agreement())
        options = {"viewport": {"width": 1400, "height": 900}, **(context or {})}
        browser = chromium.new_context(**options)
        page = browser.new_page()
        sheet = watch(page, suite, url)
        made.append((browser, server, sheet))
        if start:
            sheet.open()
        return sheet

    yield make
    for browser, server, _ in made:
        browser.close()
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
