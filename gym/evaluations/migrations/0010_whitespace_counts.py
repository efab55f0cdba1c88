"""Runs with the whitespace correction had raw bits, and corrected ones beside them that counted for nothing. Now their
bits are the corrected ones, and their predictions are judged by them.

B after each token is in the score cache. Runs for which it is not there any more keep their raw bits, and say so.
"""

from __future__ import annotations

from dataclasses import asdict

from django.db import migrations

from gym.evaluations.cache import text_key
from gym.evaluations.compute import evaluate_document
from models_registry.engine import ScoringFailure, ScoringPolicy, TokenScores
from suites.formats import PredictionDoc, SentenceDoc, SuiteDocument

BATCH = 500
WITHOUT_BLANKS = ("ngram", "uniform")
RAW = "The whitespace correction was asked for when it did not count yet; these bits are raw."


def correct(apps, schema_editor):
    SuiteRun = apps.get_model("evaluations", "SuiteRun")
    computed = SuiteRun.objects.filter(source="computed").order_by("pk")
    for pk, policy in list(computed.values_list("pk", "policy")):
        if policy.get("whitespace", "none") == "none":
            SuiteRun.objects.filter(pk=pk).update(policy={**policy, "whitespace": "none"})
            continue
        run = SuiteRun.objects.select_related("revision", "model").get(pk=pk)
        possible = policy.get("metric", "sum") == "sum" and run.model.backend not in WITHOUT_BLANKS
        if possible and run.completed_at is None:
            continue
        result = _corrected(apps, run) if possible else None
        if result is None:
            facts = {**run.provenance, "whitespace_note": RAW} if run.completed_at else run.provenance
            SuiteRun.objects.filter(pk=pk).update(policy={**policy, "whitespace": "none"}, provenance=facts)
        else:
            _write(run, result)


def _corrected(apps, run):
    """The run with corrected bits; None where a sentence's B is not there."""
    rows = list(run.sentence_scores.select_related("sentence").order_by("sentence__position"))
    stored = _stored(apps, run.scorer, {row.text for row in rows if not row.failure})
    scores = []
    for row in rows:
        if row.failure:
            scores.append(ScoringFailure(row.failure))
            continue
        found = stored.get(text_key(row.text), {})
        if found.get("ids") != [token[1] for token in row.tokens] or not found.get("boundary_bits"):
            return None
        scores.append(TokenScores.from_dict({**found, "bits": [token[4] for token in row.tokens]}))
    error_bits = run.provenance.get("error_bits")
    return evaluate_document(
        _document(run.revision, rows),
        scores,
        ScoringPolicy.from_dict(run.policy),
        *([error_bits] if error_bits else []),
        left_to_right=True,
    )


def _stored(apps, scorer, texts):
    ScoreCache = apps.get_model("evaluations", "ScoreCache")
    keys = sorted(map(text_key, texts))
    found = {}
    for start in range(0, len(keys), BATCH):
        rows = ScoreCache.objects.filter(scorer=scorer, text_sha256__in=keys[start : start + BATCH])
        found.update(rows.values_list("text_sha256", "scores"))
    return found


def _document(revision, rows):
    return SuiteDocument(
        name=revision.name,
        metric="sum",
        meta={},
        region_names=tuple(revision.region_names),
        conditions=tuple(revision.condition_names),
        sentences=tuple(
            SentenceDoc(row.sentence.item, row.sentence.condition, tuple(row.sentence.contents)) for row in rows
        ),
        predictions=tuple(
            PredictionDoc(formula=row.formula, name=row.name)
            for row in revision.predictions.order_by("position")
        ),
    )


def _write(run, result):
    rows = list(run.sentence_scores.order_by("sentence__position"))
    for row, found in zip(rows, result.sentences, strict=True):
        row.regions, row.tokens = found.regions, found.tokens
        row.special_bits, row.total_bits = found.special, found.total
    run.sentence_scores.bulk_update(
        rows, ["regions", "tokens", "special_bits", "total_bits"], batch_size=BATCH
    )
    for row, found in zip(run.prediction_results.order_by("position"), result.predictions, strict=True):
        for name, value in asdict(found).items():
            if name not in {"position", "name", "formula"}:
                setattr(row, name, value)
        row.save()
    run.region_summary = result.region_summary
    run.standing = min(run.standing, 1)  # the correction is a departure from the default policy
    run.save(update_fields=["region_summary", "standing"])


class Migration(migrations.Migration):
    dependencies = [("evaluations", "0009_former_run_keys"), ("suites", "0004_suite_author")]

    operations = [migrations.RunPython(correct, migrations.RunPython.noop, elidable=True)]
