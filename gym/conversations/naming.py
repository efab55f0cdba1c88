"""A model that names failure modes: it chooses among the names there are, or gives one new name. Pure."""

from __future__ import annotations

from gym.conversations.assessor import Chooser, Sample, choice_prompt, read_choice
from gym.conversations.judging import Asked
from gym.conversations.transport import TransportError


def chooser(ask: Asked) -> Chooser:
    """Without an answer, or with one that is no choice, the failure stays where deterministic grouping puts it."""

    def choose(sample: Sample, names: list[str]) -> str:
        try:
            answer, _ = ask(choice_prompt(sample, names), None)
        except TransportError:
            return ""
        return read_choice(answer, names)

    return choose
