from django.urls import path

from gym.sharing.api import people_api
from models_registry.api import views
from models_registry.selectors import visible_to

urlpatterns = [
    path("models/", views.ModelList.as_view(), name="api-models"),
    path("models/<slug:slug>/", views.ModelDetail.as_view(), name="api-model"),
    *people_api("api-model", visible_to, "models/<slug:slug>/"),
    path("models/<slug:slug>/check/", views.ModelCheck.as_view(), name="api-model-check"),
    path("models/<slug:slug>/approve/", views.ModelApprove.as_view(), name="api-model-approve"),
    path(
        "models/<slug:slug>/approve-series/", views.SeriesApprove.as_view(), name="api-model-approve-series"
    ),
    path("model-series/", views.SeriesList.as_view(), name="api-model-series"),
    path("backends/", views.BackendList.as_view(), name="api-backends"),
    path("backends/<slug:kind>/", views.BackendDetail.as_view(), name="api-backend"),
]
