from django.apps import AppConfig


class SharingConfig(AppConfig):
    name = "gym.sharing"
    label = "sharing"
