from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    name = "gym.evaluations"
    label = "evaluations"

    def ready(self) -> None:
        from gym.evaluations import actors  # noqa: F401  registers its job handler
