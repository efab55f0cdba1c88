from django.db import migrations, models


def count_samples(apps, schema_editor):
    """Only answers to the prompt pack can have more than one."""
    rows = apps.get_model("propara", "Submission").objects.filter(kind="answers").only("samples")
    for row in rows.iterator(chunk_size=20):
        row.n_samples = max(1, len(row.samples))
        row.save(update_fields=["n_samples"])


class Migration(migrations.Migration):
    dependencies = [("propara", "0001_answer_sets")]

    operations = [
        migrations.AddField(
            model_name="submission",
            name="n_samples",
            field=models.PositiveSmallIntegerField(default=1, help_text="answers of a language model; files have one"),
        ),
        migrations.RunPython(count_samples, migrations.RunPython.noop),
    ]
