"""Every address of the site. tests/permissions/ has a row for each of them."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

from gym import views

urlpatterns = [
    path("", views.home, name="home"),
    path("about/", views.about, name="about"),
    path("healthz", views.healthz, name="healthz"),
    path("accounts/login/", auth.LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("accounts/logout/", auth.LogoutView.as_view(), name="logout"),
    path("suites/", include("suites.urls")),
    path("models/", include("models_registry.urls")),
    path("", include("gym.evaluations.urls")),
    path("queue/", views.queue, name="queue"),
    path("api/v1/", include("gym.api.urls")),
    path("admin/", admin.site.urls),
]
