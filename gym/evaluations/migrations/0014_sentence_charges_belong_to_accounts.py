from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0013_tokens_not_computed'),
        ('accounts', '0004_quotas'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name='SentenceCharge')],
        ),
    ]
