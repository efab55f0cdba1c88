"""What is unlisted gets an address that cannot be guessed, and what hangs below it other keys. The addresses of before
were made of titles; they answer as if nothing had been there."""

import secrets

from django.db import migrations


def renew(apps, schema_editor) -> None:
    things = apps.get_model("lmchallenge", "Corpus")
    rows = apps.get_model("lmchallenge", "Game")
    former = apps.get_model("lmchallenge", "FormerGameKey")
    for thing in list(things.objects.filter(visibility="unlisted").only("pk", "slug")):
        slug = f"{thing.slug[:50]}-{secrets.token_hex(10)}"
        things.objects.filter(pk=thing.pk).update(slug=slug)
    for row in list(rows.objects.filter(corpus__visibility="unlisted").only("pk", "key")):
        former.objects.create(key=row.key, game=row)
        rows.objects.filter(pk=row.pk).update(key=secrets.token_hex(10))


class Migration(migrations.Migration):
    dependencies = [("lmchallenge", "0003_former_addresses")]

    operations = [migrations.RunPython(renew, migrations.RunPython.noop)]
