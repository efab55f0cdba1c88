"""Ways to ask a judge: an agent (a chat endpoint is one, too), or a language model by surprisal. Pure."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gym.conversations.protocol import AnswerReader, ProtocolError, request_body
from gym.conversations.transport import Deadline, Transport, TransportError

REFERENCE = '\nThe acceptance_criteria is:\n"{criterion}".\n\nThe text_sample is:\n"{sample}".\n'
"""What the reference's driver asks its judge. The sample is not told apart from the question."""
SECONDS = 120.0


def reference_prompt(criterion: str, sample: str) -> str:
    return REFERENCE.format(criterion=criterion, sample=sample)


def _within(deadline: Deadline | None) -> Deadline:
    return deadline or Deadline(time.monotonic() + SECONDS, "The judge")


class AgentJudge:
    """An agent of a server: every question is a conversation of its own."""

    def __init__(self, transport: Transport, agent: str, name: str = "") -> None:
        self.transport = transport
        self.agent = agent
        self.name = f"agent {name} {agent}"

    def __call__(self, prompt: str, deadline: Deadline | None) -> tuple[str, dict[str, Any]]:
        until = _within(deadline)
        reader = AnswerReader()
        try:
            body = request_body(prompt, "MAXIMAL", None, None)
            for data in self.transport.chat(self.agent, body, {}, until, lambda: until.passed):
                reader.feed(data)
                if until.passed:
                    raise until.error()
            answer = reader.finish()
        except ProtocolError as error:
            raise TransportError("protocol", str(error)) from None
        trouble = answer.error or answer.agent_error(self.agent)
        if trouble:
            raise TransportError("protocol", f"The judge reported an error: {trouble}")
        if answer.text is None:
            raise TransportError("protocol", "The judge said nothing.")
        return answer.text, answer.tokens or {}


class SurprisalJudge:
    """A language model that reads the prompt and is asked which word surprises it less, pass or fail.

    `bits` gives the bits of each continuation after the prompt, or None where the model cannot score it. A difference
    below `margin` bits is no verdict.
    """

    WORDS: Mapping[str, str] = {"pass": " pass", "fail": " fail"}

    def __init__(
        self, bits: Callable[[str, Sequence[str]], list[float | None]], name: str, margin: float = 0.01
    ) -> None:
        self.bits = bits
        self.margin = margin
        self.name = f"surprisal {name} {margin}"

    def __call__(self, prompt: str, deadline: Deadline | None) -> tuple[str, dict[str, Any]]:
        found = dict(zip(self.WORDS, self.bits(prompt, list(self.WORDS.values())), strict=True))
        passing, failing = found["pass"], found["fail"]
        if passing is None or failing is None or not (math.isfinite(passing) and math.isfinite(failing)):
            raise TransportError(
                "protocol", "The model has no score for this text (it may be too long for it)."
            )
        reason = f"{passing:.2f} bits for pass, {failing:.2f} bits for fail"
        if abs(passing - failing) < self.margin:
            raise TransportError("protocol", f"The model does not tell them apart: {reason}.")
        return f"{'pass' if passing < failing else 'fail'}\n{reason}", {}
