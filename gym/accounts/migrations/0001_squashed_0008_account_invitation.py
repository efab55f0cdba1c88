import django.contrib.auth.models
import django.contrib.auth.validators
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import gym.secrets
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('accounts', '0001_initial'),
        ('accounts', '0002_notices'),
        ('accounts', '0003_hub_token'),
        ('accounts', '0004_help_texts'),
        ('accounts', '0005_help_texts'),
        ('accounts', '0006_help_texts'),
        ('accounts', '0007_quota_factor'),
        ('accounts', '0008_account_invitation'),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='TokenBucket',
            fields=[
                ('key', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('full_at', models.FloatField(db_index=True, default=0.0, help_text='when the bucket is full again, in seconds since 1970')),
            ],
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('max_active_jobs', models.PositiveIntegerField(blank=True, help_text='Overrides GYM_MAX_ACTIVE_JOBS_PER_USER; 0 = no limit.', null=True, verbose_name='active jobs')),
                ('max_sentences_per_day', models.PositiveIntegerField(blank=True, help_text='Overrides GYM_MAX_SENTENCES_PER_DAY; 0 = no limit.', null=True, verbose_name='sentences a day')),
                ('max_runs', models.PositiveIntegerField(blank=True, help_text='Overrides GYM_MAX_RUNS_PER_USER; 0 = no limit.', null=True, verbose_name='kept runs')),
                ('quota_factor', models.FloatField(blank=True, help_text="Multiplies this account's quotas (GYM_QUOTA_…), both in objects and in bytes; kept runs have their own limit. 0.5 halves them. Empty = 1; 0 = no limit.", null=True, validators=[django.core.validators.MinValueValidator(0.0)], verbose_name='quota factor')),
                ('unread_notices', models.PositiveIntegerField(default=0, editable=False, help_text='Updated by gym.notices.services, so that pages need not count notifications.')),
                ('notices_by_mail', models.BooleanField(default=False, help_text='Sent to the address of the account.', verbose_name='notifications by e-mail')),
                ('secrets', gym.secrets.SecretsField(blank=True, default=dict, editable=False, help_text="The member's keys for other services, encrypted.")),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'abstract': False,
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='AccountInvitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(max_length=254, verbose_name='e-mail address')),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('is_staff', models.BooleanField(default=False, verbose_name='staff')),
                ('sent', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires', models.DateTimeField()),
                ('accepted', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='account_invitations', to=settings.AUTH_USER_MODEL)),
                ('groups', models.ManyToManyField(blank=True, to='auth.group')),
                ('inviter', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='sent_account_invitations', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-sent', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='What the token is for, e.g. CI of the parser project.', max_length=100)),
                ('prefix', models.CharField(editable=False, max_length=12)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('scopes', models.JSONField(default=list)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('expires', models.DateTimeField(blank=True, null=True)),
                ('last_used', models.DateTimeField(blank=True, null=True)),
                ('revoked', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'API token',
                'ordering': ['-created', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='SentenceCharge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('n_sentences', models.PositiveIntegerField()),
                ('created', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sentence_charges', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created', '-pk'],
            },
        ),
    ]
