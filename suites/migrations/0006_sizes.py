from django.db import migrations, models
from django.db.models import F, OuterRef, Subquery, Sum, TextField
from django.db.models.functions import Cast, Coalesce, Length

ROW = 100


def measure(apps, schema_editor):
    """About what suites.quotas.bytes_of says: characters of the stored JSON, and something for every row."""
    Revision = apps.get_model('suites', 'SuiteRevision')
    for model, texts in (('Sentence', ['contents', 'raw', 'extra']), ('Prediction', ['description', 'formula', 'extra'])):
        size = sum((Coalesce(Length(Cast(name, TextField())), 0) for name in texts), start=ROW)
        rows = apps.get_model('suites', model).objects.filter(revision=OuterRef('pk')).order_by()
        total = rows.values('revision').annotate(total=Sum(size)).values('total')
        Revision.objects.update(size=F('size') + Coalesce(Subquery(total), 0))
    edits = apps.get_model('suites', 'DraftEdit').objects
    edits.update(size=Length(Cast('ops', TextField())) + Length(Cast('conflicts', TextField())))


class Migration(migrations.Migration):

    dependencies = [
        ('suites', '0005_structure_of_drafts'),
    ]

    operations = [
        migrations.AddField(
            model_name='draftedit',
            name='size',
            field=models.PositiveBigIntegerField(default=0, help_text='bytes of ops and conflicts'),
        ),
        migrations.AddField(
            model_name='suiterevision',
            name='size',
            field=models.PositiveBigIntegerField(default=0, help_text='bytes of sentences, predictions and meta; see suites.quotas'),
        ),
        migrations.RunPython(measure, migrations.RunPython.noop, elidable=True),
    ]
