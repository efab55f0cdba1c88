from django.apps import AppConfig


class LabConfig(AppConfig):
    name = "tests.jobs.lab"
    label = "lab"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from tests.jobs.lab import handlers  # noqa: F401
