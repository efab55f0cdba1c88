"""Allow suites without a language, and store each author on a separate line."""

import django.core.validators
from django.db import migrations, models


def authors_by_line(apps, schema_editor):
    """Put authors on separate lines if they come from a list in the file, which was stored as one line with
    commas."""
    suite_model = apps.get_model("suites", "Suite")
    revisions = apps.get_model("suites", "SuiteRevision").objects
    for suite in suite_model.objects.filter(author__contains=", ").only("pk", "author"):
        for meta in revisions.filter(suite_id=suite.pk).values_list("meta", flat=True):
            names = meta.get("author") if isinstance(meta, dict) else None
            given = isinstance(names, list) and all(isinstance(name, str) for name in names)
            if given and ", ".join(names) == suite.author:
                suite_model.objects.filter(pk=suite.pk).update(author="\n".join(names))
                break


class Migration(migrations.Migration):
    dependencies = [("suites", "0003_notes_at_former_addresses")]

    operations = [
        migrations.AlterField(
            model_name="suite",
            name="language",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Language tag (BCP 47), e.g. en, de, zh-Hans. Empty: not stated.",
                max_length=35,
                validators=[
                    django.core.validators.RegexValidator(
                        "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", "Use a language tag such as en, de or zh-Hans."
                    )
                ],
                verbose_name="language",
            ),
        ),
        migrations.AlterField(
            model_name="suite",
            name="author",
            field=models.TextField(
                blank=True,
                help_text="One per line in the order of citation, with the affiliation in brackets, "
                "e.g. Jennifer Hu (MIT). Empty: citations name the owner.",
                verbose_name="authors",
            ),
        ),
        migrations.RunPython(authors_by_line, migrations.RunPython.noop),
    ]
