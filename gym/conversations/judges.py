"""Ways to ask a judge: an agent (a chat endpoint is one, too), or a language model by surprisal. Pure."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gym.conversations.kept import cut
from gym.conversations.protocol import Answer, AnswerReader, ProtocolError, request_body
from gym.conversations.redact import redactor
from gym.conversations.transport import Deadline, Transport, TransportError

REFERENCE = '\nThe acceptance_criteria is:\n"{criterion}".\n\nThe text_sample is:\n"{sample}".\n'
"""What the reference's driver asks its judge. The sample is not told apart from the question."""
SECONDS = 120.0
MAX_TROUBLE = 500


def reference_prompt(criterion: str, sample: str) -> str:
    return REFERENCE.format(criterion=criterion, sample=sample)


def _within(deadline: Deadline | None) -> Deadline:
    return deadline or Deadline(time.monotonic() + SECONDS, "The judge")


class AgentJudge:
    """An agent of a server: every question is a conversation of its own.

    `compiled`: its answer is read as the reference's driver reads it, the structure as JSON below the text, and an
    error that the agent reports is an answer like any other.
    """

    def __init__(self, transport: Transport, agent: str, name: str = "", *, compiled: bool = False) -> None:
        self.transport = transport
        self.agent = agent
        self.compiled = compiled
        self.name = f"agent {name} {agent}{' compiled' if compiled else ''}"

    def __call__(self, prompt: str, deadline: Deadline | None) -> tuple[str, dict[str, Any]]:
        until = _within(deadline)
        reader = AnswerReader()
        clean = redactor(self.transport.secrets)
        try:
            until.check()
            body = request_body(prompt, "MAXIMAL", None, None)
            for data in self.transport.chat(
                self.agent, body, {}, until, lambda: until.passed or until.stop()
            ):
                reader.feed(data)
                until.check()
            answer = reader.finish()
        except ProtocolError as error:
            raise TransportError("protocol", str(error)) from None
        trouble = answer.error or ("" if self.compiled else answer.agent_error(self.agent))
        if trouble:
            raise TransportError(
                "protocol", f"The judge reported an error: {cut(clean(trouble), MAX_TROUBLE)}"
            )
        said = compiled_answer(answer) if self.compiled else answer.text
        if said is None:
            raise TransportError("protocol", "The judge said nothing.")
        return clean(said), answer.tokens or {}


def compiled_answer(answer: Answer) -> str | None:
    """Text and structure as one text, as the reference's driver puts them together; None when there is neither."""
    if answer.structure is None:
        return answer.text
    structure = json.dumps(answer.structure, indent=4, sort_keys=True)
    return f"{answer.text or ''}\n```json\n{structure}\n```"


class SurprisalJudge:
    """A language model that reads the prompt and is asked which word surprises it less, pass or fail.

    `bits` gives the bits of each continuation after the prompt, or None where the model cannot score it; it may raise
    TransportError when it is not its turn before the deadline. A difference below `margin` bits is no verdict.
    """

    WORDS: Mapping[str, str] = {"pass": " pass", "fail": " fail"}

    def __init__(
        self,
        bits: Callable[[str, Sequence[str], Deadline], list[float | None]],
        name: str,
        margin: float = 0.01,
    ) -> None:
        self.bits = bits
        self.margin = margin
        self.name = f"surprisal {name} {margin}"

    def __call__(self, prompt: str, deadline: Deadline | None) -> tuple[str, dict[str, Any]]:
        until = _within(deadline)
        until.check()
        found = dict(zip(self.WORDS, self.bits(prompt, list(self.WORDS.values()), until), strict=True))
        passing, failing = found["pass"], found["fail"]
        if passing is None or failing is None or not (math.isfinite(passing) and math.isfinite(failing)):
            raise TransportError(
                "protocol", "The model has no score for this text (it may be too long for it)."
            )
        reason = f"{passing:.2f} bits for pass, {failing:.2f} bits for fail"
        if abs(passing - failing) < self.margin:
            raise TransportError("protocol", f"The model does not tell them apart: {reason}.")
        return f"{'pass' if passing < failing else 'fail'}\n{reason}", {}
