from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("jobs", "0005_drop_message")]

    operations = [migrations.RemoveField(model_name="job", name="priority")]
