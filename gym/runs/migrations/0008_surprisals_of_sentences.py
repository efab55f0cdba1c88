import django.utils.timezone
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
        migrations.AlterField(
            model_name='deletedrun',
            name='note',
            field=models.TextField(blank=True, help_text='shown to everyone at its address', max_length=1000),
        ),
        migrations.AlterField(
            model_name='predictionresult',
            name='close',
            field=models.JSONField(default=list, help_text='per item, is it too close to call?'),
        ),
        migrations.AlterField(
            model_name='predictionresult',
            name='too_close',
            field=models.PositiveIntegerField(default=0, help_text='margin within the bound on the numeric error; counted by sign'),
        ),
        migrations.AlterField(
            model_name='resultupload',
            name='report',
            field=models.JSONField(default=dict, help_text='unmatched suites, refused runs, notices'),
        ),
        migrations.AlterField(
            model_name='runchunk',
            name='scores',
            field=models.JSONField(help_text='text -> scores of needed tokens only, see score_store.to_json; until the run is done', null=True),
        ),
        migrations.AlterField(
            model_name='runchunk',
            name='taken_attempt',
            field=models.PositiveIntegerField(default=0, help_text='attempt of that job'),
        ),
        migrations.AlterField(
            model_name='runchunk',
            name='taken_by',
            field=models.UUIDField(help_text='the job that claimed it last', null=True),
        ),
        migrations.AlterField(
            model_name='runscore',
            name='low',
            field=models.FloatField(help_text='95% Wilson interval with the effective number of items', null=True),
        ),
        migrations.AlterField(
            model_name='scorecache',
            name='scores',
            field=models.JSONField(help_text='tokens, ids, offsets, bits, special; or the failure'),
        ),
        migrations.AlterField(
            model_name='scorecache',
            name='used',
            field=models.DateTimeField(db_index=True, default=django.utils.timezone.now, help_text='day of the last read; see work/cache.py'),
        ),
        migrations.AlterField(
            model_name='sentencescore',
            name='not_computed',
            field=models.JSONField(default=list, help_text='indices of unscored tokens'),
        ),
        migrations.AlterField(
            model_name='suiterun',
            name='completed_at',
            field=models.DateTimeField(blank=True, help_text='when the results were stored', null=True),
        ),
        migrations.AlterField(
            model_name='suiterun',
            name='n_unknown_words',
            field=models.PositiveIntegerField(help_text='of these, words that the model does not know; see lmgym/runs/coverage.py', null=True),
        ),
        migrations.AlterField(
            model_name='suiterun',
            name='n_words',
            field=models.PositiveIntegerField(help_text='distinct words in its sentences; null = not counted', null=True),
        ),
        migrations.AlterField(
            model_name='suiterun',
            name='scorer',
            field=models.CharField(blank=True, help_text='see score_store.scorer_key; chunks belong to it', max_length=64),
        ),
    ]
