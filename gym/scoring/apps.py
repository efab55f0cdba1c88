from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "gym.scoring"
    label = "scoring"

    def ready(self) -> None:
        from gym.evaluations.limits import also_counts
        from gym.scoring import actors  # noqa: F401  registers its job handler
        from gym.scoring.selectors import sentences_since

        also_counts(sentences_since)
