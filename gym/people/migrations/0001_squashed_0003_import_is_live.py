import django.db.models.deletion
import gym.people.models
import gym.runs.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('people', '0001_initial'),
        ('people', '0002_simulated_data'),
        ('people', '0003_import_is_live'),
    ]

    dependencies = [
        ('jobs', '0007_worker_versions'),
        ('runs', '0013_help_texts'),
        ('suites', '0009_import_states'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='HumanData',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True)),
                ('title', models.CharField(max_length=200, verbose_name='name')),
                ('visibility', models.CharField(choices=[('private', 'private'), ('public', 'public')], default='private', max_length=10)),
                ('description', models.TextField(blank=True, help_text='Who took part, how they were recruited, and what they did.')),
                ('licence', models.CharField(blank=True, help_text='e.g. CC-BY-4.0, CC0-1.0. Empty: not stated.', max_length=60)),
                ('author', models.TextField(blank=True, help_text='One per line in the order of citation. Empty: citations name the owner.', verbose_name='authors')),
                ('reference', models.TextField(blank=True, help_text='The paper that reports the experiment.')),
                ('bibtex', models.TextField(blank=True, verbose_name='BibTeX')),
                ('confirmed_at', models.DateTimeField(blank=True, help_text='when consent and anonymity were confirmed, on publication', null=True)),
                ('measure', models.CharField(help_text='name of the measure', max_length=80)),
                ('kind', models.CharField(help_text='one of lmgym.people.observations.Kind', max_length=20)),
                ('scale', models.JSONField(blank=True, help_text='lowest and highest point of a rating scale', null=True)),
                ('is_simulated', models.BooleanField(default=False, help_text='made by a program, not by people')),
                ('n_observations', models.PositiveIntegerField()),
                ('n_participants', models.PositiveIntegerField(help_text='0 for means over participants')),
                ('n_items', models.PositiveIntegerField()),
                ('size', models.PositiveBigIntegerField(help_text='bytes of the pieces')),
                ('provenance', models.JSONField(default=dict, help_text='file, sha256, reader, roles, answers, rows left out')),
                ('demographics', models.JSONField(default=dict, help_text='column -> value -> number of participants')),
                ('exclusions', models.JSONField(default=dict, help_text='see lmgym.people.exclusions.Exclusions')),
                ('result', models.JSONField(default=dict, help_text='see gym.people.results')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('updated', models.DateTimeField(auto_now=True)),
                ('job', models.OneToOneField(blank=True, help_text='computes `result` with other exclusions', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='human_data', to='jobs.job')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='human_data', to=settings.AUTH_USER_MODEL)),
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='human_data', to='suites.suiterevision')),
            ],
            options={
                'verbose_name': 'human data set',
                'verbose_name_plural': 'human data sets',
                'ordering': ['title', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='HumanDataImport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(default=gym.runs.models.new_key, editable=False, max_length=24, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('filename', models.CharField(max_length=200)),
                ('size', models.PositiveBigIntegerField(help_text='bytes of the file')),
                ('is_live', models.BooleanField(default=False, help_text='small enough to be read in the web process')),
                ('salt', models.BinaryField(default=gym.people.models.new_salt)),
                ('answers', models.JSONField(default=dict, help_text='name of a question -> answer')),
                ('reading', models.JSONField(default=dict, help_text='see gym.people.reading')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('job', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='human_data_import', to='jobs.job')),
                ('made', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='people.humandata')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='suites.suiterevision')),
            ],
            options={
                'ordering': ['-created', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='PeopleComparison',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(default=gym.runs.models.new_key, editable=False, max_length=24, unique=True)),
                ('n_runs', models.PositiveIntegerField(help_text='number of runs when it was started')),
                ('options', models.JSONField(default=dict, help_text='see lmgym.people.fit_data.Options')),
                ('exclusions', models.JSONField(default=dict, help_text='those of the data set when it was started')),
                ('result', models.JSONField(default=dict, help_text='see gym.people.comparing')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('completed_at', models.DateTimeField(blank=True, null=True)),
                ('human_data', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comparisons', to='people.humandata')),
                ('job', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='people_comparison', to='jobs.job')),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('runs', models.ManyToManyField(related_name='people_comparisons', to='runs.suiterun')),
            ],
            options={
                'ordering': ['-created', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='ColumnPiece',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('data', models.BinaryField()),
                ('of', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pieces', to='people.humandata')),
            ],
            options={
                'ordering': ['of_id', 'position'],
                'constraints': [models.UniqueConstraint(fields=('of', 'position'), name='column_piece_once')],
            },
        ),
        migrations.CreateModel(
            name='HumanDataCollaborator',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('edit', 'Can edit'), ('view', 'Can view')], default='edit', max_length=4)),
                ('thing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='collaborations', to='people.humandata')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('thing', 'user'), name='humandatacollaborator_once_per_person')],
            },
        ),
        migrations.CreateModel(
            name='FilePiece',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('data', models.BinaryField()),
                ('of', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pieces', to='people.humandataimport')),
            ],
            options={
                'ordering': ['of_id', 'position'],
                'constraints': [models.UniqueConstraint(fields=('of', 'position'), name='file_piece_once')],
            },
        ),
    ]
