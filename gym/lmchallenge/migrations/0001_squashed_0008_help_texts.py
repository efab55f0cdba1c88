import django.core.validators
import django.db.models.deletion
import gym.runs.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('lmchallenge', '0001_initial'),
        ('lmchallenge', '0002_notes_at_former_addresses'),
        ('lmchallenge', '0003_games_of_version_5'),
        ('lmchallenge', '0004_text_index'),
        ('lmchallenge', '0005_remove_playground'),
        ('lmchallenge', '0006_low_and_high'),
        ('lmchallenge', '0007_help_texts'),
        ('lmchallenge', '0008_help_texts'),
    ]

    dependencies = [
        ('jobs', '0001_initial'),
        ('models_registry', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Corpus',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True, validators=[django.core.validators.RegexValidator('^(?!(new)$)', 'This name is reserved.')])),
                ('title', models.CharField(max_length=200)),
                ('visibility', models.CharField(choices=[('private', 'private'), ('unlisted', 'unlisted'), ('public', 'public')], default='private', max_length=10)),
                ('language', models.CharField(blank=True, help_text='e.g. en, de-CH.', max_length=35)),
                ('licence', models.CharField(blank=True, help_text='e.g. CC-BY-4.0, CC0-1.0. Empty: not stated.', max_length=60)),
                ('description', models.TextField(blank=True, help_text='Source of the text.')),
                ('form', models.CharField(choices=[('text', 'plain text'), ('json', 'JSON lines')], max_length=4)),
                ('packed', models.BinaryField(help_text='the file as uploaded, compressed with gzip')),
                ('sha256', models.CharField(help_text='of the uncompressed file', max_length=64)),
                ('size', models.PositiveBigIntegerField(help_text='bytes, uncompressed')),
                ('lines', models.PositiveIntegerField()),
                ('characters', models.PositiveIntegerField(help_text='code points of the texts')),
                ('tokens', models.PositiveIntegerField()),
                ('users', models.PositiveIntegerField()),
                ('warnings', models.JSONField(default=list, help_text='[{code, line, count, message}]')),
                ('shown', models.JSONField(default=list, help_text='the first lines: [{number, text, user, timestamp, tokens}]')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('updated', models.DateTimeField(auto_now=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='corpora', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'corpora',
                'ordering': ['title', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='FormerCorpusAddress',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True)),
                ('note', models.TextField(blank=True, help_text='shown to everyone at the old address', max_length=1000)),
                ('left_at', models.DateTimeField(auto_now=True)),
                ('corpus', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='former_addresses', to='lmchallenge.corpus')),
            ],
            options={
                'verbose_name_plural': 'former addresses',
                'ordering': ['-left_at'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Game',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(default=gym.runs.models.new_key, editable=False, max_length=24, unique=True)),
                ('title', models.CharField(help_text='Shown in lists.', max_length=200)),
                ('description', models.TextField(blank=True)),
                ('visibility', models.CharField(choices=[('private', 'private'), ('unlisted', 'unlisted'), ('public', 'public')], default='private', max_length=10)),
                ('game', models.CharField(choices=[('ce', 'character entropy'), ('ic', 'input correction'), ('tc', 'text completion'), ('wc', 'word completion'), ('we', 'word entropy'), ('wp', 'next word'), ('wr', 'word reranking')], max_length=2)),
                ('kind', models.CharField(choices=[('model', 'model of this site'), ('process', 'model program'), ('adaptive', 'adaptive n-gram'), ('uploaded', 'uploaded log')], max_length=8)),
                ('player', models.CharField(blank=True, help_text='slug of the model, or name of the program', max_length=200)),
                ('options', models.JSONField(default=dict, help_text='GameOptions, or Options of version 5, by field name')),
                ('words', models.BinaryField(default=bytes, help_text='vocabulary of ic and wr, one word per line, compressed with gzip')),
                ('n_words', models.PositiveIntegerField(default=0)),
                ('filename', models.CharField(blank=True, max_length=200)),
                ('lines', models.PositiveIntegerField(default=0, help_text='of the log')),
                ('size', models.PositiveBigIntegerField(default=0, help_text='bytes of the log, uncompressed')),
                ('packed_size', models.PositiveBigIntegerField(default=0, help_text='bytes of the log, compressed')),
                ('has_targets', models.BooleanField(default=True)),
                ('has_predictions', models.BooleanField(default=False)),
                ('fingerprint', models.CharField(blank=True, help_text='hash of the text: users and targets in order', max_length=64)),
                ('statistics', models.JSONField(default=dict, help_text='{filter: {all, user, mix, search, more, notices}}; see gym.lmchallenge.counting')),
                ('report', models.JSONField(default=dict, help_text='latency, oddities, provenance')),
                ('problem', models.TextField(blank=True, help_text='why the game ended before the end of the corpus')),
                ('counted_at', models.DateTimeField(blank=True, null=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('corpus', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='games', to='lmchallenge.corpus')),
                ('job', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='lmc_game', to='jobs.job')),
                ('model', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='lmc_games', to='models_registry.registeredmodel')),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='lmc_games', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='FormerGameKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(max_length=24, unique=True)),
                ('left_at', models.DateTimeField(auto_now_add=True)),
                ('game', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='former_keys', to='lmchallenge.game')),
            ],
            options={
                'ordering': ['-left_at', '-pk'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='TextIndex',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('packed', models.BinaryField()),
                ('game', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='text_index', to='lmchallenge.game')),
            ],
            options={
                'verbose_name_plural': 'text indexes',
            },
        ),
        migrations.CreateModel(
            name='CorpusCollaborator',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('edit', 'Can edit'), ('view', 'Can view')], default='edit', max_length=4)),
                ('thing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='collaborations', to='lmchallenge.corpus')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('thing', 'user'), name='corpuscollaborator_once_per_person')],
            },
        ),
        migrations.CreateModel(
            name='LogChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first_line', models.PositiveIntegerField(help_text='from 1')),
                ('lines', models.PositiveIntegerField()),
                ('packed', models.BinaryField()),
                ('game', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='lmchallenge.game')),
            ],
            options={
                'ordering': ['game_id', 'first_line'],
                'constraints': [models.UniqueConstraint(fields=('game', 'first_line'), name='log_line_stored_once')],
            },
        ),
    ]
