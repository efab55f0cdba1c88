from django.db import migrations, models


def fill_in(apps, schema_editor):
    """The author whom the newest file names; a list of names becomes one line, as imports do it."""
    suites = apps.get_model("suites", "Suite").objects
    seen = set()
    rows = apps.get_model("suites", "SuiteRevision").objects.order_by("suite_id", "-number")
    for suite, meta in rows.values_list("suite_id", "meta").iterator():
        if suite in seen:
            continue
        seen.add(suite)
        author = meta.get("author") if isinstance(meta, dict) else ""
        if isinstance(author, list) and all(isinstance(one, str) for one in author):
            author = ", ".join(author)
        if author and isinstance(author, str):
            suites.filter(pk=suite).update(author=author)


class Migration(migrations.Migration):
    dependencies = [("suites", "0003_former_addresses_and_modifiers")]

    operations = [
        migrations.AddField(
            model_name="suite",
            name="author",
            field=models.TextField(
                blank=True,
                default="",
                help_text="Who made the stimuli, as citations name them. Empty: citations name the owner.",
                verbose_name="author",
            ),
            preserve_default=False,
        ),
        migrations.RunPython(fill_in, migrations.RunPython.noop),
    ]
