from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "gym.api"
    label = "api"
