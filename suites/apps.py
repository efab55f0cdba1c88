from django.apps import AppConfig


class SuitesConfig(AppConfig):
    name = "suites"

    def ready(self) -> None:
        from suites import quotas  # noqa: F401  it registers what suites count as
