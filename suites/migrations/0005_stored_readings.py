"""Store the parse result of files with open questions. Older files are refused, since they are kept for at
most a week."""

from django.db import migrations, models


def refuse_waiting_files(apps, schema_editor):
    files = apps.get_model("suites", "ImportedFile").objects.filter(state="asks")
    files.update(state="refused", data=b"", report={"text": "Import this file again."})


class Migration(migrations.Migration):
    dependencies = [("suites", "0004_language_and_authors")]
    operations = [
        migrations.RunPython(refuse_waiting_files, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="importedfile",
            name="answers",
            field=models.JSONField(default=dict, help_text="see lmgym.suites.intake.ParseOptions"),
        ),
        migrations.AlterField(
            model_name="suiteimport",
            name="options",
            field=models.JSONField(default=dict, help_text="see suites.options.ImportOptions"),
        ),
    ]
