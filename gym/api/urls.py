from django.urls import path

from gym.api import views

urlpatterns = [
    path("", views.index, name="api-root"),
    path("suites/", views.SuiteList.as_view(), name="api-suites"),
    path("suites/<slug:slug>/", views.SuiteDetail.as_view(), name="api-suite"),
    path("models/", views.ModelList.as_view(), name="api-models"),
    path("models/<slug:slug>/", views.ModelDetail.as_view(), name="api-model"),
    path("runs/", views.RunList.as_view(), name="api-runs"),
    path("runs/<slug:key>/", views.RunDetail.as_view(), name="api-run"),
    path("runs/<slug:key>/results/", views.run_results, name="api-run-results"),
]
