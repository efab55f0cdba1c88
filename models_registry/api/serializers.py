"""Request and response bodies about models."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gym.api.records import RecordSerializer
from gym.api.requests import Body
from gym.sharing.models import PRIVATE_OR_PUBLIC, Visibility
from lmgym.models.backends import BACKENDS
from lmgym.models.backends.base import BackendSpec
from lmgym.models.backends.checkpoints import MAX_TEXT
from lmgym.models.engine.policy import MAX_BOS
from models_registry import permissions
from models_registry.models import RegisteredModel


class ModelSerializer(serializers.ModelSerializer[RegisteredModel]):
    owner = serializers.CharField(source="owner.username")
    tags = serializers.ListField(child=serializers.CharField())
    status_reason = serializers.SerializerMethodField(
        help_text="reason why the model was refused or is broken; only its owner and staff see the reason for a refusal"
    )

    class Meta:
        model = RegisteredModel
        fields = [
            "slug", "name", "owner", "backend", "visibility", "status", "status_reason", "parameters",
            "vocabulary_size", "fingerprint", "source_revision", "licence", "corpus", "tags", "created",
            "checked_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_status_reason(self, model: RegisteredModel) -> str:
        refused = model.status == RegisteredModel.Status.REFUSED
        hidden = refused and not permissions.can_manage(self.context["request"].user, model)
        return "" if hidden else model.status_reason


class ModelDetailSerializer(ModelSerializer):
    url = serializers.CharField(help_text="home page, or empty")
    facts = serializers.DictField(help_text="results of the check")
    config = serializers.SerializerMethodField(
        help_text="configuration, shown to editors of the model; else null"
    )
    check_job = serializers.UUIDField(source="check_job_id", allow_null=True)

    class Meta(ModelSerializer.Meta):
        fields = [
            *ModelSerializer.Meta.fields, "description", "authorship", "perplexity", "url", "bibtex",
            "facts", "config", "check_job",
        ]  # fmt: skip
        read_only_fields = fields

    def get_config(self, model: RegisteredModel) -> dict[str, Any] | None:
        return model.config if permissions.can_edit(self.context["request"].user, model) else None


class BackendSerializer(RecordSerializer):
    """A kind of model, with the JSON schema of its configuration."""

    needs_approval = serializers.BooleanField(
        source="needs_files", help_text="staff must approve models of this kind"
    )

    class Meta:
        dataclass = BackendSpec
        ref_name = "Backend"
        fields = ["kind", "label", "help", "needs_approval", "schema"]


class ModelCard(Body):
    name = serializers.CharField(max_length=200, required=False)
    visibility = serializers.ChoiceField(PRIVATE_OR_PUBLIC, required=False)
    tags = serializers.ListField(child=serializers.CharField(max_length=60), max_length=50, required=False)
    description = serializers.CharField(max_length=100_000, allow_blank=True, required=False)
    authorship = serializers.CharField(max_length=200, allow_blank=True, required=False)
    licence = serializers.CharField(max_length=60, allow_blank=True, required=False)
    corpus = serializers.CharField(max_length=200, allow_blank=True, required=False)
    perplexity = serializers.FloatField(allow_null=True, required=False)
    url = serializers.URLField(max_length=200, allow_blank=True, required=False)
    bibtex = serializers.CharField(max_length=100_000, allow_blank=True, required=False)


class ModelChanges(ModelCard):
    backend = serializers.ChoiceField(sorted(BACKENDS), required=False, help_text="together with config")
    config = serializers.DictField(
        required=False,
        help_text="complete configuration, as in the backend's schema; cannot be changed once the model has results",
    )

    start_token = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        max_length=MAX_BOS,
        help_text="start token, one of `facts.probe.start_tokens.candidates`; empty: none. Existing runs keep theirs",
    )


class SeriesSerializer(serializers.Serializer[Any]):
    """Checkpoints of one model, in order of their training steps."""

    models = ModelSerializer(many=True)


class NewModel(ModelCard):
    slug = serializers.SlugField(max_length=80)
    name = serializers.CharField(max_length=200)
    visibility = serializers.ChoiceField(PRIVATE_OR_PUBLIC, default=Visibility.PRIVATE)
    backend = serializers.ChoiceField(sorted(BACKENDS))
    config = serializers.DictField(help_text="configuration, as in the backend's schema")


class NewSeries(NewModel):
    slug = serializers.SlugField(
        max_length=80, help_text="name of the checkpoints' group; their slugs begin with it"
    )
    revisions = serializers.CharField(
        max_length=MAX_TEXT,
        help_text="branches and tags of the Hub repository, separated by commas or spaces; `step*` and "
        "`step{1000..9000..1000}` are patterns",
    )
