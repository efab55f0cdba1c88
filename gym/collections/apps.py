from django.apps import AppConfig


class CollectionsConfig(AppConfig):
    name = "gym.collections"
    label = "collections"

    def ready(self) -> None:
        from gym.collections import (  # noqa: F401
            deletion_guard,  # protects runs and suites about to be deleted
            quotas,  # registers the quota of collections
            zips,  # registers a job handler
        )
