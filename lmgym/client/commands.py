"""What the commands do. Each returns the exit status."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .client import Client
from .transport import ApiError
from .values import Prediction, Run, Suite

SAY_SECONDS = 10.0


def say(line: str = "") -> None:
    sys.stdout.write(f"{line}\n")


def note(line: str) -> None:
    """Progress and remarks go to standard error, so that standard output is the result alone."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def say_json(value: Any) -> None:
    say(json.dumps(value, ensure_ascii=False, indent=2))


def policy_of(words: Sequence[str]) -> dict[str, Any]:
    """["eos=true", "bos=never"] -> {"eos": True, "bos": "never"}"""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"--policy {word}: write it NAME=VALUE, e.g. eos=true")
        found[name] = {"true": True, "false": False}.get(value.lower(), value)
    return found


# --- run ---


def run(client: Client, given: Namespace) -> int:
    slug, revision = _target(client, given)
    policy = policy_of(given.policy)
    started = [client.start_run(slug, model, revision=revision, policy=policy) for model in given.model]
    note(f"{slug} r{started[0].revision}: {len(started)} run{'' if len(started) == 1 else 's'} queued")
    runs = [client.wait(one.id, seen=_Progress(), seconds=given.timeout) for one in started]
    if given.json:
        say_json([one.raw for one in runs])
    else:
        for one in runs:
            _report(client, one)
    if any(one.state != "done" for one in runs):
        return 2
    return 1 if any(_below(one, given.fail_under) for one in runs) else 0


def _suite_for(client: Client, slug: str) -> Suite:
    try:
        return client.suite(slug)
    except ApiError as error:
        if error.status != 404:
            raise
        message = (
            f"There is no suite {slug} of yours. Make it with `import FILE --freeze`, which says its address."
        )
        raise ValueError(message) from None


def _target(client: Client, given: Namespace) -> tuple[str, int | None]:
    """The suite to run, and its revision: the slug as given, or what became of the file."""
    path = Path(given.suite)
    if not path.is_file():
        if path.suffix:
            raise ValueError(f"There is no file {given.suite}.")
        return given.suite, None
    if given.into is None:
        slug, number = _imported(client, path, **_title(given.title))
        if number is None:
            note(f"imported as {slug}")
        return slug, number or client.freeze(slug)
    before = _suite_for(client, given.into)
    if before.has_draft:
        raise ValueError(f"{given.into} has a draft that somebody works on. Freeze or discard it first.")
    number = client.put_draft(given.into, path.name, path.read_bytes())
    newest = next(iter(before.revisions), None)
    if newest is not None and not client.differs(given.into, newest, number):
        client.discard_draft(given.into)
        note(f"{given.into}: the file says the same as r{newest}")
        return given.into, newest
    return given.into, client.freeze(given.into, f"from {path.name}")


def _imported(client: Client, path: Path, **card: Any) -> tuple[str, int | None]:
    """A new suite; or the one that says the same, with its revision where that is frozen."""
    try:
        return client.import_suite(path.name, path.read_bytes(), **card).slug, None
    except ApiError as error:
        if error.code != "there":
            raise
        slug, number = error.there
    note(f"{slug} r{number} says the same as the file")
    return slug, number if number in client.suite(slug).revisions else None


def _title(title: str) -> dict[str, str]:
    return {"title": title} if title else {}


class Waiting:
    """Says what something waits for when that changes."""

    def __init__(self) -> None:
        self.said = ""

    def __call__(self, name: str, behind: str) -> None:
        if behind and behind != self.said:
            note(f"{name}: {behind}")
        self.said = behind


class _Progress:
    """A line when the state or what is waited for changes, and every ten seconds."""

    def __init__(self) -> None:
        self.said, self.at = "", 0.0

    def __call__(self, run: Run) -> None:
        now = time.monotonic()
        state = f"{run.state}, {run.behind}" if run.behind else run.state
        if state != self.said or now - self.at > SAY_SECONDS:
            done = f" {run.done} of {run.total}" if run.state == "running" and run.total else ""
            note(f"{run.model}: {state}{done}")
            self.said, self.at = state, now


def _report(client: Client, run: Run) -> None:
    say(f"{run.model} on {run.suite} r{run.revision}: {run.state}  {client.transport.server}/runs/{run.id}/")
    if run.error:
        say(f"  {run.error}")
    if run.state == "done" and not run.predictions:
        say("  The suite has no predictions: nothing was tested.")
    for number, row in enumerate(run.predictions, start=1):
        say(f"  {row.name or f'Prediction {number}'}: {rate_text(row)}")
        say(f"    {' '.join(row.formula.split())}")


def rate_text(row: Prediction) -> str:
    if row.rate is None:
        return "no items"
    said = f"{row.rate:.1%} ({row.passed} of {row.n}"
    if row.low is not None and row.high is not None:
        said += f"; 95% {row.low:.1%}–{row.high:.1%}"
    if row.chance is not None:
        said += f", chance {row.chance:.1%}"
    said += f", {row.ties} ties" if row.ties else ""
    said += f", {row.not_evaluable} not evaluable" if row.not_evaluable else ""
    return f"{said})" + (f"; against chance: {row.against_chance}" if row.against_chance else "")


def _below(run: Run, least: float | None) -> bool:
    """Whether this run fails the gate. One that tests nothing does: a gate that cannot close is none."""
    if least is None:
        return False
    return not run.predictions or any(row.rate is None or row.rate < least for row in run.predictions)


# --- the others ---


def score(client: Client, given: Namespace) -> int:
    sentences = given.sentences or [line for line in sys.stdin.read().splitlines() if line.strip()]
    if not sentences:
        raise ValueError("There is no sentence, neither as an argument nor on standard input.")
    scored = client.score(given.model, sentences, policy=policy_of(given.policy))
    if given.json:
        say_json(
            [
                {
                    "text": one.text,
                    "surprisal": one.surprisal,
                    "failure": one.failure,
                    "tokens": [asdict(token) for token in one.tokens],
                }
                for one in scored
            ]
        )
    else:
        say("sentence_id\ttoken_id\ttoken\tsurprisal")
        for number, one in enumerate(scored, start=1):
            for place, token in enumerate(one.tokens, start=1):
                bits = "" if token.surprisal is None else f"{token.surprisal:.6f}"
                say(f"{number}\t{place}\t{token.token}\t{bits}")
            if one.failure:
                note(f"sentence {number}: {one.failure}")
    return 2 if any(one.failure for one in scored) else 0


def suites(client: Client, given: Namespace) -> int:
    rows = list(client.suites(q=given.q))
    if given.json:
        say_json([row.raw for row in rows])
    else:
        for row in rows:
            say(
                f"{row.slug}\t{row.n_items} items\t{row.n_predictions} predictions\t{row.visibility}\t{row.title}"
            )
    return 0


def models(client: Client, given: Namespace) -> int:
    rows = list(client.models(q=given.q))
    if given.json:
        say_json([row.raw for row in rows])
    else:
        for row in rows:
            say(f"{row.slug}\t{row.backend}\t{row.status}\t{row.name}")
    return 0


def export(client: Client, given: Namespace) -> int:
    data = client.export(given.suite, given.revision, given.format)
    if given.output is not None:
        given.output.write_bytes(data)
    else:
        sys.stdout.buffer.write(data)
    return 0


def bring(client: Client, given: Namespace) -> int:
    slug, revision = _imported(
        client, given.file, again=given.again, visibility=given.visibility, **_title(given.title)
    )
    if given.freeze and revision is None:
        revision = client.freeze(slug)
    if given.json:
        say_json(client.suite(slug).raw)
    else:
        say(f"{slug} r{revision}" if revision else slug)
    return 0
