"""URL configuration. tests/permissions/ has a row for every URL."""

from django.contrib import admin
from django.urls import include, path

from gym.accounts.views import admin_sign_in
from gym.healthz import healthz, readyz
from gym.monitoring.metrics import metrics

handler400 = "gym.error_pages.bad_request"
handler500 = "gym.error_pages.server_error"

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("accounts/", include("gym.accounts.urls")),
    path("invitations/", include("gym.sharing.urls")),
    path("notifications/", include("gym.notices.urls")),
    path("help/", include("gym.help.urls")),
    path("suites/", include("suites.urls")),
    path("models/", include("models_registry.urls")),
    path("propara/", include("gym.propara.urls")),
    path("games/", include("gym.lmchallenge.urls")),
    path("", include("gym.pages.urls")),
    path("", include("gym.collections.urls")),
    path("", include("gym.people.urls")),
    path("", include("gym.runs.urls")),
    path("agents/", include("gym.agents.urls")),
    path("staff/", include("gym.staff.urls")),
    path("api/v1/", include("gym.api.urls")),
    path("admin/login/", admin_sign_in, name="admin-sign-in"),
    path("admin/", admin.site.urls),
]
