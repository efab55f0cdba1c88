from django.apps import AppConfig


class CollectionsConfig(AppConfig):
    name = "gym.collections"
    label = "collections"

    def ready(self) -> None:
        from gym.collections import deletion_guard  # noqa: F401  listens for runs and suites about to be deleted
