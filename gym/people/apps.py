from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "gym.people"
    label = "people"

    def ready(self) -> None:
        from gym.people import actors, quotas  # noqa: F401  register job handlers and the quota of human data
