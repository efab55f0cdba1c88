"""Policies that no model of a kind can follow: known without loading one, so that nothing is queued in vain."""

from __future__ import annotations

from models_registry.backends.base import BackendError
from models_registry.engine.policy import ScoringPolicy

_FRAME = "A masked model reads every text in its tokenizer's own frame, which is given and never scored"
_WHITESPACE = {
    "ngram": "The tokens of an n-gram model are whole words: the whitespace correction has nothing to move.",
    "uniform": "The uniform model knows no blanks: the whitespace correction has nothing to move.",
    "masked": "The whitespace correction is about left-to-right prediction: a masked model has none.",
    "openai": "A completion server does not tell what the whitespace correction needs.",
    "lmzoo": "LM Zoo containers do not tell what the whitespace correction needs.",
}


def refusal(kind: str, policy: ScoringPolicy) -> str:
    """Why models of this kind cannot follow this policy; empty: nothing speaks against it before one is loaded."""
    if policy.whitespace == "trailing" and kind in _WHITESPACE:
        return _WHITESPACE[kind]
    if kind == "masked" and policy.bos == "never":
        return f"{_FRAME}, so bos=never cannot be followed."
    if kind == "masked" and policy.eos:
        return f"{_FRAME}, so the end token cannot be scored."
    return ""


def require_possible(kind: str, policy: ScoringPolicy) -> None:
    """Raise BackendError with the reason of `refusal`."""
    if reason := refusal(kind, policy):
        raise BackendError(reason)
