from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluations", "0002_uploaded_results")]

    operations = [
        migrations.RenameField("predictionresult", "near_ties", "too_close"),
        migrations.AddField(
            model_name='predictionresult',
            name='close',
            field=models.JSONField(default=list, help_text='per item, whether it is too close to call'),
        ),
        migrations.AddField(
            model_name='runchunk',
            name='scores',
            field=models.JSONField(help_text='needed tokens of its texts, scored first; see cache.to_json', null=True),
        ),
        migrations.AddField(
            model_name='sentencescore',
            name='corrected',
            field=models.JSONField(help_text='bits per region with the whitespace correction, if asked for', null=True),
        ),
        migrations.AddField(
            model_name='sentencescore',
            name='pending',
            field=models.JSONField(default=list, help_text='numbers of the tokens whose bits are still to come'),
        ),
        migrations.AddField(
            model_name='suiterun',
            name='filling',
            field=models.BooleanField(default=False, help_text='values that no prediction looks at are still to come'),
        ),
        migrations.AlterField(
            model_name='predictionresult',
            name='too_close',
            field=models.PositiveIntegerField(default=0, help_text='margin inside the bound on the numeric error; counted by their sign'),
        ),
        migrations.AlterField(
            model_name='runchunk',
            name='done',
            field=models.BooleanField(default=False, help_text='all scores of its texts are in the cache'),
        ),
        migrations.AlterField(
            model_name='suiterun',
            name='completed_at',
            field=models.DateTimeField(blank=True, help_text='when the outcomes were in', null=True),
        ),
    ]
