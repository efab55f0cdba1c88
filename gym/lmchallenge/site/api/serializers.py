"""What the API says about corpora and games, with examples."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gym.lmchallenge.models import Corpus, Game
from gym.lmchallenge.site.counting import keep_of


class CorpusSerializer(serializers.ModelSerializer):
    owner = serializers.CharField(source="owner.username")
    format = serializers.CharField(source="form", help_text="text or json")

    class Meta:
        model = Corpus
        fields = [
            "slug", "title", "owner", "visibility", "language", "licence", "description", "format", "sha256",
            "size", "lines", "characters", "tokens", "users", "created", "updated",
        ]  # fmt: skip
        read_only_fields = fields


class CorpusDetailSerializer(CorpusSerializer):
    warnings = serializers.ListField(child=serializers.DictField(), help_text="code, line, count, message")

    class Meta(CorpusSerializer.Meta):
        fields = [*CorpusSerializer.Meta.fields, "warnings"]
        read_only_fields = fields


class GameSerializer(serializers.ModelSerializer):
    id = serializers.CharField(source="key")
    corpus = serializers.CharField(source="corpus.slug", allow_null=True, default=None)
    owner = serializers.CharField(source="owner.username", allow_null=True, default=None)
    state = serializers.CharField(help_text="queued, running, done, failed, cancelled or lost")
    options = serializers.DictField()
    progress = serializers.SerializerMethodField(help_text="lines played of all, and the job's error")
    figure = serializers.SerializerMethodField(
        help_text="hit3, pcpc or accuracy, of tokens with a letter or an emoji (filter alphaemoji) or, where the log "
        "has no words, of all tokens (filter all); null before it is counted"
    )

    class Meta:
        model = Game
        fields = [
            "id", "title", "description", "corpus", "owner", "visibility", "game", "kind", "player", "options",
            "filename", "state", "progress", "problem", "lines", "size", "has_targets", "has_predictions",
            "fingerprint", "figure", "created",
        ]  # fmt: skip
        read_only_fields = fields

    def get_progress(self, row: Game) -> dict[str, Any] | None:
        job = row.job
        return None if job is None else {"done": job.done, "total": job.total, "error": job.error}

    def get_figure(self, row: Game) -> dict[str, Any] | None:
        found = row.headline
        keep = keep_of("alphaemoji", row)
        return {"name": found[0], "value": found[1], "filter": keep} if found else None


class GameDetailSerializer(GameSerializer):
    corpus_match = serializers.DictField(
        source="report.corpus_match",
        allow_null=True,
        default=None,
        help_text="of an uploaded log that is filed under a corpus: what was compared (tokens, texts, token lengths, "
        "line lengths), its lines and those of the corpus (of), the corpus's lines that its first and last are, and "
        "how many are cut into other tokens (recut)",
    )

    class Meta(GameSerializer.Meta):
        fields = [*GameSerializer.Meta.fields, "corpus_match"]
        read_only_fields = fields
