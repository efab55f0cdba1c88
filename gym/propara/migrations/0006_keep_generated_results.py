from django.db import migrations


def keep_results(apps, schema_editor):
    """Keep scored results of the site's models as ordinary submissions, private to their owners, because the model's
    visibility no longer restricts them. Unfinished results have no file to keep."""
    Submission = apps.get_model("propara", "Submission")
    Job = apps.get_model("jobs", "Job")
    Submission.objects.filter(state="generating").delete()
    Job.objects.filter(kind="propara_generate", state__in=["queued", "running"]).delete()
    for row in Submission.objects.filter(source="generated").only("description", "provenance", "visibility"):
        note = f"Generated on this site by the model {row.provenance.get('model', '?')}."
        row.description = f"{row.description}\n\n{note}".strip()
        row.visibility = "private"
        row.save(update_fields=["description", "visibility"])


class Migration(migrations.Migration):

    dependencies = [
        ("propara", "0005_does_not_fit"),
        ("jobs", "0003_batches"),
    ]

    operations = [
        migrations.RunPython(keep_results, migrations.RunPython.noop, elidable=True),
    ]
