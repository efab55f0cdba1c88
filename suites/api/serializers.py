"""Response bodies for suites, their revisions and drafts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gym.api.records import RecordSerializer
from lmgym.suites.authors import Author
from lmgym.suites.diff import PredictionChange, SuiteDiff
from lmgym.suites.formats import PredictionDoc
from lmgym.suites.formats.designs import Factor, written
from lmgym.suites.lint.findings import Finding
from suites.models import Sentence, Suite, SuiteRevision, Tag
from suites.permissions import may_know_owner
from suites.presenters import author_name, authors_of
from suites.selectors import design_of, listed_for


class RevisionSerializer(serializers.ModelSerializer[SuiteRevision]):
    class Meta:
        model = SuiteRevision
        fields = ["number", "state", "sha256", "note", "errata", "created", "frozen_at"]
        read_only_fields = fields


class FactorSerializer(RecordSerializer):
    """A factor of the design."""

    class Meta:
        dataclass = Factor
        extra_kwargs = {
            "levels": {"help_text": "in order; the first one is the baseline"},
            "conditions": {"help_text": "condition: its level; conditions outside the design are absent"},
        }


class RevisionDetailSerializer(RevisionSerializer):
    suite = serializers.CharField(source="suite.slug")
    regions = serializers.ListField(child=serializers.CharField(), source="region_names")
    conditions = serializers.ListField(child=serializers.CharField(), source="condition_names")
    factors = serializers.SerializerMethodField(help_text="factors of the design; empty if there is none")
    metric = serializers.JSONField(help_text="a metric, a list of metrics, or all")
    predictions = serializers.SerializerMethodField()
    n_sentences = serializers.IntegerField()

    class Meta(RevisionSerializer.Meta):
        fields = [
            "suite",
            *RevisionSerializer.Meta.fields,
            "name",
            "metric",
            "join_policy",
            "regions",
            "conditions",
            "factors",
            "n_sentences",
            "predictions",
        ]
        read_only_fields = fields

    @extend_schema_field(FactorSerializer(many=True))
    def get_factors(self, revision: SuiteRevision) -> list[dict[str, Any]]:
        return written(design_of(revision))

    def get_predictions(self, revision: SuiteRevision) -> list[dict[str, str]]:
        rows: Any = revision.predictions.order_by("position").values("name", "description", "formula")
        return list(rows)


class SuiteSerializer(serializers.ModelSerializer[Suite]):
    owner = serializers.SerializerMethodField(help_text="user name; null in an unlisted suite of others")
    tags: serializers.SlugRelatedField[Tag] = serializers.SlugRelatedField("name", many=True, read_only=True)
    n_items = serializers.IntegerField(help_text="of the newest revision, like the other counts")
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
            "created",
            "updated",
        ]
        read_only_fields = fields

    def get_owner(self, suite: Suite) -> str | None:
        return suite.owner.username if may_know_owner(self.context["request"].user, suite) else None


class AuthorSerializer(RecordSerializer):
    class Meta:
        dataclass = Author
        extra_kwargs = {"affiliation": {"help_text": "empty if not stated"}}


class SuiteDetailSerializer(SuiteSerializer):
    author = serializers.SerializerMethodField(
        help_text="who made the stimuli; empty in an unlisted suite of others"
    )
    authors = serializers.SerializerMethodField(help_text="`author` as a list, in citation order")
    without_modifier = serializers.SerializerMethodField(
        help_text="slug of the suite without the modifier, if set by hand and listed for you; else null"
    )
    revisions = RevisionSerializer(many=True, help_text="newest first")

    class Meta(SuiteSerializer.Meta):
        fields = [
            *SuiteSerializer.Meta.fields,
            "author",
            "authors",
            "description",
            "reference",
            "bibtex",
            "comment",
            "without_modifier",
            "revisions",
        ]
        read_only_fields = fields

    def get_author(self, suite: Suite) -> str:
        return author_name(suite, self.context["request"].user)

    @extend_schema_field(AuthorSerializer(many=True))
    def get_authors(self, suite: Suite) -> list[dict[str, str]]:
        return [asdict(author) for author in authors_of(suite, self.context["request"].user)]

    def get_without_modifier(self, suite: Suite) -> str | None:
        if suite.without_modifier_id is None:
            return None
        named = listed_for(self.context["request"].user).filter(pk=suite.without_modifier_id)
        return named.values_list("slug", flat=True).first()


class SentenceSerializer(serializers.ModelSerializer[Sentence]):
    contents = serializers.ListField(child=serializers.CharField(), help_text="text of each region")

    class Meta:
        model = Sentence
        fields = ["item", "condition", "contents"]
        read_only_fields = fields


class FindingSerializer(RecordSerializer):
    """A finding of the linter. `ignored` is the reason why it was dismissed, or empty."""

    cells = serializers.ListField(child=serializers.JSONField(), help_text="[item, condition, region]")
    ignored = serializers.CharField()
    setting = serializers.CharField(help_text="the setting of the suite that may resolve it: join, or empty")

    class Meta:
        dataclass = Finding
        fields = ["code", "severity", "where", "message", "hint", "cells", "ignored", "setting"]


class LintSerializer(serializers.Serializer[Any]):
    revision = serializers.IntegerField()
    findings = FindingSerializer(many=True)


class PredictionSerializer(RecordSerializer):
    class Meta:
        dataclass = PredictionDoc
        ref_name = "Prediction"
        fields = ["name", "description", "formula"]


class IgnoredSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    where = serializers.CharField()
    reason = serializers.CharField()


class DraftSerializer(serializers.Serializer[Any]):
    """A draft without its cells."""

    suite = serializers.CharField()
    revision = serializers.IntegerField()
    version = serializers.IntegerField(help_text="increases by one with every edit")
    structure = serializers.IntegerField(
        help_text="the version at which items, conditions or regions last changed; edits of older versions are refused"
    )
    metric = serializers.JSONField(help_text="a metric, a list of metrics, or all")
    join = serializers.CharField()
    regions = serializers.ListField(child=serializers.CharField())
    conditions = serializers.ListField(child=serializers.CharField())
    factors = FactorSerializer(many=True)
    items = serializers.ListField(child=serializers.IntegerField())
    n_rows = serializers.IntegerField()
    predictions = PredictionSerializer(many=True)
    ignored = IgnoredSerializer(many=True)


class EditedSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="current version of the draft")


class PredictionChangeSerializer(RecordSerializer):
    kind = serializers.ChoiceField(["added", "removed", "changed"])
    old = PredictionSerializer(allow_null=True)
    new = PredictionSerializer(allow_null=True)

    class Meta:
        dataclass = PredictionChange
        fields = ["number", "kind", "old", "new"]


class DiffSerializer(RecordSerializer):
    """Changes from one revision to another; a list is empty if nothing of its kind changed."""

    predictions = PredictionChangeSerializer(many=True)

    class Meta:
        dataclass = SuiteDiff
        ref_name = "Diff"
