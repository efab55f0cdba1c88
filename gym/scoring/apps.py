from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "gym.scoring"
    label = "scoring"

    def ready(self) -> None:
        from gym.scoring import actors  # noqa: F401  registers its job handler
