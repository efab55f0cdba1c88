from django.apps import AppConfig


class ResultsConfig(AppConfig):
    name = "gym.results"
    label = "results"

    def ready(self) -> None:
        from gym.results import keeping, scores  # noqa: F401  they listen for runs finished, and about to be deleted
