"""What the API says about suites, models and runs."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gym.evaluations.models import PredictionResult, SuiteRun
from models_registry.models import RegisteredModel
from suites.models import Suite, SuiteRevision


class RevisionSerializer(serializers.ModelSerializer):
    class Meta:
        model = SuiteRevision
        fields = ["number", "state", "sha256", "note", "created", "frozen_at"]


class SuiteSerializer(serializers.ModelSerializer):
    owner = serializers.CharField(source="owner.username")
    tags = serializers.SlugRelatedField("name", many=True, read_only=True)
    n_items = serializers.IntegerField()
    n_sentences = serializers.IntegerField()
    n_predictions = serializers.IntegerField()

    class Meta:
        model = Suite
        fields = [
            "slug",
            "title",
            "owner",
            "visibility",
            "tags",
            "language",
            "licence",
            "n_items",
            "n_sentences",
            "n_predictions",
            "updated",
        ]


class SuiteDetailSerializer(SuiteSerializer):
    revisions = RevisionSerializer(many=True)

    class Meta(SuiteSerializer.Meta):
        fields = [*SuiteSerializer.Meta.fields, "description", "reference", "bibtex", "comment", "revisions"]


class ModelSerializer(serializers.ModelSerializer):
    owner = serializers.CharField(source="owner.username")

    class Meta:
        model = RegisteredModel
        fields = [
            "slug",
            "name",
            "owner",
            "backend",
            "status",
            "status_reason",
            "parameters",
            "vocabulary_size",
            "fingerprint",
            "source_revision",
            "licence",
            "corpus",
            "facts",
        ]


class PredictionResultSerializer(serializers.ModelSerializer):
    formula = serializers.CharField(source="prediction.formula")
    name = serializers.CharField(source="prediction.name")

    class Meta:
        model = PredictionResult
        fields = [
            "name",
            "formula",
            "passed",
            "total",
            "rate",
            "ci_low",
            "ci_high",
            "chance",
            "ties",
            "too_close",
            "not_evaluable",
            "mean_margin",
        ]


class RunSerializer(serializers.ModelSerializer):
    id = serializers.CharField(source="key")
    suite = serializers.CharField(source="revision.suite.slug")
    revision = serializers.IntegerField(source="revision.number")
    model = serializers.CharField(source="model.slug")
    progress = serializers.SerializerMethodField()
    predictions = PredictionResultSerializer(source="prediction_results", many=True)

    class Meta:
        model = SuiteRun
        fields = [
            "id",
            "suite",
            "revision",
            "model",
            "state",
            "source",
            "policy",
            "provenance",
            "progress",
            "created",
            "completed_at",
            "filling",
            "n_sentences",
            "n_unscored",
            "predictions",
        ]

    def get_progress(self, run: SuiteRun) -> dict[str, Any] | None:
        job = run.job
        if job is None:
            return None
        return {"done": job.done, "total": job.total, "eta_seconds": job.eta_seconds, "error": job.error}


class RunRequest(serializers.Serializer):
    """POST /runs/: which model on which suite, and how."""

    suite = serializers.SlugField()
    revision = serializers.IntegerField(required=False, help_text="default: the newest frozen one")
    model = serializers.SlugField()
    policy = serializers.DictField(required=False, default=dict)
