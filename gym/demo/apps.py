from django.apps import AppConfig


class DemoConfig(AppConfig):
    name = "gym.demo"
    label = "demo"

    def ready(self) -> None:
        from gym.demo import actors, people  # noqa: F401  register job handlers and a signal receiver
