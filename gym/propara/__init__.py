"""ProPara: score what systems say about processes (inputs, outputs, conversions, moves), and see why.

    from gym.propara import evaluate
    report = evaluate(answers_text, predictions_text)
    report.precision, report.recall, report.f1

The modules of this package import no Django, except apps.py and management/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gym.propara.errors import Problem, ProParaError
    from gym.propara.report import ProcessReport, Report, evaluate

__all__ = ["ProParaError", "Problem", "ProcessReport", "Report", "evaluate"]


def __getattr__(name: str) -> Any:
    """Loaded on first use: the command line starts in a few hundredths of a second."""
    if name not in __all__:
        raise AttributeError(name)
    from gym.propara import errors, report

    return getattr(report if hasattr(report, name) else errors, name)
