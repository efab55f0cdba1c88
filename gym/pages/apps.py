from django.apps import AppConfig


class PagesConfig(AppConfig):
    name = "gym.pages"
    label = "pages"
