"""Every room keeps its collaborators in a table of its own: move them there."""

from django.db import migrations

TABLES = {
    'agent_suite': ('conversations', 'AgentSuiteCollaborator'),
    'answer_set': ('propara', 'AnswerSetCollaborator'),
    'corpus': ('lmchallenge', 'CorpusCollaborator'),
    'collection': ('results', 'CollectionCollaborator'),
    'model': ('models_registry', 'ModelCollaborator'),
}
BATCH = 1000


def move_out(apps, schema_editor):
    shared = apps.get_model('sharing', 'Collaboration').objects
    for column, name in TABLES.items():
        table = apps.get_model(*name)
        rows = shared.filter(**{f'{column}__isnull': False}).order_by('pk').values_list('user', 'role', column)
        table.objects.bulk_create(
            [table(user_id=user, role=role, thing_id=thing) for user, role, thing in rows], batch_size=BATCH
        )


def move_back(apps, schema_editor):
    shared = apps.get_model('sharing', 'Collaboration')
    for column, name in TABLES.items():
        table = apps.get_model(*name)
        rows = table.objects.order_by('pk').values_list('user', 'role', 'thing')
        shared.objects.bulk_create(
            [shared(user_id=user, role=role, **{f'{column}_id': thing}) for user, role, thing in rows],
            batch_size=BATCH,
        )
        table.objects.all().delete()


class Migration(migrations.Migration):

    dependencies = [
        ('sharing', '0001_initial'),
        ('conversations', '0006_collaborators'),
        ('lmchallenge', '0003_collaborators'),
        ('models_registry', '0006_collaborators'),
        ('propara', '0004_collaborators'),
        ('results', '0005_collaborators'),
    ]

    operations = [
        migrations.RunPython(move_out, move_back),
        migrations.DeleteModel(name='Collaboration'),
    ]
