from django.urls import path

from gym.results import compare_views, figure_views, leaderboard_views

urlpatterns = [
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
