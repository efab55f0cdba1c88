from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "gym.people"
    label = "people"

    def ready(self) -> None:
        from gym.people import (  # noqa: F401
            actors,  # registers job handlers
            ceilings,  # adds people to leaderboards
            quotas,  # registers the quota of human data
        )
