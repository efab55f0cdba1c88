"""A draft in memory that responds as specified in docs/grid.md; tests/browser/grid_fake.py serves it."""

from __future__ import annotations

import copy
import math
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lmgym.suites.formulas import OUTCOME_NAMES, FormulaError, parse

Doc = dict[str, Any]


def agreement(items: int = 4) -> Doc:
    """Return a small suite with two conditions and three regions."""
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
    """A draft, and a record of the page's requests."""

    def __init__(self, doc: Doc) -> None:
        self.doc = doc
        self.version = 7
        self.edits: list[dict[str, Any]] = []
        self.patches: list[dict[str, Any]] = []
        self.previews: list[dict[str, Any]] = []
        self.drafts = 0  # number of requests for the draft
        self.findings: list[dict[str, Any]] = []
        self.ignored: dict[tuple[str, str], str] = {}
        self.structure = 7
        self.seen: dict[str, tuple[int, list[dict[str, Any]]]] = {}
        self.down = False
        self.longest = 10_000  # maximum characters of a text that is scored
        self.unknown: set[str] = set()  # words that the model does not know
        self.error_bound = 0.0  # margins below this are too close to call
        self.free = {address: threading.Event() for address in ("draft", "patch", "preview")}
        for event in self.free.values():
            event.set()
        self.lose_answer = False
        self.html = ""
        self.lock = threading.RLock()

    @contextmanager
    def held(self, address: str) -> Iterator[None]:
        """Delay all responses from `address` until the block ends."""
        self.free[address].clear()
        try:
            yield
        finally:
            self.free[address].set()

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
            self._count(ops)

    # --- the addresses ---
    def draft(self) -> tuple[int, Any]:
        self.drafts += 1
        self.free["draft"].wait()
        draft = {key: value for key, value in self.doc.items() if key != "rows"}
        versions = {"version": self.version, "structure": self.structure}
        return 200, {**draft, **versions, "suite": "demo", "n_rows": len(self.doc["rows"]), "ignored": []}

    def cells(self, query: dict[str, list[str]]) -> tuple[int, Any]:
        start, limit = int(query.get("cursor", ["0"])[0]), int(query["limit"][0])
        end = start + limit
        more = f"http://api.example.org/cells/?limit={limit}&cursor={end}"
        return 200, {
            "results": self.doc["rows"][start:end],
            "next": more if end < len(self.doc["rows"]) else None,
        }

    def patch(self, body: dict[str, Any]) -> tuple[int, Any]:
        self.patches.append(body)
        self.free["patch"].wait()
        with self.lock:
            version, conflicts, applied = body["version"], [], []
            for edit in body["edits"]:
                if edit["id"] in self.seen:
                    version, told = self.seen[edit["id"]]
                    conflicts += told
                elif version < self.structure or self._scored_otherwise(edit):
                    conflicts.append(
                        {"edit": edit["id"], "what": "edit", "message": "It moved.", "by": "bob"}
                    )
                    continue
                else:
                    found = self._try(edit)
                    conflicts += found
                    self._count(edit["ops"])
                    self.edits.append(edit)
                    version = self.version
                    self.seen[edit["id"]] = version, found
                applied.append(edit["id"])
            told = {"version": self.version, "conflicts": conflicts, "applied": applied}
            return (409, {"code": "edit-conflict", **told}) if conflicts else (200, {"version": self.version})

    def _count(self, ops: Sequence[dict[str, Any]]) -> None:
        self.version += 1
        if {op["op"] for op in ops} - {"set_cells", "set_predictions", "set_scoring"}:
            self.structure = self.version

    def _scored_otherwise(self, edit: dict[str, Any]) -> bool:
        now = {"metric": self.doc["metric"], "join": self.doc["join"]}
        return any(op["op"] == "set_scoring" and op["old"] != now for op in edit["ops"])

    def _try(self, edit: dict[str, Any]) -> list[dict[str, Any]]:
        found = []
        for index, op in enumerate(edit["ops"]):
            if op["op"] != "set_cells":
                self.apply(op)
                continue
            for item, condition, region, old, new in op["cells"]:
                theirs = self.cell(item, condition, region)
                if theirs == old:
                    self._row(item, condition)["contents"][region - 1] = new
                elif theirs != new:
                    values = {"item": item, "condition": condition, "region": region}
                    sides = {"old": old, "yours": new, "theirs": theirs, "by": "bob"}
                    found.append({"edit": edit["id"], "op": index, "what": "cell", **values, **sides})
        return found

    def preview(self, body: dict[str, Any]) -> tuple[int, Any]:
        """Respond to a preview: one bit per character, and predictions evaluated by the real formula
        language."""
        self.previews.append(body)
        self.free["preview"].wait()
        rows = []
        bits: dict[tuple[int, str], list[float]] = {}
        for row in body["sentences"]:
            values = [float(len(text)) for text in row["contents"]]
            bits[row["item"], row["condition"]] = values
            sentence: dict[str, Any] = {"region_surprisals": values, "surprisal": sum(values), "failure": ""}
            sentence["tokens"] = list(_tokens(row["contents"]))
            words = list(dict.fromkeys(" ".join(row["contents"]).split()))
            sentence["known_words"] = [word for word in words if word not in self.unknown]
            sentence["unknown_words"] = [word for word in words if word in self.unknown]
            if sum(values) > self.longest:
                sentence |= {
                    "region_surprisals": [None] * len(values),
                    "surprisal": None,
                    "failure": "The text is too long.",
                    "tokens": [],
                }
                bits[row["item"], row["condition"]] = [float("nan")] * len(values)
            rows.append({"item": row["item"], "condition": row["condition"], **sentence})
        items = dict.fromkeys(row["item"] for row in rows)
        outcomes = [
            {"prediction_number": number, "item": item, **self._judge(text, item, body["conditions"], bits)}
            for number, text in enumerate(body["predictions"], start=1)
            for item in items
        ]
        return 200, {"rows": rows, "outcomes": outcomes}

    def _judge(
        self, text: str, item: int, conditions: list[str], bits: dict[tuple[int, str], list[float]]
    ) -> dict[str, Any]:
        values = {(c, k + 1): [b] for c in conditions for k, b in enumerate(bits[item, c])}
        try:
            found = parse(text).evaluate_items(values)
        except (FormulaError, KeyError):
            return {"outcome": "not evaluable", "margin": None, "too_close": False}
        gap = float(found.margin[0])
        margin = gap if math.isfinite(gap) else None
        close = margin is not None and 0 < abs(margin) < self.error_bound
        return {"outcome": OUTCOME_NAMES[int(found.outcome[0])], "margin": margin, "too_close": close}

    def lint(self, aside: dict[str, Any] | None = None) -> tuple[int, Any]:
        if aside:
            self.ignored[aside["code"], aside["where"]] = aside["reason"]
        found = [{**f, "ignored": self.ignored.get((f["code"], f["where"]), "")} for f in self.findings]
        return 200, {"revision": 2, "findings": found}

    def formula(self, body: dict[str, Any]) -> tuple[int, Any]:
        regions = dict(enumerate(body["regions"], start=1))
        try:
            formula = parse(body["formula"])
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


def _tokens(contents: Sequence[str]) -> Iterator[Doc]:
    """Yield a token per word, with the space before it; one bit per character."""
    for region, text in enumerate(contents, start=1):
        for word in re.findall(r" ?[^ ]+", text):
            bits = float(len(word))
            common = {"region_number": region, "surprisal": bits, "straddles": False, "part": ""}
            yield {"text": word, "token": word, **common}


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
    "set_scoring": lambda s, op: s.doc.update(metric=op["metric"], join=op["join"]),
    "set_predictions": lambda s, op: s.doc.__setitem__("predictions", copy.deepcopy(op["predictions"])),
}
