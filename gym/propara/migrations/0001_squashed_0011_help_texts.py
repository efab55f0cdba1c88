import django.core.validators
import django.db.models.deletion
import gym.runs.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('propara', '0001_initial'),
        ('propara', '0002_notes_at_former_addresses'),
        ('propara', '0003_checked_and_published'),
        ('propara', '0004_rescored_from'),
        ('propara', '0005_does_not_fit'),
        ('propara', '0006_keep_generated_results'),
        ('propara', '0007_drop_generation'),
        ('propara', '0008_names_of_reports'),
        ('propara', '0009_wording'),
        ('propara', '0010_help_texts'),
        ('propara', '0011_help_texts'),
    ]

    dependencies = [
        ('jobs', '0001_initial'),
        ('models_registry', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('jobs', '0003_batches'),
    ]

    operations = [
        migrations.CreateModel(
            name='AnswerSet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True, validators=[django.core.validators.RegexValidator('^(?!(new|try|compare|submissions|rescore)$)', 'This name is reserved.')])),
                ('title', models.CharField(max_length=200)),
                ('visibility', models.CharField(choices=[('private', 'private'), ('unlisted', 'unlisted'), ('public', 'public')], default='private', max_length=10)),
                ('description', models.TextField(blank=True, help_text='What the processes are, and who annotated them.')),
                ('licence', models.CharField(blank=True, help_text='e.g. CC-BY-4.0, CC0-1.0. Empty: not stated.', max_length=60)),
                ('reference', models.TextField(blank=True, help_text='The paper the answers come from.')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('updated', models.DateTimeField(auto_now=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='answer_sets', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['title'],
            },
        ),
        migrations.CreateModel(
            name='AnswerSetVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('note', models.CharField(blank=True, help_text='What changed.', max_length=300)),
                ('answers', models.TextField(help_text='action file')),
                ('sentences', models.TextField(blank=True, help_text='process, number, text')),
                ('sha256', models.CharField(help_text='of the answers', max_length=64)),
                ('sentences_sha256', models.CharField(blank=True, max_length=64)),
                ('process_ids', models.JSONField(help_text='in the order of the answers')),
                ('n_participants', models.PositiveIntegerField()),
                ('n_steps', models.PositiveIntegerField(help_text='steps of all processes')),
                ('events', models.JSONField(help_text='number of steps by action')),
                ('notices', models.JSONField(default=list, help_text='unusual but accepted input')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('answer_set', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='propara.answerset')),
            ],
            options={
                'ordering': ['answer_set_id', '-number'],
            },
        ),
        migrations.CreateModel(
            name='FormerSetAddress',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True)),
                ('note', models.TextField(blank=True, help_text='shown to everyone at the old address', max_length=1000)),
                ('left_at', models.DateTimeField(auto_now=True)),
                ('answer_set', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='former_addresses', to='propara.answerset')),
            ],
            options={
                'verbose_name_plural': 'former addresses',
                'ordering': ['-left_at'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='PublishedResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('system', models.CharField(max_length=200)),
                ('precision', models.FloatField(blank=True, help_text='0 to 1, e.g. 0.743', null=True, validators=[django.core.validators.MinValueValidator(0.0, 'Enter a number from 0 to 1.'), django.core.validators.MaxValueValidator(1.0, 'Enter a number from 0 to 1: 0.545, not 54.5.')])),
                ('recall', models.FloatField(blank=True, help_text='0 to 1', null=True, validators=[django.core.validators.MinValueValidator(0.0, 'Enter a number from 0 to 1.'), django.core.validators.MaxValueValidator(1.0, 'Enter a number from 0 to 1: 0.545, not 54.5.')])),
                ('f1', models.FloatField(help_text='0 to 1', validators=[django.core.validators.MinValueValidator(0.0, 'Enter a number from 0 to 1.'), django.core.validators.MaxValueValidator(1.0, 'Enter a number from 0 to 1: 0.545, not 54.5.')], verbose_name='F1')),
                ('citation', models.CharField(help_text='The paper and the table with these numbers.', max_length=500)),
                ('link', models.URLField(blank=True, help_text='Where the paper can be read.')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='published', to='propara.answersetversion')),
            ],
            options={
                'ordering': ['-f1', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Submission',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(default=gym.runs.models.new_key, editable=False, max_length=24, unique=True)),
                ('system', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True)),
                ('paper', models.CharField(blank=True, max_length=300)),
                ('link', models.URLField(blank=True)),
                ('visibility', models.CharField(choices=[('private', 'private'), ('unlisted', 'unlisted'), ('public', 'public')], default='private', max_length=10)),
                ('state', models.CharField(choices=[('waiting', 'waiting for agreement to repairs'), ('checked', 'checked, not saved'), ('scored', 'scored'), ('unscorable', 'no score')], max_length=10)),
                ('filename', models.CharField(blank=True, max_length=200)),
                ('file', models.BinaryField(default=bytes, help_text='as uploaded')),
                ('file_sha256', models.CharField(blank=True, max_length=64)),
                ('kind', models.CharField(default='actions', help_text='actions, states, grids or answers', max_length=10)),
                ('repairs', models.JSONField(default=list, help_text='[{line, column, code, message}]')),
                ('agreed_at', models.DateTimeField(blank=True, help_text='when the owner agreed to the repairs', null=True)),
                ('samples', models.JSONField(default=list, help_text='[{text, failures, precision, recall, f1, corrected_f1}]; the first is on the leaderboard')),
                ('n_samples', models.PositiveSmallIntegerField(default=1, help_text='number of samples from a language model; 1 for other files')),
                ('evaluator', models.CharField(blank=True, max_length=20)),
                ('report', models.JSONField(default=dict, help_text='scores, intervals, warnings, mistakes; by process')),
                ('f1', models.FloatField(blank=True, help_text='F1 of the official metric, for sorting', null=True)),
                ('scored_at', models.DateTimeField(blank=True, null=True)),
                ('history', models.JSONField(default=list, help_text='[{evaluator, scored_at, precision, recall, f1}]')),
                ('does_not_fit', models.JSONField(blank=True, default=dict, help_text='version number -> why that version cannot score this file')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='propara_submissions', to=settings.AUTH_USER_MODEL)),
                ('rescored_from', models.ForeignKey(blank=True, help_text='submission of the same file to another version of the reference answers', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='rescored', to='propara.submission')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='propara.answersetversion')),
            ],
            options={
                'ordering': ['-created', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='FormerSubmissionKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(max_length=24, unique=True)),
                ('left_at', models.DateTimeField(auto_now_add=True)),
                ('submission', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='former_keys', to='propara.submission')),
            ],
            options={
                'ordering': ['-left_at', '-pk'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='AnswerSetCollaborator',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('edit', 'Can edit'), ('view', 'Can view')], default='edit', max_length=4)),
                ('thing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='collaborations', to='propara.answerset')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('thing', 'user'), name='answersetcollaborator_once_per_person')],
            },
        ),
        migrations.AddConstraint(
            model_name='answersetversion',
            constraint=models.UniqueConstraint(fields=('answer_set', 'number'), name='answers_numbered_once'),
        ),
        migrations.AddConstraint(
            model_name='publishedresult',
            constraint=models.UniqueConstraint(fields=('version', 'system', 'citation'), name='published_result_once'),
        ),
    ]
