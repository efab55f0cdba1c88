"""Every address of the API. A room adds its own: `<room>/api.py` or `<room>/api/urls.py` with `urlpatterns`, named in
ROOMS; see docs/api.md."""

from django.urls import include, path, re_path, register_converter

from gym.api import views
from gym.api.converters import UserName

register_converter(UserName, "user")

ROOMS = [
    "suites.api.urls",
    "models_registry.api.urls",
    "gym.evaluations.api.urls",
    "gym.results.api.urls",
    "gym.results.api.collections",
    "gym.results.api.downloads",
    "gym.scoring.api",
    "gym.jobs.api",
    "gym.staff.api",
    "gym.propara.site.api.urls",
    "gym.lmchallenge.site.api.urls",
    "gym.accounts.api",
    "gym.sharing.invitation_api",
    "gym.conversations.api.urls",
    "gym.conversations.assess_api",
]

urlpatterns = [
    path("", views.Index.as_view(), name="api-root"),
    path("schema/", views.Schema.as_view(), name="api-schema"),
    path("docs/", views.docs, name="api-docs"),
    *[path("", include(room)) for room in ROOMS],
    re_path(r"^[\s\S]*/$", views.Missing.as_view()),
]
