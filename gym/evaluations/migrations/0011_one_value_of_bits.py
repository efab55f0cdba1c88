from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluations", "0010_whitespace_counts")]

    operations = [
        migrations.RemoveField(model_name="sentencescore", name="corrected"),
        migrations.AlterField(
            model_name="suiterun", name="policy", field=models.JSONField(help_text="see ScoringPolicy")
        ),
    ]
