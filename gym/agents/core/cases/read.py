"""Reading a test case: HOCON to TestCase, with everything that is wrong or odd about it, by path and line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gym.agents.core.cases import fields
from gym.agents.core.cases.model import CaseError, Interaction, Problem, TestCase
from gym.agents.core.cases.notes import Notes, kind
from gym.agents.core.cases.response import checks_of
from gym.agents.core.hocon import Document, HoconError, KeyPath, read

TOP = (
    "agent", "connections", "success_ratio", "use_direct", "metadata", "timeout_in_seconds", "interactions",
    "failure_patterns",
)  # fmt: skip
TURN = ("text", "sly_data", "timeout_in_seconds", "chat_filter", "continue_conversation", "response")
MAX_INTERACTIONS = 200
MAX_CHECKS = 2000


def read_case(data: bytes | str, variables: Mapping[str, str] | None = None) -> TestCase:
    """Read a case. Raises CaseError with all errors; warnings and remarks are in `.findings`."""
    case, problems = look_at(data, variables)
    if case is None:
        raise CaseError([problem for problem in problems if problem.severity == "error"])
    return case


def look_at(
    data: bytes | str, variables: Mapping[str, str] | None = None
) -> tuple[TestCase | None, list[Problem]]:
    """The case, or None, and all its problems."""
    try:
        document = read(data, variables)
    except HoconError as error:
        where = f"column {error.column}" if error.column else ""
        return None, [
            Problem("error", error.code, where, error.line, error.column, error.message, error.hint)
        ]
    notes = Notes(document)
    if not isinstance(document.value, dict):
        notes.error("type", (), f"A test case is an object, not {kind(document.value)}.")
        return None, notes.problems
    notes.remarks()
    case = _case(document.value, document, notes)
    problems = sorted(notes.problems, key=lambda problem: (problem.line, problem.column))
    if notes.failed:
        return None, problems
    return replace(case, findings=tuple(problems)), problems


def _case(value: dict[str, Any], document: Document, notes: Notes) -> TestCase:
    notes.unknown_keys(value, TOP, ())
    agent = fields.text(value.get("agent"), ("agent",), notes)
    if value.get("agent") is None:
        notes.error(
            "no-agent", ("agent",) if "agent" in value else (), "The case names no agent.", 'Add agent: "…".'
        )
    elif agent is not None and not agent.strip("/ "):
        notes.error("no-agent", ("agent",), "The name of the agent is empty.")
    elif agent is not None and agent.endswith((".hocon", ".json")):
        notes.warn(
            "agent-file", ("agent",), "Agents are not started from files here: name one the server has."
        )
    elif agent is not None and (any(part in ("", ".", "..") for part in agent.split("/")) or _odd(agent)):
        notes.error("agent", ("agent",), f"{agent!r} cannot be the name of an agent.")
    use_direct = fields.boolean(value.get("use_direct"), False, ("use_direct",), notes)
    if use_direct:
        notes.info("use-direct", ("use_direct",), "Servers decide themselves how they reach other agents.")
    if "failure_patterns" in value:
        notes.info(
            "failure-patterns",
            ("failure_patterns",),
            "failure_patterns belongs to load tests; it checks nothing.",
        )
    interactions = _interactions(value.get("interactions"), notes)
    case = TestCase(
        agent=agent or "",
        connections=fields.connections(value.get("connections"), ("connections",), notes),
        ratio=fields.ratio(value.get("success_ratio"), ("success_ratio",), notes),
        use_direct=use_direct,
        metadata=fields.metadata(value.get("metadata"), ("metadata",), notes),
        timeout=fields.seconds(value.get("timeout_in_seconds"), ("timeout_in_seconds",), notes),
        interactions=interactions,
        variables=document.variables,
        document=value,
    )
    if interactions and not case.n_checks:
        notes.warn(
            "no-checks", ("interactions",), "Nothing is checked: this case passes whatever the agent says."
        )
    if sum(len(turn.checks) for turn in interactions) > MAX_CHECKS:
        notes.error("limit", ("interactions",), f"A case may name at most {MAX_CHECKS:,} checks.")
    return case


def _odd(agent: str) -> bool:
    return any(sign in "?#%\\" or ord(sign) <= 32 or ord(sign) == 127 for sign in agent)


def _interactions(value: Any, notes: Notes) -> tuple[Interaction, ...]:
    path: KeyPath = ("interactions",)
    if value is None or value == []:
        where: KeyPath = path if value is not None else ()
        notes.warn("no-interactions", where, "There are no interactions: every iteration fails.")
        return ()
    if not isinstance(value, list):
        notes.error(
            "type", path, f"A list of interactions is needed, not {kind(value)}.", "Write [ {…}, {…} ]."
        )
        return ()
    if len(value) > MAX_INTERACTIONS:
        notes.error("limit", path, f"A case may have at most {MAX_INTERACTIONS} interactions.")
        return ()
    return tuple(_interaction(turn, (*path, number), notes) for number, turn in enumerate(value))


def _interaction(value: Any, path: KeyPath, notes: Notes) -> Interaction:
    given = fields.dictionary(value, path, notes)
    if given is None:
        if value is None:
            notes.error("type", path, "An interaction is an object {…}, not null.")
        return Interaction()
    notes.unknown_keys(given, TURN, path)
    if given.get("text") is None:
        notes.info("no-text", path, "Nothing is said here: the server is sent null for the text.")
    response = fields.dictionary(given.get("response"), (*path, "response"), notes)
    return Interaction(
        text=fields.text(given.get("text"), (*path, "text"), notes),
        sly_data=fields.dictionary(given.get("sly_data"), (*path, "sly_data"), notes),
        timeout=fields.seconds(given.get("timeout_in_seconds"), (*path, "timeout_in_seconds"), notes),
        chat_filter=fields.chat_filter(given.get("chat_filter"), (*path, "chat_filter"), notes),
        continues=fields.boolean(
            given.get("continue_conversation"), True, (*path, "continue_conversation"), notes
        ),
        checks=checks_of(response, (*path, "response"), notes),
    )
