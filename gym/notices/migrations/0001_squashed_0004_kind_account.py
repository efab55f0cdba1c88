import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('notices', '0001_initial'),
        ('notices', '0002_help_texts'),
        ('notices', '0003_help_texts'),
        ('notices', '0004_kind_account'),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('shared', 'Invitation'), ('runs', 'Runs'), ('model', 'Model'), ('account', 'Account')], max_length=10)),
                ('text', models.CharField(max_length=500)),
                ('address', models.CharField(blank=True, help_text='address of the page of this site that the notification is about', max_length=500)),
                ('about', models.CharField(blank=True, help_text='a later notification with the same value replaces this one', max_length=100)),
                ('created', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ('read', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created', '-pk'],
                'indexes': [models.Index(fields=['user', '-created'], name='notice_user_created'), models.Index(condition=models.Q(('read', None)), fields=['user'], name='notice_unread')],
            },
        ),
    ]
