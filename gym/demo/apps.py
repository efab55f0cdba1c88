from django.apps import AppConfig


class DemoConfig(AppConfig):
    name = "gym.demo"
    label = "demo"

    def ready(self) -> None:
        from gym.demo import actors  # noqa: F401  registers its job handler
