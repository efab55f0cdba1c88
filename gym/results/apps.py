from django.apps import AppConfig


class ResultsConfig(AppConfig):
    name = "gym.results"
    label = "results"

    def ready(self) -> None:
        from gym.results import (  # noqa: F401
            keeping,  # listens for runs about to be deleted
            quotas,  # registers what collections count as
            scores,  # listens for runs finished
        )
