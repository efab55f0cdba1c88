import django.core.validators
import django.db.models.deletion
import gym.secrets
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('models_registry', '0001_initial'),
        ('models_registry', '0002_help_texts'),
    ]

    dependencies = [
        ('jobs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RegisteredModel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(help_text='Short name used in addresses and on the command line, e.g. gpt2-medium.', max_length=80, unique=True, validators=[django.core.validators.RegexValidator('^(?!register$)', 'This name is taken by a page of the site.')])),
                ('name', models.CharField(max_length=200)),
                ('backend', models.CharField(max_length=30)),
                ('config', models.JSONField(default=dict)),
                ('secrets', gym.secrets.SecretsField(blank=True, default=dict, editable=False, help_text='secret values of the configuration, encrypted')),
                ('visibility', models.CharField(choices=[('private', 'private'), ('public', 'public')], default='private', max_length=10)),
                ('tags', models.JSONField(blank=True, default=list)),
                ('status', models.CharField(choices=[('unapproved', 'waits for staff'), ('refused', 'refused by staff'), ('unchecked', 'being checked'), ('ready', 'ready'), ('broken', 'does not work')], default='unchecked', max_length=10)),
                ('status_reason', models.TextField(blank=True)),
                ('facts', models.JSONField(default=dict, help_text='facts found by the check: tokenizer, vocabulary, dtype …')),
                ('fingerprint', models.CharField(blank=True, help_text='identifies weights and tokenizer', max_length=200)),
                ('source_revision', models.CharField(blank=True, help_text='commit of a hub model', max_length=64)),
                ('parameters', models.BigIntegerField(blank=True, null=True)),
                ('vocabulary_size', models.BigIntegerField(blank=True, null=True)),
                ('checked_at', models.DateTimeField(blank=True, null=True)),
                ('load_seconds', models.FloatField(blank=True, help_text='duration of the last load by a worker', null=True)),
                ('description', models.TextField(blank=True)),
                ('authorship', models.CharField(blank=True, max_length=200)),
                ('licence', models.CharField(blank=True, max_length=60)),
                ('corpus', models.CharField(blank=True, max_length=200, verbose_name='training corpus')),
                ('perplexity', models.FloatField(blank=True, help_text='as reported by its authors', null=True)),
                ('url', models.URLField(blank=True, verbose_name='home page')),
                ('bibtex', models.TextField(blank=True, verbose_name='BibTeX')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('check_job', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='checked_models', to='jobs.job')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='models', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'model',
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='ModelCollaborator',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('edit', 'Can edit'), ('view', 'Can view')], default='edit', max_length=4)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('thing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='collaborations', to='models_registry.registeredmodel')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('thing', 'user'), name='modelcollaborator_once_per_person')],
            },
        ),
    ]
