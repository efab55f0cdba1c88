"""What the reference prints and writes, byte for byte. Pure."""

from __future__ import annotations

from gym.propara.matching import QUESTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gym.propara.averages import Averages
    from gym.propara.scoring import Scores
    from gym.propara.summary import Summary

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
    """As json.dumps writes it; importing json takes longer than this."""
    return "{" + ", ".join([f'"{name}": {value!r}' for name, value in averages.rounded().items()]) + "}"


def diagnostics_header(predictions_file: str, answers_file: str) -> str:
    return f"Diagnostics of evaluation of predictions in {predictions_file} against answers in {answers_file}\n\n"


def process_diagnostics(
    prediction: Summary, answer: Summary, scores: Scores, sentences: tuple[str, ...] | None
) -> str:
    from json.encoder import encode_basestring_ascii

    data: dict[str, Any] = {
        "prediction_summary": prediction.as_dict(),
        "answer_summary": answer.as_dict(),
        "score": {
            "process_id": answer.process_id,
            **{name: one.as_dict() for name, one in zip(QUESTIONS, scores, strict=True)},
        },
    }
    if sentences is not None:
        data["sentences"] = [
            {"step_number": number, "text": text} for number, text in enumerate(sentences, 1)
        ]
    return _indented(data, "\n", encode_basestring_ascii) + "\n"


def overall_diagnostics(averages: Averages) -> str:
    from json.encoder import encode_basestring_ascii

    return _indented({"overall_scores": averages.rounded()}, "\n", encode_basestring_ascii) + "\n"


def _indented(value: Any, end: str, quoted: Callable[[str], str]) -> str:
    """As json.dumps(value, indent=4) writes strings, numbers, None, lists and dictionaries, and several times as quick.
    `end`: the end of a line and the blanks of the next."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        inner = end + "    "
        items = [f"{quoted(key)}: {_indented(one, inner, quoted)}" for key, one in value.items()]
        return "{" + inner + f",{inner}".join(items) + end + "}"
    if isinstance(value, list):
        if not value:
            return "[]"
        inner = end + "    "
        return "[" + inner + f",{inner}".join([_indented(one, inner, quoted) for one in value]) + end + "]"
    return "null" if value is None else repr(value)
