from django.urls import path

from gym.collections import views
from gym.sharing.views import people_urls

urlpatterns = [
    path("collections/", views.collection_list, name="collection-list"),
    path("collections/new/", views.collection_new, name="collection-new"),
    path("collections/<slug:slug>/", views.collection_detail, name="collection-detail"),
    *people_urls(views.SHAREABLE, "collections/<slug:slug>/"),
    path("collections/<slug:slug>/edit/", views.collection_edit, name="collection-edit"),
    path("collections/<slug:slug>/human-data/", views.collection_human_data, name="collection-human-data"),
    path("collections/<slug:slug>/publish/", views.collection_publish, name="collection-publish"),
    path("collections/<slug:slug>/delete/", views.collection_delete, name="collection-delete"),
    path("collections/<slug:slug>/zip/", views.collection_zip, name="collection-zip"),
    path(
        "collections/<slug:slug>/run-missing/",
        views.collection_run_missing,
        name="collection-run-missing",
    ),
    path(
        "collections/<slug:slug>/download/<str:form>/",
        views.collection_download,
        name="collection-download",
    ),
]
