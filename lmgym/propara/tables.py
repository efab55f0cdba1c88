"""Columns of the table of processes, as named in CSV files, JSON and docs/names.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmgym.propara.scoring import QUESTIONS, QuestionScore, overall
from lmgym.text.columns import described

_UNIT = "0 to 1"


@dataclass(frozen=True)
class ProcessScores:
    """A process in a ProPara submission with the reference's scores, which are empty if the process has no score."""

    process_id: int = described("number of the process in the reference answers")
    precision: float | None = described("mean precision of the four questions", _UNIT)
    recall: float | None = described("mean recall of the four questions", _UNIT)
    f1: float | None = described("harmonic mean of precision and recall", _UNIT)
    inputs_precision: float | None = described("precision of inputs", _UNIT)
    inputs_recall: float | None = described("recall of inputs", _UNIT)
    inputs_f1: float | None = described("F1 of inputs", _UNIT)
    outputs_precision: float | None = described("precision of outputs", _UNIT)
    outputs_recall: float | None = described("recall of outputs", _UNIT)
    outputs_f1: float | None = described("F1 of outputs", _UNIT)
    conversions_precision: float | None = described("precision of conversions", _UNIT)
    conversions_recall: float | None = described("recall of conversions", _UNIT)
    conversions_f1: float | None = described("F1 of conversions", _UNIT)
    moves_precision: float | None = described("precision of moves", _UNIT)
    moves_recall: float | None = described("recall of moves", _UNIT)
    moves_f1: float | None = described("F1 of moves", _UNIT)
    corrected_f1: float = described("F1 of the corrected metric, comparable only with itself", _UNIT)
    n_warnings: int = described("warnings about the process", "warnings")
    error: str = described("reason why the process has no score; empty: it has a score")

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ProcessScores:
        """Build a row from an element of the digest's `processes`."""
        scores: dict[str, float] = {}
        if row["scores"]:
            scores |= overall(row["scores"].values())._asdict()
            for name in QUESTIONS:
                pair = QuestionScore(*row["scores"][name])
                scores |= {
                    f"{name}_precision": pair.precision,
                    f"{name}_recall": pair.recall,
                    f"{name}_f1": pair.f1,
                }
        same = {name: row[name] for name in ("process_id", "corrected_f1", "n_warnings", "error")}
        return cls(**_NO_SCORES | scores | same)


_NO_SCORES: dict[str, Any] = dict.fromkeys(
    name for name in ProcessScores.__dataclass_fields__ if name.endswith(("precision", "recall", "f1"))
)
