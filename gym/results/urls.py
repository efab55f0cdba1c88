from django.urls import path

from gym.results import collection_views, compare_views, export_views, figure_views, leaderboard_views
from gym.sharing.views import people_urls

urlpatterns = [
    path("collections/", collection_views.collection_list, name="collection-list"),
    path("collections/new/", collection_views.collection_new, name="collection-new"),
    path("collections/<slug:slug>/", collection_views.collection_detail, name="collection-detail"),
    *people_urls(collection_views.ROOM, "collections/<slug:slug>/"),
    path("collections/<slug:slug>/edit/", collection_views.collection_edit, name="collection-edit"),
    path("collections/<slug:slug>/publish/", collection_views.collection_publish, name="collection-publish"),
    path("collections/<slug:slug>/delete/", collection_views.collection_delete, name="collection-delete"),
    path(
        "collections/<slug:slug>/run-missing/",
        collection_views.collection_run_missing,
        name="collection-run-missing",
    ),
    path(
        "collections/<slug:slug>/download/<str:form>/",
        collection_views.collection_download,
        name="collection-download",
    ),
    path("exports/<slug:what>.<slug:form>", export_views.export_table, name="export-table"),
    path("exports/runs/<slug:key>/evaluated.json", export_views.export_evaluated, name="export-evaluated"),
    path(
        "exports/suites/<slug:slug>/r<int:number>/<str:form>", export_views.export_suite, name="export-suite"
    ),
    path("figures/<slug:kind>.<slug:form>", figure_views.figure, name="figure"),
    path("compare/", compare_views.compare_page, name="compare"),
    path("matrix/", leaderboard_views.old_matrix, name="matrix"),
    path("leaderboard/", leaderboard_views.leaderboard_page, name="leaderboard"),
    path(
        "leaderboard/run-missing/", leaderboard_views.leaderboard_run_missing, name="leaderboard-run-missing"
    ),
    path(
        "leaderboard/download/<str:form>/",
        leaderboard_views.leaderboard_download,
        name="leaderboard-download",
    ),
]
