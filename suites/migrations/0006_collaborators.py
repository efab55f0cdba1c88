import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('suites', '0005_structure_of_drafts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveField(
            model_name='suite',
            name='collaborators',
        ),
        migrations.RemoveConstraint(
            model_name='suitecollaborator',
            name='one_role_per_collaborator',
        ),
        migrations.RenameField(
            model_name='suitecollaborator',
            old_name='suite',
            new_name='thing',
        ),
        migrations.AlterField(
            model_name='suitecollaborator',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='suitecollaborator',
            name='role',
            field=models.CharField(choices=[('edit', 'Can edit'), ('view', 'Can view')], default='edit', max_length=4),
        ),
        migrations.AddConstraint(
            model_name='suitecollaborator',
            constraint=models.UniqueConstraint(fields=('thing', 'user'), name='suitecollaborator_once_per_person'),
        ),
    ]
