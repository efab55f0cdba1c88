"""Rename columns of counts and intervals to the names used in all outputs."""

from django.db import migrations

PREDICTION_RESULT = {
    "total": "n_items",
    "passed": "n_passed",
    "ties": "n_ties",
    "not_evaluable": "n_not_evaluable",
    "too_close": "n_too_close",
    "chance_error": "chance_standard_error",
}
RUN_SCORE = {
    "n": "n_items",
    "judged": "n_judged",
    "passed": "n_passed",
    "ties": "n_ties",
    "too_close": "n_too_close",
    "not_evaluable": "n_not_evaluable",
    "low": "ci_low",
    "high": "ci_high",
    "chance_p": "p_above_chance_uncorrected",
    "margin": "mean_margin",
    "margin_low": "margin_ci_low",
    "margin_high": "margin_ci_high",
    "effect": "effect_size_g",
}


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial")]

    operations = [
        migrations.RenameField(model, old, new)
        for model, names in (("predictionresult", PREDICTION_RESULT), ("runscore", RUN_SCORE))
        for old, new in names.items()
    ]
