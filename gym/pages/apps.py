from django.apps import AppConfig


class PagesConfig(AppConfig):
    name = "gym.pages"
    label = "pages"

    def ready(self) -> None:
        from gym.pages import account_downloads  # noqa: F401  registers a job handler
