"""Disable servers that wrapped a causal model and judges that were models. Their rows and runs stay readable."""

from django.db import migrations, models

REASON = "Models of this site can no longer answer as agents. Register an agent server or a chat endpoint."


def retire(apps, schema_editor):
    server, suite = apps.get_model("agents", "AgentServer"), apps.get_model("agents", "AgentSuite")
    model = apps.get_model("models_registry", "RegisteredModel")
    wrapped = list(server.objects.filter(kind="model").values_list("model", flat=True))
    suite.objects.filter(judge__isnull=False).exclude(judge__backend="agent").update(judge=None)
    suite.objects.filter(judge__in=wrapped).update(judge=None)
    model.objects.filter(pk__in=wrapped).update(status="broken", status_reason=REASON)


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0006_paused_schedules"),
    ]

    operations = [
        migrations.RunPython(retire, migrations.RunPython.noop),
        migrations.RemoveField(model_name="agentserver", name="wraps"),
        migrations.AlterField(
            model_name="agentserver",
            name="kind",
            field=models.CharField(
                choices=[
                    ("server", "Agent server (neuro-san's HTTP interface)"),
                    ("chat", "Chat endpoint (OpenAI-compatible)"),
                    ("embedded", "Embedded demo agents (echo, calculator and friends)"),
                ],
                default="server",
                max_length=10,
            ),
        ),
    ]
