from django.urls import path

from gym.people.pages import import_views, model_views, views
from gym.sharing.views import people_urls

_ONE = "human-data/<slug:slug>/"
_MODELS = f"{_ONE}models/"

urlpatterns = [
    path("human-data/", views.data_list, name="human-data-list"),
    path("human-data/new/<slug:slug>/r<int:number>/", import_views.data_new, name="human-data-new"),
    path("human-data/import/<slug:key>/", import_views.data_import, name="human-data-import"),
    path(
        "human-data/import/<slug:key>/reading/",
        import_views.data_import_reading,
        name="human-data-import-reading",
    ),
    path(
        "human-data/import/<slug:key>/delete/",
        import_views.data_import_delete,
        name="human-data-import-delete",
    ),
    path(_ONE, views.data_detail, name="human-data"),
    *people_urls(views.SHAREABLE, _ONE),
    path(f"{_ONE}progress/", views.data_progress, name="human-data-progress"),
    path(f"{_ONE}edit/", views.data_edit, name="human-data-edit"),
    path(f"{_ONE}visibility/", views.data_visibility, name="human-data-visibility"),
    path(f"{_ONE}delete/", views.data_delete, name="human-data-delete"),
    path(f"{_ONE}items/<int:item>/", views.data_item, name="human-data-item"),
    path(f"{_ONE}download/<slug:form>/", views.data_download, name="human-data-download"),
    path(_MODELS, model_views.data_models, name="human-data-models"),
    path(f"{_MODELS}<slug:key>/", model_views.data_models_result, name="human-data-models-result"),
    path(f"{_MODELS}<slug:key>/delete/", model_views.data_models_delete, name="human-data-models-delete"),
    path(
        f"{_MODELS}<slug:key>/<slug:what>.<slug:form>",
        model_views.data_models_download,
        name="human-data-models-download",
    ),
]
