"""ProPara: score what systems say about processes (inputs, outputs, conversions, moves), and see why.

    from gym.propara import evaluate
    report = evaluate(answers_text, predictions_text)
    report.precision, report.recall, report.f1

The modules of this package import no Django, except apps.py, models.py, admin.py, management/ and site/.
"""

from gym.propara.core.errors import Problem, ProParaError
from gym.propara.core.process_report import ProcessReport
from gym.propara.core.report import Report, evaluate

__all__ = ["ProParaError", "Problem", "ProcessReport", "Report", "evaluate"]
