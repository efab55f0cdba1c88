"""Collecting what there is to say about a document, with path and line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, Literal

from gym.conversations.cases.model import Problem
from gym.conversations.hocon import Document, KeyPath


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
    """What a value is, in words."""
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
    close = difflib.get_close_matches(name.lower(), words, 1)
    return f"Did you mean {close[0]}?" if close else f"Known are {', '.join(words)}."


class Notes:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def add(
        self,
        severity: Literal["error", "warning", "info"],
        code: str,
        path: KeyPath,
        message: str,
        hint: str = "",
    ) -> None:
        line, column = self.document.place(path) if path else (0, 0)
        self.problems.append(Problem(severity, code, shown_path(path), line, column, message, hint))

    def error(self, code: str, path: KeyPath, message: str, hint: str = "") -> None:
        self.add("error", code, path, message, hint)

    def warn(self, code: str, path: KeyPath, message: str, hint: str = "") -> None:
        self.add("warning", code, path, message, hint)

    def info(self, code: str, path: KeyPath, message: str, hint: str = "") -> None:
        self.add("info", code, path, message, hint)

    def unknown_keys(self, given: dict[str, Any], known: tuple[str, ...], path: KeyPath) -> None:
        for key in given:
            if key not in known:
                self.warn(
                    "unknown-key", (*path, key), f"{key} means nothing here and is ignored.", near(key, known)
                )

    @property
    def failed(self) -> bool:
        return any(problem.severity == "error" for problem in self.problems)
