from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0007_one_spelling_of_results")]

    operations = [
        migrations.RenameField("sentencescore", "total_bits", "surprisal"),
        migrations.RenameField("sentencescore", "special_bits", "special_surprisal"),
        migrations.AlterField(
            "sentencescore",
            "surprisal",
            models.FloatField(null=True, help_text="of the sentence, bits; null = no value"),
        ),
        migrations.AlterField(
            "sentencescore",
            "special_surprisal",
            models.FloatField(default=0.0, help_text="outside regions, bits"),
        ),
    ]
