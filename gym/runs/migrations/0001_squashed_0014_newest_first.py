import django.db.models.deletion
import django.utils.timezone
import gym.runs.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('runs', '0001_initial'),
        ('runs', '0002_names_of_counts'),
        ('runs', '0003_runs_without_results'),
        ('runs', '0004_shared_chunks'),
        ('runs', '0005_words_a_model_does_not_know'),
        ('runs', '0006_notes_at_former_addresses'),
        ('runs', '0007_one_spelling_of_results'),
        ('runs', '0008_surprisals_of_sentences'),
        ('runs', '0009_help_texts'),
        ('runs', '0010_statistics_of_predictions'),
        ('runs', '0011_help_texts'),
        ('runs', '0012_passed_with_sums_and_means'),
        ('runs', '0013_help_texts'),
        ('runs', '0014_newest_first'),
    ]

    dependencies = [
        ('jobs', '0001_initial'),
        ('models_registry', '0001_initial'),
        ('suites', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('jobs', '0002_workerheartbeat_process_bytes'),
        ('jobs', '0007_worker_versions'),
        ('models_registry', '0002_help_texts'),
        ('suites', '0009_import_states'),
    ]

    operations = [
        migrations.CreateModel(
            name='DeletedRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(max_length=24, unique=True)),
                ('suite', models.CharField(help_text='slug', max_length=200)),
                ('revision', models.PositiveIntegerField()),
                ('sha256', models.CharField(help_text='of the revision', max_length=64)),
                ('model', models.CharField(help_text='slug', max_length=200)),
                ('model_name', models.CharField(max_length=200)),
                ('note', models.TextField(blank=True, help_text="shown to everyone at the run's former address", max_length=1000)),
                ('deleted_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['-deleted_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='ResultUpload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(default=gym.runs.models.new_key, editable=False, max_length=24, unique=True)),
                ('kind', models.CharField(help_text='one of lmgym.runs.uploaded.KINDS', max_length=10)),
                ('files', models.JSONField(help_text='[{name, sha256, bytes}]')),
                ('report', models.JSONField(default=dict, help_text='unmatched suites, refused runs, notices, warnings')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('job', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='result_upload', to='jobs.job')),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='result_uploads', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='UploadInput',
            fields=[
                ('upload', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='waiting', serialize=False, to='runs.resultupload')),
                ('file', models.BinaryField()),
                ('spec', models.BinaryField(help_text='spec.json of LM Zoo files', null=True)),
                ('unit', models.CharField(help_text='one of lmgym.runs.uploaded.UNITS', max_length=10)),
                ('revision_ids', models.JSONField(help_text='name of a suite in the file -> pk of its revision')),
                ('model_ids', models.JSONField(help_text='name of a model in the file -> pk of the model')),
            ],
        ),
        migrations.CreateModel(
            name='ScoreCache',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scorer', models.CharField(help_text='sha256 of everything that may change token bits; see lmgym.runs.score_store.scorer_key', max_length=64)),
                ('text_sha256', models.CharField(max_length=64)),
                ('scores', models.JSONField(help_text='tokens, ids, offsets, bits, special; or the failure')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('used', models.DateTimeField(db_index=True, default=django.utils.timezone.now, help_text='day of the last read; see work/cache.py')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('scorer', 'text_sha256'), name='score_once')],
            },
        ),
        migrations.CreateModel(
            name='ScoreRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(default=gym.runs.models.new_key, editable=False, max_length=24, unique=True)),
                ('policy', models.JSONField(help_text='see ScoringPolicy')),
                ('texts', models.JSONField()),
                ('n_sentences', models.PositiveIntegerField()),
                ('scores', models.JSONField(default=list, help_text='per text: token scores, or {failure}')),
                ('created', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ('completed_at', models.DateTimeField(blank=True, null=True)),
                ('job', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='score_request', to='jobs.job')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='score_requests', to='models_registry.registeredmodel')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='score_requests', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='SuiteRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(default=gym.runs.models.new_key, editable=False, max_length=24, unique=True)),
                ('source', models.CharField(choices=[('computed', 'computed here'), ('uploaded', 'uploaded')], default='computed', max_length=8)),
                ('policy', models.JSONField(help_text='see ScoringPolicy')),
                ('scorer', models.CharField(blank=True, help_text='see score_store.scorer_key; chunks belong to it', max_length=64)),
                ('provenance', models.JSONField(default=dict, help_text='hashes, device, dtype, versions')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('completed_at', models.DateTimeField(blank=True, help_text='when the results were stored', null=True)),
                ('standing', models.PositiveSmallIntegerField(choices=[(0, 'lacks predictions'), (1, 'another policy'), (2, 'default policy')], default=2, help_text='written with the outcomes')),
                ('n_sentences', models.PositiveIntegerField(default=0)),
                ('n_unique', models.PositiveIntegerField(default=0)),
                ('n_cached', models.PositiveIntegerField(default=0)),
                ('n_unscored', models.PositiveIntegerField(default=0, help_text='sentences the model could not score')),
                ('n_words', models.PositiveIntegerField(help_text='distinct words in its sentences; null = not counted', null=True)),
                ('n_unknown_words', models.PositiveIntegerField(help_text='distinct words that the model does not know or splits; see lmgym/runs/coverage.py', null=True)),
                ('unknown_words', models.JSONField(default=list, help_text='the first unknown words, in order of appearance')),
                ('region_summary', models.JSONField(default=list, help_text='mean bits and interval by condition and region')),
                ('job', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='suite_run', to='jobs.job')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='models_registry.registeredmodel')),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='runs', to=settings.AUTH_USER_MODEL)),
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='suites.suiterevision')),
                ('upload', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='runs', to='runs.resultupload')),
            ],
            options={
                'ordering': ['-created', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='SentenceScore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField(help_text='the sentence as the model read it')),
                ('regions', models.JSONField(help_text='bits per region; null = no value')),
                ('special_surprisal', models.FloatField(default=0.0, help_text='outside regions, bits')),
                ('surprisal', models.FloatField(help_text='of the sentence, bits; null = no value', null=True)),
                ('tokens', models.JSONField(help_text='[token, id, start, end, bits, region index or -1, straddles] per token')),
                ('not_computed', models.JSONField(default=list, help_text='indices of unscored tokens')),
                ('failure', models.TextField(blank=True, help_text='why this sentence has no scores')),
                ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scores', to='suites.sentence')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sentence_scores', to='runs.suiterun')),
            ],
            options={
                'ordering': ['run_id', 'sentence__position'],
            },
        ),
        migrations.CreateModel(
            name='RunScore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule', models.CharField(choices=[('each', 'each prediction'), ('all', 'all predictions'), ('first', 'first prediction')], max_length=5)),
                ('n', models.PositiveIntegerField(help_text='items')),
                ('judged', models.PositiveIntegerField(help_text='items, or items times predictions under `each`')),
                ('passed', models.PositiveIntegerField(help_text='of those judged')),
                ('ties', models.PositiveIntegerField()),
                ('too_close', models.PositiveIntegerField(help_text='outcomes whose margin is within the numeric error')),
                ('not_evaluable', models.PositiveIntegerField()),
                ('rate', models.FloatField(null=True)),
                ('low', models.FloatField(help_text='95% Wilson interval with the effective number of items', null=True)),
                ('high', models.FloatField(null=True)),
                ('chance', models.FloatField(null=True)),
                ('p', models.FloatField(help_text='one-sided p against chance', null=True)),
                ('mean_margin', models.FloatField(help_text='mean over items, bits', null=True)),
                ('margin_low', models.FloatField(null=True)),
                ('margin_high', models.FloatField(null=True)),
                ('effect_size_g', models.FloatField(help_text="Hedges' g of the margins against 0", null=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='runs.suiterun')),
            ],
            options={
                'ordering': ['run_id', 'rule'],
            },
        ),
        migrations.CreateModel(
            name='RunChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('positions', models.JSONField(help_text='sentence positions whose texts this chunk scores')),
                ('scores', models.JSONField(help_text='text -> scores that lack tokens (score_store.to_json); null once the run is done', null=True)),
                ('done', models.BooleanField(default=False, help_text='its texts are scored')),
                ('taken_by', models.UUIDField(help_text='the job that claimed the chunk last', null=True)),
                ('taken_attempt', models.PositiveIntegerField(default=0, help_text='attempt of that job')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='runs.suiterun')),
            ],
            options={
                'ordering': ['run_id', 'number'],
            },
        ),
        migrations.CreateModel(
            name='PredictionResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('n', models.PositiveIntegerField(help_text='items')),
                ('passed', models.PositiveIntegerField()),
                ('ties', models.PositiveIntegerField(help_text='items whose sides are equal; count as failures')),
                ('not_evaluable', models.PositiveIntegerField(help_text='items with a region that has no value; count as failures')),
                ('too_close', models.PositiveIntegerField(default=0, help_text='items whose margin is within the numeric error (too close to call); passed or failed by the sign of the margin')),
                ('passed_with_sums', models.PositiveIntegerField(help_text='items that pass with sums of bits; null = compared regions have equally many tokens, or unknown', null=True)),
                ('passed_with_means', models.PositiveIntegerField(help_text='items that pass with means of bits per token', null=True)),
                ('changed_by_length', models.PositiveIntegerField(help_text='items that pass with only one of sums and means', null=True)),
                ('low', models.FloatField(null=True)),
                ('high', models.FloatField(null=True)),
                ('chance', models.FloatField(null=True)),
                ('chance_standard_error', models.FloatField(default=0.0, help_text='standard error; 0 = exact')),
                ('mean_margin', models.FloatField(null=True)),
                ('margin_low', models.FloatField(null=True)),
                ('margin_high', models.FloatField(null=True)),
                ('effect_size_g', models.FloatField(help_text="Hedges' g of the margins against 0", null=True)),
                ('items', models.JSONField(help_text='item numbers, in document order')),
                ('outcomes', models.JSONField(help_text='0 failed, 1 held, 2 tie, 3 not evaluable; one per item')),
                ('margins', models.JSONField(help_text='bits by which the prediction held (+) or failed (−), per item; null = no value')),
                ('close', models.JSONField(default=list, help_text='per item, whether its margin is too close to call')),
                ('prediction', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='results', to='suites.prediction')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='prediction_results', to='runs.suiterun')),
            ],
            options={
                'ordering': ['run_id', 'position'],
            },
        ),
        migrations.CreateModel(
            name='FormerRunKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(max_length=24, unique=True)),
                ('left_at', models.DateTimeField(auto_now_add=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='former_keys', to='runs.suiterun')),
            ],
            options={
                'ordering': ['-left_at', '-pk'],
                'abstract': False,
            },
        ),
        migrations.AddIndex(
            model_name='suiterun',
            index=models.Index(condition=models.Q(('completed_at', None)), fields=['-created'], name='runs_without_results'),
        ),
        migrations.AddIndex(
            model_name='suiterun',
            index=models.Index(fields=['-created', '-id'], name='runs_newest_first'),
        ),
        migrations.AddConstraint(
            model_name='sentencescore',
            constraint=models.UniqueConstraint(fields=('run', 'sentence'), name='sentence_scored_once'),
        ),
        migrations.AddConstraint(
            model_name='runscore',
            constraint=models.UniqueConstraint(fields=('run', 'rule'), name='run_scored_once_per_rule'),
        ),
        migrations.AddConstraint(
            model_name='runchunk',
            constraint=models.UniqueConstraint(fields=('run', 'number'), name='chunk_once_per_run'),
        ),
        migrations.AddConstraint(
            model_name='predictionresult',
            constraint=models.UniqueConstraint(fields=('run', 'prediction'), name='prediction_judged_once'),
        ),
    ]
