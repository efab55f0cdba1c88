from django.apps import AppConfig


class SuitesConfig(AppConfig):
    name = "suites"

    def ready(self) -> None:
        from suites import quotas  # noqa: F401  registers the quota of suites
