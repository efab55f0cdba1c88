from django.apps import AppConfig


class ExternalConfig(AppConfig):
    name = "gym.accounts.external"
    label = "external"
