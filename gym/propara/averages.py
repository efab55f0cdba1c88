"""Means over processes, rounded where the reference rounds. Pure; the command line loads it first."""

from __future__ import annotations

from gym.propara.matching import QUESTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


class QuestionAverage:
    """Precision and recall are rounded to three decimals, as the reference has them; raw_* are not."""

    __slots__ = ("precision", "raw_precision", "raw_recall", "recall")

    def __init__(self, raw_precision: float, raw_recall: float) -> None:
        self.raw_precision, self.raw_recall = raw_precision, raw_recall
        self.precision, self.recall = round(raw_precision, 3), round(raw_recall, 3)

    @property
    def f1(self) -> float:
        return harmonic(self.precision, self.recall)


class Averages:
    """Of all four questions: means of the rounded averages, not rounded themselves."""

    __slots__ = ("precision", "questions", "recall")

    def __init__(self, questions: dict[str, QuestionAverage]) -> None:
        i, o, c, m = questions.values()
        self.questions = questions
        self.precision = (i.precision + o.precision + c.precision + m.precision) / 4
        self.recall = (i.recall + o.recall + c.recall + m.recall) / 4

    @property
    def f1(self) -> float:
        return harmonic(self.precision, self.recall)

    def rounded(self) -> dict[str, float]:
        return {
            "precision": round(self.precision, 3),
            "recall": round(self.recall, 3),
            "f1": round(self.f1, 3),
        }


class Averager:
    """Sums in the order of the answers file; keeps eight numbers however many processes there are. `kept`, where
    somebody wants them, gets the scores of each process; a new start empties it."""

    def __init__(self, kept: list[Sequence[tuple[float, float]]] | None = None) -> None:
        self.n = 0
        self._kept = kept
        if kept is not None:
            kept.clear()
        self._sums = [0.0] * (2 * len(QUESTIONS))

    def add(self, scores: Sequence[tuple[float, float]]) -> None:
        """Precision and recall of each question, in the order of QUESTIONS."""
        self.n += 1
        if self._kept is not None:
            self._kept.append(scores)
        sums = self._sums
        for k, (precision, recall) in enumerate(scores):
            sums[2 * k] += precision
            sums[2 * k + 1] += recall

    def averages(self) -> Averages:
        means = [total / self.n for total in self._sums]
        return Averages(
            {
                name: QuestionAverage(p, r)
                for name, p, r in zip(QUESTIONS, means[::2], means[1::2], strict=True)
            }
        )


def averages_of(scores: Iterable[Sequence[tuple[float, float]]]) -> Averages:
    averager = Averager()
    for one in scores:
        averager.add(one)
    return averager.averages()
