import django.core.validators
import django.db.models.deletion
import suites.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('suites', '0001_initial'),
        ('suites', '0002_kept_imports'),
        ('suites', '0003_notes_at_former_addresses'),
        ('suites', '0004_language_and_authors'),
        ('suites', '0005_stored_readings'),
        ('suites', '0006_help_texts'),
        ('suites', '0007_history_of_drafts'),
        ('suites', '0008_help_texts'),
        ('suites', '0009_import_states'),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Tag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(allow_unicode=True, max_length=60, unique=True)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Suite',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('visibility', models.CharField(choices=[('private', 'private'), ('unlisted', 'unlisted'), ('public', 'public')], default='private', max_length=10)),
                ('language', models.CharField(blank=True, default='', help_text='Language tag (BCP 47), e.g. en, de, zh-Hans. Empty: not stated.', max_length=35, validators=[django.core.validators.RegexValidator('^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$', 'Use a language tag such as en, de or zh-Hans.')], verbose_name='language')),
                ('licence', models.CharField(blank=True, help_text='e.g. CC-BY-4.0, MIT, CC0-1.0. Empty: not stated.', max_length=60)),
                ('author', models.TextField(blank=True, help_text='One per line in the order of citation, with the affiliation in brackets, e.g. Jennifer Hu (MIT). Empty: citations name the owner.', verbose_name='authors')),
                ('reference', models.TextField(blank=True, help_text='The paper this suite comes from.', verbose_name='reference')),
                ('bibtex', models.TextField(blank=True, verbose_name='BibTeX')),
                ('description', models.TextField(blank=True, help_text='What is tested, and why.')),
                ('comment', models.TextField(blank=True, help_text='Notes that travel with the file.')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('updated', models.DateTimeField(auto_now=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='suites', to=settings.AUTH_USER_MODEL)),
                ('without_modifier', models.ForeignKey(blank=True, help_text='For a suite that adds a modifier to the sentences of another suite: that other suite. Models’ pages compare the two. Empty: found by the name in the file (center_embed_mod belongs to center_embed of the same owner or published collection).', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='with_modifier', to='suites.suite', verbose_name='suite without the modifier')),
                ('tags', models.ManyToManyField(blank=True, related_name='suites', to='suites.tag')),
            ],
            options={
                'ordering': ['title'],
            },
        ),
        migrations.CreateModel(
            name='FormerAddress',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True)),
                ('note', models.TextField(blank=True, help_text='shown to everyone at the old address', max_length=1000)),
                ('left_at', models.DateTimeField(auto_now=True)),
                ('suite', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='former_addresses', to='suites.suite')),
            ],
            options={
                'verbose_name_plural': 'former addresses',
                'ordering': ['-left_at'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='SuiteImport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.SlugField(default=suites.models.new_import_key, editable=False, max_length=24, unique=True)),
                ('options', models.JSONField(default=dict, help_text='see suites.options.ImportOptions')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('target', models.ForeignKey(help_text='suite whose draft the file replaces', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='suites.suite')),
            ],
            options={
                'ordering': ['-created', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='ImportedFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=200)),
                ('state', models.CharField(choices=[('made', 'imported'), ('there', 'here already'), ('asks', 'with open questions'), ('refused', 'not read')], max_length=8)),
                ('data', models.BinaryField(default=bytes)),
                ('answers', models.JSONField(default=dict, help_text='see lmgym.suites.intake.ParseOptions')),
                ('report', models.JSONField(default=dict, help_text='text, problems, notices; what was done after the import')),
                ('suite', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='suites.suite')),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='suites.suiteimport')),
            ],
            options={
                'ordering': ['batch_id', 'position'],
            },
        ),
        migrations.CreateModel(
            name='SuiteRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('draft', 'draft'), ('frozen', 'frozen')], default='draft', max_length=6)),
                ('name', models.CharField(help_text='meta.name of the document', max_length=200)),
                ('metric', models.JSONField(default=str, help_text="meta.metric: a name, a list of names or 'all'")),
                ('meta', models.JSONField(default=dict, help_text="the document's meta object as imported")),
                ('region_names', models.JSONField(default=list)),
                ('condition_names', models.JSONField(default=list)),
                ('extra', models.JSONField(default=dict, help_text='unknown top-level keys, kept for export')),
                ('notices', models.JSONField(default=list, help_text='what the import changed, and what looks wrong')),
                ('findings', models.JSONField(default=list, help_text='findings of the linter: code, severity, place …')),
                ('size', models.PositiveBigIntegerField(default=0, help_text='bytes of sentences, predictions and meta; see suites.quotas')),
                ('join_policy', models.CharField(choices=[('space', 'one space between regions (SyntaxGym)'), ('natural', 'no space before . , ; : ! ?'), ('none', 'no space (Chinese, Japanese, parts of words)')], default='space', max_length=8)),
                ('edits', models.PositiveIntegerField(default=0, help_text='grows with every edit of a draft and never shrinks within a suite')),
                ('structure', models.PositiveIntegerField(default=0, help_text='`edits` when items, conditions or regions of the draft last changed')),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('note', models.TextField(blank=True, help_text='What changed in this revision.')),
                ('errata', models.TextField(blank=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('frozen_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='suites.suite')),
            ],
            options={
                'ordering': ['suite_id', '-number'],
            },
        ),
        migrations.CreateModel(
            name='Sentence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('item', models.IntegerField()),
                ('condition', models.CharField(max_length=200)),
                ('contents', models.JSONField(help_text='text of each region, trimmed')),
                ('raw', models.JSONField(blank=True, help_text='text as imported where it differs', null=True)),
                ('extra', models.JSONField(default=dict)),
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sentences', to='suites.suiterevision')),
            ],
            options={
                'ordering': ['revision_id', 'position'],
            },
        ),
        migrations.CreateModel(
            name='Prediction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('name', models.CharField(blank=True, max_length=200)),
                ('description', models.TextField(blank=True)),
                ('formula', models.TextField()),
                ('extra', models.JSONField(default=dict)),
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='predictions', to='suites.suiterevision')),
            ],
            options={
                'ordering': ['revision_id', 'position'],
            },
        ),
        migrations.CreateModel(
            name='LintIgnore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(max_length=60)),
                ('where', models.CharField(max_length=500)),
                ('reason', models.CharField(max_length=1000)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lint_ignores', to='suites.suite')),
            ],
            options={
                'ordering': ['suite_id', 'code', 'where'],
                'constraints': [models.UniqueConstraint(fields=('suite', 'code', 'where'), name='finding_ignored_once')],
            },
        ),
        migrations.CreateModel(
            name='DraftEdit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('edit_id', models.CharField(max_length=64)),
                ('version', models.PositiveIntegerField(help_text='version of the draft after this edit')),
                ('ops', models.JSONField(help_text='as applied; see docs/grid.md')),
                ('conflicts', models.JSONField(default=list, help_text='operations that were not applied; returned again if the edit is resent')),
                ('undo', models.JSONField(help_text='undoes the edit; see lmgym.suites.history. Null: no longer kept', null=True)),
                ('undo_size', models.PositiveBigIntegerField(default=0, help_text='bytes of undo')),
                ('size', models.PositiveBigIntegerField(default=0, help_text='bytes of ops, conflicts and undo')),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='edits', to='suites.suite')),
            ],
            options={
                'ordering': ['suite_id', 'version'],
                'constraints': [models.UniqueConstraint(fields=('suite', 'edit_id'), name='edit_once'), models.UniqueConstraint(fields=('suite', 'version'), name='one_edit_per_version')],
            },
        ),
        migrations.CreateModel(
            name='SuiteCollaborator',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('edit', 'Can edit'), ('view', 'Can view')], default='edit', max_length=4)),
                ('thing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='collaborations', to='suites.suite')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('thing', 'user'), name='suitecollaborator_once_per_person')],
            },
        ),
        migrations.AddConstraint(
            model_name='suiterevision',
            constraint=models.UniqueConstraint(fields=('suite', 'number'), name='revision_number_once'),
        ),
        migrations.AddConstraint(
            model_name='suiterevision',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'draft')), fields=('suite',), name='one_draft_per_suite'),
        ),
        migrations.AddConstraint(
            model_name='suiterevision',
            constraint=models.CheckConstraint(condition=models.Q(('state', 'draft'), models.Q(('sha256', ''), _negated=True), _connector='OR'), name='frozen_has_sha256'),
        ),
        migrations.AddConstraint(
            model_name='sentence',
            constraint=models.UniqueConstraint(fields=('revision', 'position'), name='sentence_position_once'),
        ),
        migrations.AddConstraint(
            model_name='sentence',
            constraint=models.UniqueConstraint(fields=('revision', 'item', 'condition'), name='sentence_once_per_cell'),
        ),
        migrations.AddConstraint(
            model_name='prediction',
            constraint=models.UniqueConstraint(fields=('revision', 'position'), name='prediction_position_once'),
        ),
    ]
