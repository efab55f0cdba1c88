import django.core.validators
import django.db.models.deletion
import gym.runs.models
import gym.secrets
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('agents', '0001_initial'),
        ('agents', '0002_hopeless_cases'),
        ('agents', '0003_schedules'),
        ('agents', '0004_version_schedules'),
        ('agents', '0005_verdicts_in_results'),
        ('agents', '0006_paused_schedules'),
        ('agents', '0007_no_models_as_agents'),
        ('agents', '0008_no_hourly_schedules'),
        ('agents', '0009_failure_modes_named_by_models'),
        ('agents', '0010_one_spelling'),
        ('agents', '0011_help_texts'),
        ('agents', '0012_help_texts'),
        ('agents', '0013_help_texts'),
        ('agents', '0014_help_texts'),
    ]

    dependencies = [
        ('jobs', '0001_initial'),
        ('models_registry', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AgentServer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('server', "Agent server (neuro-san's HTTP interface)"), ('chat', 'Chat endpoint (OpenAI-compatible)'), ('embedded', 'Embedded demo agents (echo, calculator and friends)')], default='server', max_length=10)),
                ('url', models.CharField(blank=True, max_length=500, verbose_name='address')),
                ('chat_model', models.CharField(blank=True, help_text='name of the model at the chat endpoint', max_length=200)),
                ('secrets', gym.secrets.SecretsField(blank=True, default=dict, editable=False)),
                ('checked_at', models.DateTimeField(blank=True, null=True)),
                ('version', models.CharField(blank=True, max_length=100)),
                ('agents', models.JSONField(blank=True, default=list, help_text='[{agent_name, description, tags}]')),
                ('graphs', models.JSONField(blank=True, default=dict, help_text='agent -> connectivity_info')),
                ('model', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='agent_server', to='models_registry.registeredmodel')),
            ],
            options={
                'ordering': ['model__name'],
            },
        ),
        migrations.CreateModel(
            name='AgentSuite',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True, validators=[django.core.validators.RegexValidator('^(?!(new|servers|runs|compare)$)', 'This name is reserved for a page of the site.')])),
                ('title', models.CharField(max_length=200)),
                ('visibility', models.CharField(choices=[('private', 'private'), ('public', 'public')], default='private', max_length=10)),
                ('description', models.TextField(blank=True)),
                ('judge_agent', models.CharField(blank=True, help_text='agent that judges, if the judging server has several', max_length=200)),
                ('judge_votes', models.PositiveSmallIntegerField(default=1)),
                ('variables', gym.secrets.SecretsField(blank=True, default=dict, editable=False)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('updated', models.DateTimeField(auto_now=True)),
                ('judge', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='judges_for', to='models_registry.registeredmodel')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='agent_suites', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['title'],
            },
        ),
        migrations.CreateModel(
            name='AgentSchedule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('every', models.CharField(choices=[('night', 'every night'), ('change', 'when the cases have changed'), ('version', "when the server's version changes")], max_length=10)),
                ('iterations', models.PositiveIntegerField(blank=True, help_text='iterations of each case; empty: as set in the case', null=True)),
                ('next_at', models.DateTimeField(blank=True, db_index=True, null=True)),
                ('stamp', models.CharField(blank=True, help_text="state at the last run: schedules.stamp_of the suite, or the server's version", max_length=100)),
                ('trouble', models.TextField(blank=True)),
                ('unseen', models.TextField(blank=True, help_text="changes by others since the owner's last review, one per line; see `is_paused`")),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='agent_schedules', to=settings.AUTH_USER_MODEL)),
                ('server', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to='agents.agentserver')),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to='agents.agentsuite')),
            ],
            options={
                'ordering': ['suite_id', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='AgentRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(default=gym.runs.models.new_key, editable=False, max_length=24, unique=True)),
                ('options', models.JSONField(default=dict, help_text='reading, early_stop, parallel; optionally iterations and ask_judge')),
                ('server_version', models.CharField(blank=True, help_text='as reported during the run; several versions joined by arrows', max_length=500)),
                ('regression', models.JSONField(blank=True, help_text='comparison of a scheduled run with those before it (regression_test.Regression)', null=True)),
                ('spent', models.FloatField(default=0.0, help_text='wall-clock seconds of all attempts')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('completed_at', models.DateTimeField(blank=True, null=True)),
                ('job', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='agent_run', to='jobs.job')),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='agent_runs', to=settings.AUTH_USER_MODEL)),
                ('rescored_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='rescored', to='agents.agentrun')),
                ('schedule', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='runs', to='agents.agentschedule')),
                ('server', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='agents.agentserver')),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='agents.agentsuite')),
            ],
            options={
                'ordering': ['-created', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='AgentCase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='a path such as music/beatles; .hocon is added in exports', max_length=200)),
                ('text', models.TextField()),
                ('agent', models.CharField(blank=True, max_length=200)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('updated', models.DateTimeField(auto_now=True)),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='cases', to='agents.agentsuite')),
            ],
            options={
                'ordering': ['suite_id', 'name'],
            },
        ),
        migrations.CreateModel(
            name='AgentSuiteCollaborator',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('edit', 'Can edit'), ('view', 'Can view')], default='edit', max_length=4)),
                ('thing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='collaborations', to='agents.agentsuite')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='CaseRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('agent', models.CharField(blank=True, max_length=200)),
                ('planned', models.PositiveIntegerField(default=0, help_text='iterations to make')),
                ('needed', models.PositiveIntegerField(default=0)),
                ('required_rate', models.FloatField(default=1.0)),
                ('outcome', models.CharField(blank=True, max_length=10)),
                ('error', models.TextField(blank=True)),
                ('unsatisfiable', models.TextField(blank=True, help_text='why no iteration can pass; such a case is run once')),
                ('passed', models.PositiveIntegerField(default=0)),
                ('n', models.PositiveIntegerField(default=0, help_text='iterations with a verdict: neither errors nor skipped')),
                ('errors', models.PositiveIntegerField(default=0, help_text='iterations that ended without a verdict')),
                ('checks_made', models.PositiveIntegerField(default=0)),
                ('seconds', models.FloatField(default=0.0, help_text='sum of the seconds of all iterations')),
                ('spent', models.FloatField(default=0.0, help_text="wall-clock seconds, for the test's timeout after an interruption")),
                ('tokens', models.JSONField(default=dict)),
                ('case', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='case_runs', to='agents.agentcase')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='case_runs', to='agents.agentrun')),
            ],
            options={
                'ordering': ['run_id', 'name'],
            },
        ),
        migrations.CreateModel(
            name='CaseIteration',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('outcome', models.CharField(max_length=10)),
                ('data', models.JSONField(help_text='IterationResult.as_dict()')),
                ('case_run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='iterations', to='agents.caserun')),
            ],
            options={
                'ordering': ['case_run_id', 'number'],
            },
        ),
        migrations.CreateModel(
            name='FailureMode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('case_name', models.CharField(max_length=200)),
                ('mode', models.CharField(max_length=12)),
                ('group', models.CharField(blank=True, max_length=12)),
                ('name', models.CharField(blank=True, max_length=300)),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='failure_modes', to='agents.agentsuite')),
            ],
            options={
                'ordering': ['suite_id', 'case_name', 'mode'],
            },
        ),
        migrations.CreateModel(
            name='Naming',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('agent', models.CharField(blank=True, max_length=200)),
                ('chosen', models.JSONField(default=dict, help_text='place of a failure (assessor.Sample.place) -> mode')),
                ('total', models.PositiveIntegerField(default=0, help_text='failures that can be named')),
                ('trouble', models.TextField(blank=True, help_text='why some failures have no name')),
                ('completed_at', models.DateTimeField(blank=True, null=True)),
                ('case_run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='naming', to='agents.caserun')),
                ('job', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='agent_naming', to='jobs.job')),
                ('server', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='namings', to='agents.agentserver')),
            ],
            options={
                'ordering': ['case_run_id'],
            },
        ),
        migrations.AddConstraint(
            model_name='agentcase',
            constraint=models.UniqueConstraint(fields=('suite', 'name'), name='case_name_once_per_suite'),
        ),
        migrations.AddConstraint(
            model_name='agentsuitecollaborator',
            constraint=models.UniqueConstraint(fields=('thing', 'user'), name='agentsuitecollaborator_once_per_person'),
        ),
        migrations.AddConstraint(
            model_name='caserun',
            constraint=models.UniqueConstraint(fields=('run', 'name'), name='case_once_per_run'),
        ),
        migrations.AddConstraint(
            model_name='caseiteration',
            constraint=models.UniqueConstraint(fields=('case_run', 'number'), name='iteration_once_per_case_run'),
        ),
        migrations.AddConstraint(
            model_name='failuremode',
            constraint=models.UniqueConstraint(fields=('suite', 'case_name', 'mode'), name='mode_once_per_case'),
        ),
    ]
