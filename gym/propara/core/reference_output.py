"""What the reference prints and writes, byte for byte. Pure."""

from __future__ import annotations

import json
from typing import Any

from gym.propara.core.process_report import ProcessReport
from gym.propara.core.scoring import QUESTIONS, Averages

_DOUBLE, _SINGLE = "=" * 49, "-" * 49
_BLANKS = " " * 26


def report_text(averages: Averages, n_predictions: int, n_answers: int) -> str:
    lines = [_DOUBLE, "Question     Avg. Precision  Avg. Recall  Avg. F1", _SINGLE]
    for name in QUESTIONS:
        one = averages.questions[name]
        lines.append(f"{name.capitalize():<22}{one.precision:4.3f}        {one.recall:4.3f}    {one.f1:4.3f}")
    lines += [
        _SINGLE,
        f"Overall Precision {averages.precision:4.3f}{_BLANKS}",
        f"Overall Recall    {averages.recall:4.3f}{_BLANKS}",
        f"Overall F1        {averages.f1:4.3f}{_BLANKS}",
        _DOUBLE,
        "",
        f"Evaluated {n_predictions} predictions against {n_answers} answers.",
        "",
    ]
    return "\n".join(lines) + "\n"


def metrics_json(averages: Averages) -> str:
    return json.dumps(averages.rounded())


def diagnostics_header(predictions_file: str, answers_file: str) -> str:
    return f"Diagnostics of evaluation of predictions in {predictions_file} against answers in {answers_file}\n\n"


def process_diagnostics(process: ProcessReport) -> str:
    """Of a process that has scores."""
    assert process.scores is not None
    data: dict[str, Any] = {
        "prediction_summary": process.prediction.as_dict(),
        "answer_summary": process.answer.as_dict(),
        "score": {
            "process_id": process.process_id,
            **{name: one.as_dict() for name, one in process.scores.items()},
        },
    }
    if process.sentences:
        data["sentences"] = [
            {"step_number": number, "text": text} for number, text in enumerate(process.sentences, 1)
        ]
    return json.dumps(data, indent=4) + "\n"


def overall_diagnostics(averages: Averages) -> str:
    return json.dumps({"overall_scores": averages.rounded()}, indent=4) + "\n"
