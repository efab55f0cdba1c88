from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluations", "0012_runs_are_one_pass")]

    operations = [
        migrations.RemoveField(model_name="suiterun", name="filling"),
        migrations.RenameField("sentencescore", "pending", "not_computed"),
        migrations.AlterField(
            model_name="sentencescore",
            name="not_computed",
            field=models.JSONField(default=list, help_text="numbers of the tokens whose bits nobody asked for"),
        ),
        migrations.AlterField(
            model_name="runchunk",
            name="scores",
            field=models.JSONField(
                null=True,
                help_text="text -> scores of needed tokens alone, see cache.to_json; until the run is done",
            ),
        ),
        migrations.AlterField(
            model_name="runchunk",
            name="done",
            field=models.BooleanField(default=False, help_text="its texts are scored"),
        ),
    ]
