from django.apps import AppConfig


class ModelsRegistryConfig(AppConfig):
    name = "models_registry"

    def ready(self) -> None:
        from models_registry import actors, quotas  # noqa: F401  they register its job handler, and what models count as
