"""Targeted tests for language models: suites, surprisal, predictions, and three related evaluations.

    import lmgym
    result = lmgym.evaluate("suites/*.json", ["SmolLM2-135M/", "openai-community/gpt2"])
    result.rates()

Only the names in `__all__` are stable; other modules may move. Nothing here imports Django or the site (gym, suites,
models_registry), which is built on this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmgym import errors
    from lmgym.evaluation import evaluate, lint, load_suite, score
    from lmgym.models.engine.policy import ScoringPolicy
    from lmgym.results import Result

__version__ = "1.0.0"
__all__ = ["Result", "ScoringPolicy", "__version__", "errors", "evaluate", "lint", "load_suite", "score"]

_MODULES = {
    "Result": "lmgym.results",
    "ScoringPolicy": "lmgym.models.engine.policy",
    "evaluate": "lmgym.evaluation",
    "lint": "lmgym.evaluation",
    "load_suite": "lmgym.evaluation",
    "score": "lmgym.evaluation",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    from importlib import import_module

    if name == "errors":
        return import_module("lmgym.errors")
    if name not in _MODULES:
        raise AttributeError(f"module 'lmgym' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
