from django.apps import AppConfig


class ModelsRegistryConfig(AppConfig):
    name = "models_registry"

    def ready(self) -> None:
        from gym.jobs.handlers import breaks_process
        from lmgym.models.engine.device_errors import reports_device_failure
        from models_registry import actors, packaged, quotas  # noqa: F401  register job handlers and quotas

        breaks_process(reports_device_failure)
