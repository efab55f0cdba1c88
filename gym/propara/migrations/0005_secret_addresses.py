"""What is unlisted gets an address that cannot be guessed, and what hangs below it other keys. The addresses of before
were made of titles; they answer as if nothing had been there."""

import secrets

from django.db import migrations


def renew(apps, schema_editor) -> None:
    things = apps.get_model("propara", "AnswerSet")
    rows = apps.get_model("propara", "Submission")
    former = apps.get_model("propara", "FormerSubmissionKey")
    for thing in list(things.objects.filter(visibility="unlisted").only("pk", "slug")):
        slug = f"{thing.slug[:50]}-{secrets.token_hex(10)}"
        things.objects.filter(pk=thing.pk).update(slug=slug)
    for row in list(rows.objects.filter(version__answer_set__visibility="unlisted").only("pk", "key")):
        former.objects.create(key=row.key, submission=row)
        rows.objects.filter(pk=row.pk).update(key=secrets.token_hex(10))


class Migration(migrations.Migration):
    dependencies = [("propara", "0004_former_addresses")]

    operations = [migrations.RunPython(renew, migrations.RunPython.noop)]
