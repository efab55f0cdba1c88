"""Collecting the problems of a document, with path and line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, Literal

from gym.agents.core.cases.model import Problem
from gym.agents.core.hocon import Document, KeyPath

MAX_NOTES = 1_000
MAX_LENGTH = 400
"""Of a message or a path: a name may be as long as the document."""


def shown_path(path: KeyPath) -> str:
    """interactions[0].response.text"""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            out += ("." if out else "") + (part if part.replace("_", "").isalnum() else f'"{part}"')
    return out


def kind(value: Any) -> str:
    """The type of a JSON value, in words."""
    names = {
        dict: "an object",
        list: "a list",
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names[type(value)]


def near(name: str, known: Iterable[str]) -> str:
    """A hint that names the known word that looks most like `name`, or all of them."""
    words = list(known)
    close = difflib.get_close_matches(name[:MAX_LENGTH].lower(), words, 1)
    return f"Did you mean {close[0]}?" if close else f"Known are {', '.join(words)}."


def _short(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"


class Notes:
    """Keeps the first MAX_NOTES errors and as many remarks."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self._left = {True: MAX_NOTES, False: MAX_NOTES}

    def add(
        self,
        severity: Literal["error", "warning", "info"],
        code: str,
        path: KeyPath,
        message: str,
        hint: str = "",
        place: tuple[int, int] | None = None,
    ) -> None:
        error = severity == "error"
        self._left[error] -= 1
        if self._left[error] < 0:
            return
        if not self._left[error]:
            severity, code, path, hint, place = "error" if error else "info", "too-many", (), "", None
            message = f"Only the first {MAX_NOTES - 1:,} {'problems' if error else 'remarks'} are listed."
        line, column = place or (self.document.place(path) if path else (0, 0))
        where = _short(shown_path(path))
        self.problems.append(Problem(severity, code, where, line, column, _short(message), hint))

    def error(self, code: str, path: KeyPath, message: str, hint: str = "") -> None:
        self.add("error", code, path, message, hint)

    def warn(self, code: str, path: KeyPath, message: str, hint: str = "") -> None:
        self.add("warning", code, path, message, hint)

    def info(self, code: str, path: KeyPath, message: str, hint: str = "") -> None:
        self.add("info", code, path, message, hint)

    def remarks(self) -> None:
        """The remarks of the HOCON reader."""
        for remark in self.document.remarks:
            self.add(
                "info" if remark.code == "spelling" else "warning",
                remark.code,
                remark.path,
                remark.message,
                remark.hint,
                (remark.line, remark.column),
            )

    def unknown_keys(self, given: dict[str, Any], known: tuple[str, ...], path: KeyPath) -> None:
        for key in given:
            if key not in known:
                self.unknown("unknown-key", (*path, key), f"{key} means nothing here and is ignored.", known)

    def unknown(self, code: str, path: KeyPath, message: str, known: tuple[str, ...]) -> None:
        """Warn of an unknown word and name the nearest known one, which is looked for only while warnings are kept."""
        self.warn(code, path, message, near(str(path[-1]), known) if self._left[False] > 0 else "")

    @property
    def failed(self) -> bool:
        return any(problem.severity == "error" for problem in self.problems)
