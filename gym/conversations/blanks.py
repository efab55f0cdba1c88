"""A test case as a form: what the fields hold, and the case they make. Pure.

Fields of a turn that are objects (private data, response) are HOCON themselves, without the outer braces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym.conversations.cases import write_case
from gym.conversations.hocon import HoconError, read

TOP = ("agent", "connections", "success_ratio", "timeout_in_seconds")
EMPTY = 1
"""Empty turns offered at the end."""


def fields_of(document: Mapping[str, Any]) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Values of the fields of a case: its own, and those of each turn."""
    connections = document.get("connections", "direct")
    top = {
        "agent": str(document.get("agent") or ""),
        "connections": ", ".join(connections) if isinstance(connections, list) else str(connections or ""),
        "success_ratio": str(document.get("success_ratio") or "1/1"),
        "timeout_in_seconds": _shown(document.get("timeout_in_seconds")),
    }
    turns = [
        {
            "text": str(turn.get("text") or ""),
            "sly_data": _inner(turn.get("sly_data")),
            "response": _inner(turn.get("response")),
            "timeout_in_seconds": _shown(turn.get("timeout_in_seconds")),
            "continues": "no" if turn.get("continue_conversation") is False else "yes",
        }
        for turn in document.get("interactions") or []
    ]
    return top, turns


def _shown(value: Any) -> str:
    return "" if value is None else str(value)


def _inner(value: Any) -> str:
    """An object without its braces and their indent."""
    if not value:
        return ""
    lines = write_case(value).rstrip("\n").split("\n")[1:-1]
    return "\n".join(line[2:] for line in lines)


def document_of(
    before: Mapping[str, Any], top: Mapping[str, str], turns: list[Mapping[str, str]]
) -> tuple[dict[str, Any], list[str]]:
    """The case that the fields make, and what is wrong with single fields. What the form has no field for is kept
    from `before`; turns without a text and a response are left out."""
    problems: list[str] = []
    document: dict[str, Any] = {"agent": top.get("agent", "").strip()}
    connections = [part.strip() for part in top.get("connections", "").split(",") if part.strip()]
    if connections:
        document["connections"] = connections[0] if len(connections) == 1 else connections
    for name in ("success_ratio", "timeout_in_seconds"):
        if value := top.get(name, "").strip():
            document[name] = _number(value) if name.startswith("timeout") else value
    known = [turn if isinstance(turn, dict) else {} for turn in before.get("interactions") or []]
    made = []
    for number, fields in enumerate(turns):
        old = known[number] if number < len(known) else {}
        turn = _turn(old, fields, f"Turn {number + 1}", problems)
        if turn is not None:
            made.append(turn)
    rest = {key: value for key, value in before.items() if key not in (*TOP, "interactions")}
    return {**document, **rest, "interactions": made}, problems


def _turn(
    old: Mapping[str, Any], fields: Mapping[str, str], place: str, problems: list[str]
) -> dict[str, Any] | None:
    text, response = fields.get("text", ""), fields.get("response", "")
    if not text.strip() and not response.strip() and not fields.get("sly_data", "").strip():
        return None
    turn: dict[str, Any] = {"text": text.replace("\r\n", "\n")}
    for name in ("sly_data", "response"):
        value = _object(fields.get(name, ""), f"{place}, {name.replace('_', ' ')}", problems)
        if value:
            turn[name] = value
    if seconds := fields.get("timeout_in_seconds", "").strip():
        turn["timeout_in_seconds"] = _number(seconds)
    if fields.get("continues") == "no":
        turn["continue_conversation"] = False
    handled = ("text", "sly_data", "response", "timeout_in_seconds", "continue_conversation")
    return {**turn, **{key: value for key, value in old.items() if key not in handled}}


def _object(text: str, place: str, problems: list[str]) -> dict[str, Any]:
    try:
        value = read(text.replace("\r\n", "\n")).value
    except HoconError as error:
        problems.append(f"{place}, {error}")
        return {}
    if not isinstance(value, dict):
        problems.append(f"{place}: keys and values are needed here.")
        return {}
    return value


def _number(text: str) -> Any:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text
