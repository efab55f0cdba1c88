"""ProPara: score what systems say about processes (inputs, outputs, conversions, moves), and see why.

    from gym.propara import evaluate
    report = evaluate(answers_text, predictions_text)
    report.precision, report.recall, report.f1

The modules of this package import no Django, except apps.py and management/.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gym.propara.errors import ProParaError
    from gym.propara.problem import Problem
    from gym.propara.report import ProcessReport, Report, evaluate

__all__ = ["ProParaError", "Problem", "ProcessReport", "Report", "evaluate"]


def __getattr__(name: str) -> Any:
    """Loaded on first use: the command line starts in a few hundredths of a second."""
    if name not in __all__:
        raise AttributeError(name)
    from gym.propara import errors, problem, report

    return next(getattr(module, name) for module in (report, errors, problem) if hasattr(module, name))
