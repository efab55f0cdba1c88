from django.apps import AppConfig


class ProParaConfig(AppConfig):
    name = "gym.propara"
    label = "propara"
    verbose_name = "ProPara"

    def ready(self) -> None:
        from gym.propara import actors, services  # noqa: F401  register job handlers and receivers
