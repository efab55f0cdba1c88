from django.apps import AppConfig


class ResultsConfig(AppConfig):
    name = "gym.results"
    label = "results"

    def ready(self) -> None:
        from gym.results import scores  # noqa: F401  it listens for finished runs
