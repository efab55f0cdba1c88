import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('jobs', '0001_initial'),
        ('jobs', '0002_workerheartbeat_process_bytes'),
        ('jobs', '0003_batches'),
        ('jobs', '0004_wording'),
        ('jobs', '0005_help_texts'),
        ('jobs', '0006_help_texts'),
        ('jobs', '0007_worker_versions'),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Lock',
            fields=[
                ('name', models.CharField(max_length=60, primary_key=True, serialize=False)),
                ('holder', models.CharField(blank=True, max_length=60)),
                ('until', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='WorkerHeartbeat',
            fields=[
                ('id', models.CharField(max_length=60, primary_key=True, serialize=False)),
                ('host', models.CharField(max_length=120)),
                ('pid', models.PositiveIntegerField()),
                ('queues', models.JSONField(default=list)),
                ('threads', models.PositiveSmallIntegerField(default=1)),
                ('device', models.CharField(blank=True, max_length=200)),
                ('memory', models.JSONField(blank=True, default=dict, help_text='loaded models; see gym.jobs.worker.report')),
                ('process_bytes', models.BigIntegerField(blank=True, help_text='unshared resident memory in bytes, at the last heartbeat', null=True)),
                ('version', models.CharField(blank=True, help_text='version of LM Gym', max_length=40)),
                ('broker_problem', models.CharField(blank=True, help_text='why wake-ups of the broker do not arrive', max_length=200)),
                ('clock_seconds', models.FloatField(default=0.0, help_text='clock of the worker minus clock of the database, in seconds')),
                ('started', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_seen', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_error', models.TextField(blank=True)),
                ('last_error_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['started'],
            },
        ),
        migrations.CreateModel(
            name='Batch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('joined', models.DateTimeField(default=django.utils.timezone.now, help_text='when the last job was added')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=60)),
                ('payload', models.JSONField(blank=True, default=dict)),
                ('queue', models.CharField(default='default', max_length=60)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('done', 'done'), ('failed', 'failed'), ('cancelled', 'cancelled')], default='queued', max_length=10)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('max_attempts', models.PositiveSmallIntegerField(default=3)),
                ('deaths', models.PositiveSmallIntegerField(default=0)),
                ('lost_at', models.DateTimeField(blank=True, help_text='when a worker last died while running this job', null=True)),
                ('waits_for', models.CharField(blank=True, help_text='resource missing on the workers that returned this job', max_length=200)),
                ('not_before', models.DateTimeField(default=django.utils.timezone.now)),
                ('claimed_by', models.CharField(blank=True, max_length=60)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                ('cancel_requested', models.BooleanField(default=False)),
                ('done', models.PositiveIntegerField(default=0)),
                ('total', models.PositiveIntegerField(default=0)),
                ('unit', models.CharField(blank=True, max_length=40)),
                ('rate', models.FloatField(default=0.0)),
                ('progress_at', models.DateTimeField(blank=True, null=True)),
                ('error', models.TextField(blank=True)),
                ('log', models.TextField(blank=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('started', models.DateTimeField(blank=True, null=True)),
                ('finished', models.DateTimeField(blank=True, null=True)),
                ('batch', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='jobs', to='jobs.batch')),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='jobs', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created'],
                'indexes': [models.Index(condition=models.Q(('state', 'queued')), fields=['queue', 'not_before'], name='job_claimable'), models.Index(condition=models.Q(('state', 'running')), fields=['lease_until'], name='job_leased'), models.Index(condition=models.Q(('lost_at__isnull', False)), fields=['lost_at'], name='job_lost'), models.Index(fields=['owner', 'state'], name='job_owner_state'), models.Index(fields=['queue', 'started'], name='job_queue_started'), models.Index(fields=['-created'], name='job_created')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'running', 'done', 'failed', 'cancelled'])), name='job_state_is_known'), models.CheckConstraint(condition=models.Q(models.Q(('lease_until__isnull', False), ('state', 'running'), models.Q(('claimed_by', ''), _negated=True)), models.Q(models.Q(('state', 'running'), _negated=True), ('claimed_by', ''), ('lease_until__isnull', True)), _connector='OR'), name='job_has_a_lease_while_running_only'), models.CheckConstraint(condition=models.Q(models.Q(('finished__isnull', True), ('state__in', ['queued', 'running'])), models.Q(('finished__isnull', False), ('state__in', ['done', 'failed', 'cancelled'])), _connector='OR'), name='job_has_an_end_when_final_only'), models.CheckConstraint(condition=models.Q(('error', ''), ('state', 'failed'), _negated=True), name='job_failed_says_why'), models.CheckConstraint(condition=models.Q(('cancel_requested', True), ('state', 'queued'), _negated=True), name='job_queued_is_not_cancelled'), models.CheckConstraint(condition=models.Q(('tries__lte', models.F('max_attempts'))), name='job_tries_are_bounded')],
            },
        ),
    ]
