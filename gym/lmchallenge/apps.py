from django.apps import AppConfig


class LmChallengeConfig(AppConfig):
    name = "gym.lmchallenge"
    label = "lmchallenge"
    verbose_name = "LM Challenge"
