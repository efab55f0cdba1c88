from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    name = "gym.evaluations"
    label = "evaluations"

    def ready(self) -> None:
        from gym.evaluations import (  # noqa: F401  they register their job handlers, and listen
            actors,
            keys,
            preview,
            quotas,
            upload_job,
        )
