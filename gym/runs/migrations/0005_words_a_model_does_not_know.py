from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0004_shared_chunks'),
    ]

    operations = [
        migrations.AddField(
            model_name='suiterun',
            name='n_words',
            field=models.PositiveIntegerField(help_text='different words in its sentences; null = not counted', null=True),
        ),
        migrations.AddField(
            model_name='suiterun',
            name='n_unknown_words',
            field=models.PositiveIntegerField(help_text='of these, words that the model does not know; see core/coverage.py', null=True),
        ),
        migrations.AddField(
            model_name='suiterun',
            name='unknown_words',
            field=models.JSONField(default=list, help_text='the first of them by name'),
        ),
    ]
