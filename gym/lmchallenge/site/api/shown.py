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


CORPUS: dict[str, Any] = {
    "slug": "demo-sentences",
    "title": "Sentences of the demo grammar",
    "owner": "demo",
    "visibility": "public",
    "language": "en",
    "licence": "CC0-1.0",
    "description": "",
    "format": "text",
    "sha256": "3f2a9c1d5e7b8a604c213f2a9c1d5e7b8a604c213f2a9c1d5e7b8a604c213f2a",
    "size": 2345,
    "lines": 60,
    "characters": 2285,
    "tokens": 480,
    "users": 1,
    "created": "2026-03-01T09:00:00Z",
    "updated": "2026-03-01T09:00:00Z",
}
WARNING = {"code": "tab", "line": 3, "count": 1, "message": "A tab in the text."}
CORPUS_DETAIL = {**CORPUS, "warnings": [WARNING]}
OPTIONS = {
    "game": "wp",
    "targets": True,
    "predictions": True,
    "select_from": 3,
    "seed": 42,
    "num_candidates": 100,
    "error_chars": "abc",
    "p_anykey": 0.1,
    "train": False,
    "readings": "reference",
    "player": {},
}
GAME: dict[str, Any] = {
    "id": "3f2a9c1d5e7b8a604c21",
    "title": "5-gram, next word",
    "description": "",
    "corpus": "demo-sentences",
    "owner": "alice",
    "visibility": "private",
    "game": "wp",
    "kind": "model",
    "player": "demo-ngram",
    "options": OPTIONS,
    "filename": "",
    "state": "done",
    "progress": {"done": 60, "total": 60, "error": ""},
    "problem": "",
    "lines": 60,
    "size": 90210,
    "has_targets": True,
    "has_predictions": True,
    "fingerprint": "3f2a9c1d5e7b8a604c213f2a9c1d5e7b8a604c213f2a9c1d5e7b8a604c213f2a",
    "figure": {"name": "hit3", "value": 0.41, "filter": "alphaemoji"},
    "created": "2026-03-01T09:00:00Z",
}
GAME_DETAIL = {**GAME, "corpus_match": None}
QUEUED = {
    **GAME_DETAIL,
    "state": "queued",
    "progress": {"done": 0, "total": 60, "error": ""},
    "lines": 0,
    "size": 0,
    "fingerprint": "",
    "figure": None,
}
MATCHED = {"compared": "tokens", "lines": 60, "of": 60, "first": 1, "last": 60, "recut": 0}
UPLOADED = {
    **QUEUED,
    "kind": "uploaded",
    "player": "",
    "options": {},
    "filename": "wp.log.gz",
    "lines": 60,
    "size": 90210,
    "corpus_match": MATCHED,
}
STATISTICS = {
    "id": GAME["id"],
    "game": "wp",
    "filter": "alphaemoji",
    "partition": "all",
    "parts": [{"hit3": 0.41}],
}
SEARCH = {
    "filter": "alphaemoji",
    "target": "accuracy",
    "best": {"alpha": 0.3, "oov_penalty": -4.0, "value": 0.93},
    "cells": [{"alpha": 0.3, "oov_penalty": -4.0, "value": 0.93}],
    "cross_validated": {"accuracy": 0.92, "n": 480, "interval": [0.89, 0.94], "folds": [], "cluster": "line"},
}
COMPARED = {
    "first": GAME["id"],
    "filter": "alphaemoji",
    "texts_compared": "words",
    "text_fingerprint": GAME["fingerprint"],
    "comparisons": [
        {
            "id": "7b8a604c213f2a9c1d5e",
            "title": "GPT-2, next word",
            "metric": "hit3",
            "first": 0.41,
            "second": 0.52,
            "difference": 0.11,
            "interval": [0.06, 0.16],
            "p": 0.0002,
            "cluster": "line",
            "clusters": 60,
            "n": 480,
            "only_first": 20,
            "only_second": 73,
            "mcnemar_p": 0.0,
            "verdict": "better",
        }
    ],
}
