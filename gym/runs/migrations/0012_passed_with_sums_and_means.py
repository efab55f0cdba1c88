from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0011_help_texts'),
    ]

    operations = [
        migrations.AddField(
            model_name='predictionresult',
            name='passed_with_sums',
            field=models.PositiveIntegerField(help_text='null = compared regions have equally many tokens, or unknown', null=True),
        ),
        migrations.AddField(
            model_name='predictionresult',
            name='passed_with_means',
            field=models.PositiveIntegerField(help_text='means of bits per token', null=True),
        ),
        migrations.AddField(
            model_name='predictionresult',
            name='changed_by_length',
            field=models.PositiveIntegerField(help_text='items that pass with only one of sums and means', null=True),
        ),
    ]
