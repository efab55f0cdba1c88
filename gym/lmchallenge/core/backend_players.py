"""Models of the site as players."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym.lmchallenge.core.errors import OptionError
from gym.lmchallenge.core.player import Player
from models_registry.backends import Backend
from models_registry.backends.causal import CausalBackend
from models_registry.backends.ngram import NgramBackend

PLAYABLE = ("causal", "ngram")
"""Kinds of backends that can play."""


def player_for_backend(backend: Backend, options: Mapping[str, Any] | None = None) -> Player:
    """A loaded model as a player. Options: `predictions`, `together` for both kinds; `paths`, `beam`, `steps`, `whole`
    for causal ones. Raises OptionError for other models and other options."""
    given = dict(options or {})
    try:
        if isinstance(backend, NgramBackend):
            from gym.lmchallenge.core.ngram import NgramPlayer

            return NgramPlayer(backend, **given)
        if isinstance(backend, CausalBackend):
            from gym.lmchallenge.core.causal import CausalPlayer

            return CausalPlayer(backend, **given)
    except TypeError as error:
        raise OptionError(f"These options do not fit this model: {error}.") from None
    raise OptionError("Only causal and n-gram models can play.", "Masked models see what comes after.")
