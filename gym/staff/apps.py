from django.apps import AppConfig


class StaffConfig(AppConfig):
    name = "gym.staff"
    label = "staff"

    def ready(self) -> None:
        from gym.staff import actors  # noqa: F401  it registers its job handlers
