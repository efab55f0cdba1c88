"""Convert hourly schedules to nightly schedules."""

from django.db import migrations, models


def make_nightly(apps, schema_editor):
    apps.get_model("agents", "AgentSchedule").objects.filter(every="hour").update(every="night")


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0007_no_models_as_agents"),
    ]

    operations = [
        migrations.RunPython(make_nightly, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="agentschedule",
            name="every",
            field=models.CharField(
                choices=[
                    ("night", "every night"),
                    ("change", "when the cases have changed"),
                    ("version", "when the server's version changes"),
                ],
                max_length=10,
            ),
        ),
    ]
