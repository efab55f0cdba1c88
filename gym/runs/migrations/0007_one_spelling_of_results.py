from django.db import migrations

COUNTS = {
    "n_items": "n",
    "n_passed": "passed",
    "n_ties": "ties",
    "n_too_close": "too_close",
    "n_not_evaluable": "not_evaluable",
    "ci_low": "low",
    "ci_high": "high",
}
OF_RULES = {
    "n_judged": "judged",
    "p_above_chance_uncorrected": "p",
    "margin_ci_low": "margin_low",
    "margin_ci_high": "margin_high",
}


class Migration(migrations.Migration):
    dependencies = [("runs", "0006_notes_at_former_addresses")]

    operations = [
        *(migrations.RenameField("predictionresult", old, new) for old, new in COUNTS.items()),
        *(migrations.RenameField("runscore", old, new) for old, new in (COUNTS | OF_RULES).items()),
    ]
