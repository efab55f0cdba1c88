"""Keep names entered by users as names of modes, and separate merged modes."""

from django.db import migrations
from django.db.models import F


def keep_names(apps, schema_editor):
    modes = apps.get_model("agents", "FailureMode").objects
    modes.exclude(name="").update(proposed=F("name"))
    modes.filter(proposed="").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0008_no_hourly_schedules"),
    ]

    operations = [
        migrations.RunPython(keep_names, migrations.RunPython.noop),
        migrations.RemoveField(model_name="failuremode", name="name"),
        migrations.RenameField(model_name="failuremode", old_name="proposed", new_name="name"),
        migrations.RemoveField(model_name="failuremode", name="merged_into"),
    ]
