import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('collections', '0001_initial'),
        ('collections', '0002_zips'),
        ('collections', '0003_help_texts'),
        ('collections', '0004_help_texts'),
        ('collections', '0005_human_data'),
    ]

    dependencies = [
        ('suites', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('jobs', '0002_workerheartbeat_process_bytes'),
        ('people', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Collection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True, help_text='What these suites have in common, and why they are grouped.')),
                ('reference', models.TextField(blank=True, help_text='The paper this set comes from.')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('published_at', models.DateTimeField(blank=True, null=True)),
                ('sha256', models.CharField(blank=True, help_text='hash of the list of revisions with their hashes', max_length=64)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='collections', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['title'],
            },
        ),
        migrations.CreateModel(
            name='CollectionZip',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', models.URLField(help_text='address of the collection, as printed in the zip', max_length=500)),
                ('fingerprint', models.CharField(blank=True, help_text='hash of everything in the zip', max_length=64)),
                ('revisions', models.JSONField(default=list, help_text='their primary keys')),
                ('runs', models.JSONField(default=list, help_text='their primary keys')),
                ('size', models.PositiveBigIntegerField(default=0, help_text='bytes')),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('completed_at', models.DateTimeField(blank=True, null=True)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='zips', to='collections.collection')),
                ('job', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='collection_zip', to='jobs.job')),
                ('reader', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created'],
            },
        ),
        migrations.CreateModel(
            name='CollectionCollaborator',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('edit', 'Can edit'), ('view', 'Can view')], default='edit', max_length=4)),
                ('thing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='collaborations', to='collections.collection')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('thing', 'user'), name='collectioncollaborator_once_per_person')],
            },
        ),
        migrations.CreateModel(
            name='CollectionEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='collections.collection')),
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='collection_entries', to='suites.suiterevision')),
            ],
            options={
                'ordering': ['collection_id', 'position'],
                'constraints': [models.UniqueConstraint(fields=('collection', 'revision'), name='revision_once_per_collection')],
            },
        ),
        migrations.CreateModel(
            name='CollectionHumanData',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='human_data_entries', to='collections.collection')),
                ('human_data', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='collection_entries', to='people.humandata')),
            ],
            options={
                'ordering': ['collection_id', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('collection', 'human_data'), name='human_data_once_per_collection')],
            },
        ),
        migrations.CreateModel(
            name='ZipPiece',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('data', models.BinaryField()),
                ('zip', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pieces', to='collections.collectionzip')),
            ],
            options={
                'ordering': ['zip_id', 'position'],
                'constraints': [models.UniqueConstraint(fields=('zip', 'position'), name='zip_piece_once')],
            },
        ),
    ]
