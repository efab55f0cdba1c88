from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "gym.accounts"
    label = "accounts"
