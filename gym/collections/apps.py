from django.apps import AppConfig


class CollectionsConfig(AppConfig):
    name = "gym.collections"
    label = "collections"

    def ready(self) -> None:
        from gym.collections import (  # noqa: F401
            deletion_guard,  # listens for runs and suites about to be deleted
            quotas,  # registers what collections count as
            zips,  # registers the handler of its jobs
        )
