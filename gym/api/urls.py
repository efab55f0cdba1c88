"""API URLs. An app defines its own in `<app>/api.py` or `<app>/api/urls.py`; APP_URLS lists them (docs/api.md)."""

from django.urls import include, path, re_path, register_converter

from gym.api import views


class UserName:
    """URL converter for user names, which contain neither "/" nor U+0000."""

    regex = r"[\w.@+-]{1,150}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(UserName, "user")

APP_URLS = [
    "suites.api.urls",
    "models_registry.api.urls",
    "gym.runs.api.urls",
    "gym.people.api",
    "gym.collections.api",
    "gym.runs.api.downloads",
    "gym.runs.api.score_requests",
    "gym.propara.api.urls",
    "gym.lmchallenge.api.urls",
    "gym.pages.api",
    "gym.pages.table_api",
    "gym.agents.api.urls",
    "gym.sharing.api",
]

urlpatterns = [
    path("", views.Index.as_view(), name="api-root"),
    path("schema/", views.Schema.as_view(), name="api-schema"),
    path("docs/", views.docs, name="api-docs"),
    path("me/", views.Me.as_view(), name="api-me"),
    *[path("", include(urls)) for urls in APP_URLS],
    re_path(r"^[\s\S]*/$", views.Missing.as_view()),
]
