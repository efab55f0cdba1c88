from django.apps import AppConfig


class ModelsRegistryConfig(AppConfig):
    name = "models_registry"

    def ready(self) -> None:
        from gym.jobs.handlers import breaks_process
        from lmgym.models.engine.device_errors import says_broken
        from models_registry import actors, quotas  # noqa: F401  they register its job handler, and what models count as

        breaks_process(says_broken)
