from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("propara", "0006_keep_generated_results"),
    ]

    operations = [
        migrations.DeleteModel(name="GeneratedProcess"),
        migrations.RemoveField(model_name="submission", name="job"),
        migrations.RemoveField(model_name="submission", name="model"),
        migrations.RemoveField(model_name="submission", name="provenance"),
        migrations.RemoveField(model_name="submission", name="source"),
        migrations.AlterField(
            model_name="submission",
            name="state",
            field=models.CharField(
                choices=[
                    ("waiting", "waits for agreement to its repairs"),
                    ("checked", "checked, not saved"),
                    ("scored", "scored"),
                    ("unscorable", "has no score"),
                ],
                max_length=10,
            ),
        ),
    ]
