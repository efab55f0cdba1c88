"""ProPara: score predictions about processes (inputs, outputs, conversions, moves) and explain every score.

from lmgym.propara import evaluate
report = evaluate(answers_text, predictions_text)
report.precision, report.recall, report.f1
"""

from lmgym.propara.errors import Problem, ProParaError
from lmgym.propara.process_report import ProcessReport
from lmgym.propara.report import Report, evaluate

__all__ = ["ProParaError", "Problem", "ProcessReport", "Report", "evaluate"]
