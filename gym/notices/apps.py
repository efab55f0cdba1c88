from django.apps import AppConfig


class NoticesConfig(AppConfig):
    name = "gym.notices"
    label = "notices"
