"""Series of checkpoints: branches and tags of one repository on the Hub, chosen by name or pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from lmgym.models.backends.base import BackendError

MAX_CHECKPOINTS = 200
MAX_TEXT = 10_000
_SHOWN = 3
_PATTERN = re.compile(r"[A-Za-z0-9_./*{}-]{1,200}")
_RANGE = re.compile(r"\{(\d{1,12})\.\.(\d{1,12})(?:\.\.(\d{1,12}))?\}")
_STEP = re.compile(r"(?<![a-z])steps?[-_]?(\d{1,12})([km]?)(?![a-z0-9.])", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![a-z0-9.])(\d{1,12})([km]?)(?![a-z0-9.])", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


class Checkpoint(NamedTuple):
    """A branch or tag, its training step, and its commit."""

    revision: str
    step: int
    commit: str


def choose(text: str, refs: Mapping[str, str], repo: str) -> list[Checkpoint]:
    """Choose checkpoints, in order of their steps.

    Args:
        text: names and patterns separated by commas or spaces. `*` matches any characters, and `{1000..9000..1000}`
            stands for 1000, 2000, … 9000.
        refs: commit of each branch and tag (see `hub_listing.refs`).
        repo: name of the repository, for messages.

    Raises:
        BackendError: a name or pattern is invalid or has no match, a match has no step, two matches have the same step,
            or there are more than MAX_CHECKPOINTS.
    """
    names = dict.fromkeys(name for part in _parts(text) for name in _expanded(part))
    if not names:
        raise BackendError(
            "No checkpoint is named.", "Name branches or tags, such as step1000, or use step*."
        )
    matches = {name: _matching(name, refs) for name in names}
    _require_matches([name for name, found in matches.items() if not found], refs, repo)
    revisions = dict.fromkeys(revision for found in matches.values() for revision in found)
    if len(revisions) > MAX_CHECKPOINTS:
        raise BackendError(
            f"These are {len(revisions):,} checkpoints; one series may have at most {MAX_CHECKPOINTS}.",
            "Choose fewer, for example step{10000..140000..10000}.",
        )
    chosen: dict[int, Checkpoint] = {}
    for revision in revisions:
        step = step_in(revision)
        if step is None:
            raise BackendError(
                f"{revision} of {repo} names no training step.",
                "Leave it out, or register it as a single model.",
            )
        if step in chosen:
            raise BackendError(
                f"{chosen[step].revision} and {revision} of {repo} both name step {step}.",
                "Narrow the pattern, or name the checkpoints one by one.",
            )
        chosen[step] = Checkpoint(revision, step, refs[revision])
    return [chosen[step] for step in sorted(chosen)]


def step_in(revision: str) -> int | None:
    """Return the training step in the name of a revision, or None.

    The step is the number after "step" (step1000, stage1-step5k-tokens21B), else the only number
    (checkpoint-500).
    """
    found = _STEP.search(revision)
    if found is None:
        numbers = list(_NUMBER.finditer(revision))
        found = numbers[0] if len(numbers) == 1 else None
    return int(found[1]) * _FACTORS[found[2].lower()] if found else None


def _parts(text: str) -> Iterator[str]:
    if len(text) > MAX_TEXT:
        raise BackendError(
            f"The list of checkpoints is longer than {MAX_TEXT:,} characters.", "Use a pattern."
        )
    for part in re.split(r"[\s,]+", text):
        if part and not _PATTERN.fullmatch(part):
            raise BackendError(
                f"{part[:60]!r} is not a branch, a tag or a pattern.", "Examples: step1000, step*."
            )
        if part:
            yield part


def _expanded(part: str) -> Iterator[str]:
    """Replace ranges by their numbers."""
    found = _RANGE.search(part)
    if found is None:
        if set(part) & set("{}"):
            raise BackendError(
                f"{part!r} has no valid range.", "Write a range as {first..last} or {first..last..interval}."
            )
        yield part
        return
    first, last, interval = int(found[1]), int(found[2]), int(found[3] or 1)
    if interval == 0 or last < first:
        raise BackendError(
            f"The range {found[0]} has no numbers.",
            "Write it as {first..last..interval}, with first <= last and an interval of at least 1.",
        )
    if (last - first) // interval >= MAX_CHECKPOINTS:
        raise BackendError(
            f"The range {found[0]} has more than {MAX_CHECKPOINTS} numbers.", "Use a larger interval."
        )
    for number in range(first, last + 1, interval):
        yield from _expanded(f"{part[: found.start()]}{number}{part[found.end() :]}")


def _matching(name: str, refs: Mapping[str, str]) -> list[str]:
    if "*" not in name:
        return [name] if name in refs else []
    pieces = re.sub(r"\*+", "*", name).split("*")
    return [ref for ref in refs if _fits(ref, pieces)]


def _fits(ref: str, pieces: list[str]) -> bool:
    """Return whether `ref` consists of these pieces in order, with anything between them. Takes linear time."""
    first, *middle, last = pieces
    if not (ref.startswith(first) and ref.endswith(last) and len(ref) >= len(first) + len(last)):
        return False
    at, end = len(first), len(ref) - len(last)
    for piece in middle:
        at = ref.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def _require_matches(missing: list[str], refs: Mapping[str, str], repo: str) -> None:
    if not missing:
        return
    named = ", ".join(missing[:_SHOWN])
    more = f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
    with_step = [ref for ref in refs if step_in(ref) is not None]
    shown = ", ".join(sorted(with_step, key=lambda ref: step_in(ref) or 0)[:_SHOWN])
    hint = (
        f"Branches and tags with a step: {len(with_step):,}, such as {shown}."
        if with_step
        else "None of its branches and tags has a step."
    )
    raise BackendError(f"{repo} has no branch or tag {named}{more}.", hint)
