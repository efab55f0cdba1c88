from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    name = "gym.evaluations"
    label = "evaluations"

    def ready(self) -> None:
        from gym.evaluations import actors, preview  # noqa: F401  they register their job handlers
