"""What the API says about answer sets and submissions."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gym.propara.models import AnswerSet, AnswerSetVersion, Submission
from gym.propara.site import exports


class AnswerSetVersionSerializer(serializers.ModelSerializer):
    n_processes = serializers.IntegerField(read_only=True)
    process_ids = serializers.ListField(child=serializers.IntegerField())
    events = serializers.DictField(child=serializers.IntegerField(), help_text="steps by action")
    notices = serializers.ListField(child=serializers.CharField(), help_text="what is odd, but accepted")

    class Meta:
        model = AnswerSetVersion
        fields = [
            "number",
            "note",
            "sha256",
            "sentences_sha256",
            "n_processes",
            "n_participants",
            "n_steps",
            "process_ids",
            "events",
            "notices",
            "created",
        ]
        read_only_fields = fields


class AnswerSetSerializer(serializers.ModelSerializer):
    owner = serializers.CharField(source="owner.username")
    versions = serializers.SerializerMethodField(help_text="numbers, the newest first")

    class Meta:
        model = AnswerSet
        fields = [
            "slug",
            "title",
            "owner",
            "visibility",
            "description",
            "licence",
            "reference",
            "versions",
            "created",
            "updated",
        ]
        read_only_fields = fields

    def get_versions(self, row: AnswerSet) -> list[int]:
        return [version.number for version in row.versions.all()]


class ProParaSubmissionSerializer(serializers.ModelSerializer):
    id = serializers.CharField(source="key")
    answer_set = serializers.CharField(source="version.answer_set.slug")
    version = serializers.IntegerField(source="version.number")
    owner = serializers.CharField(source="owner.username", allow_null=True)
    model = serializers.CharField(source="model.slug", allow_null=True, help_text="that generated it")
    link = serializers.CharField(help_text="to the system, or empty")
    repairs = serializers.ListField(child=serializers.DictField(), help_text="line, column, code, message")
    reference = serializers.DictField(allow_null=True, help_text="the official numbers; null without a score")
    corrected = serializers.SerializerMethodField(help_text="another metric: compare it only with itself")
    progress = serializers.SerializerMethodField(help_text="of what is being generated")

    class Meta:
        model = Submission
        fields = [
            "id",
            "answer_set",
            "version",
            "system",
            "description",
            "paper",
            "link",
            "owner",
            "visibility",
            "state",
            "source",
            "model",
            "kind",
            "filename",
            "file_sha256",
            "repairs",
            "agreed_at",
            "n_samples",
            "evaluator",
            "scored_at",
            "reference",
            "corrected",
            "progress",
            "created",
        ]
        read_only_fields = fields

    def get_corrected(self, row: Submission) -> dict[str, Any] | None:
        return row.report.get("corrected")

    def get_progress(self, row: Submission) -> dict[str, Any] | None:
        job = row.job
        if job is None or row.state != Submission.State.GENERATING:
            return None
        return {"state": job.state, "done": job.done, "total": job.total, "error": job.error}


class ProParaProcessSerializer(serializers.Serializer):
    """One line of a report."""

    id = serializers.IntegerField()
    f1 = serializers.FloatField(allow_null=True)
    scores = serializers.DictField(
        allow_null=True, child=serializers.ListField(), help_text="question: [precision, recall]"
    )
    corrected = serializers.DictField(
        child=serializers.ListField(), help_text="question: [precision, recall]"
    )
    corrected_f1 = serializers.FloatField()
    error = serializers.CharField(allow_blank=True)
    mistakes = serializers.DictField(child=serializers.IntegerField())
    warnings = serializers.IntegerField()


def process_detail(report: Any) -> dict[str, Any]:
    """A ProcessReport with all its pairs, mistakes and grids."""
    from gym.propara.core.mistakes import mistakes
    from gym.propara.core.scoring import QUESTIONS

    def items(rows: Any) -> list[Any]:
        return [row._asdict() if hasattr(row, "_asdict") else row for row in rows]

    questions = {}
    for name in QUESTIONS:
        answers, predictions = report.matches(name)
        questions[name] = {
            "pairs": [
                {
                    "answer": items([pair.answer])[0],
                    "prediction": items([pair.prediction])[0],
                    "score": pair.score,
                    "reason": pair.reason,
                    "parts": [vars(part) for part in pair.parts],
                }
                for pair in report.pairs(name)[:1_000]
            ],
            "missed": items(one.item for one in answers if not one.score),
            "spurious": items(one.item for one in predictions if not one.score),
        }
    return {
        **report.as_dict(),
        "sentences": list(report.sentences),
        "answer_grid": _grid(report.answer_grid),
        "prediction_grid": _grid(report.prediction_grid),
        "mistakes": [one.as_dict() for one in mistakes(report.answer_grid, report.prediction_grid)],
        "questions": questions,
    }


def _grid(grid: Any) -> dict[str, Any]:
    return {
        name: {"locations": grid.locations[name], "actions": grid.actions[name]} for name in grid.participants
    }


def report_of(submission: Submission) -> dict[str, Any]:
    return exports.full_report(submission)
