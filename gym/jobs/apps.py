from __future__ import annotations

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "gym.jobs"
    label = "jobs"
    verbose_name = "Jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import dramatiq

        from gym.jobs import conf
        from gym.jobs.broker import make_broker

        dramatiq.set_broker(make_broker(conf.get("GYM_BROKER_URL")))
        from gym.jobs import actors  # noqa: F401  declares the actor on the broker just set
