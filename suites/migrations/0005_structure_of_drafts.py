from django.db import migrations, models
from django.db.models import F


def begin_anew(apps, schema_editor):
    """Nobody noted when a draft's structure changed: edits that wait in browsers since then become conflicts."""
    apps.get_model("suites", "SuiteRevision").objects.update(structure=F("edits"))


class Migration(migrations.Migration):
    dependencies = [("suites", "0004_suite_author")]

    operations = [
        migrations.AddField(
            model_name="suiterevision",
            name="structure",
            field=models.PositiveIntegerField(
                default=0, help_text="`edits` when items, conditions or regions of the draft last changed"
            ),
        ),
        migrations.RunPython(begin_anew, migrations.RunPython.noop, elidable=True),
    ]
