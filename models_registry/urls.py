from django.urls import path

from gym.sharing.views import people_urls
from models_registry import views

urlpatterns = [
    path("", views.model_list, name="model-list"),
    path("register/", views.model_register, name="model-register"),
    path("fetch/<slug:name>/", views.model_fetch, name="model-fetch"),
    *people_urls(views.SHAREABLE),
    path("<slug:slug>/edit/", views.model_edit, name="model-edit"),
    path("<slug:slug>/correct/", views.model_correct, name="model-correct"),
    path("<slug:slug>/delete/", views.model_delete, name="model-delete"),
    path("<slug:slug>/check/", views.model_check, name="model-check"),
    path("<slug:slug>/check/cancel/", views.model_cancel_check, name="model-cancel-check"),
    path("<slug:slug>/start-token/", views.model_start_token, name="model-start-token"),
    path("<slug:slug>/approve/", views.model_approve, name="model-approve"),
    path("<slug:slug>/refuse/", views.model_refuse, name="model-refuse"),
    path("<slug:slug>/status/", views.model_status, name="model-status"),
]
