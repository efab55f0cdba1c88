from django.apps import AppConfig


class LmChallengeConfig(AppConfig):
    name = "gym.lmchallenge"
    label = "lmchallenge"
    verbose_name = "LM Challenge"

    def ready(self) -> None:
        from gym.lmchallenge import actors, keys, notices, quotas  # noqa: F401  register job handlers, receivers and quotas
