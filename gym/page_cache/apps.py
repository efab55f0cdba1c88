from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class PageCacheConfig(AppConfig):
    name = "gym.page_cache"
    label = "page_cache"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from gym.page_cache import triggers

        pre_migrate.connect(triggers.remove, sender=self, dispatch_uid="gym.page_cache")
        post_migrate.connect(triggers.install, sender=self, dispatch_uid="gym.page_cache")
