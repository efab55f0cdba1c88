import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_own_limits'),
        ('evaluations', '0013_tokens_not_computed'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='quota_factor',
            field=models.PositiveSmallIntegerField(blank=True, help_text='Number and bytes that this account may keep of each kind of thing (runs excepted): so many times those of GYM_QUOTA_… Empty: 1; 0 = no limit.', null=True, verbose_name='quota factor'),
        ),
        migrations.SeparateDatabaseAndState(
            # The table stays where it is: evaluations made it.
            state_operations=[
                migrations.CreateModel(
                    name='SentenceCharge',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('n_sentences', models.PositiveIntegerField()),
                        ('created', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                        ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sentence_charges', to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        'db_table': 'evaluations_sentencecharge',
                        'ordering': ['-created', '-pk'],
                    },
                ),
            ],
        ),
    ]
