from django.urls import path

from gym.runs.pages import compare_views, export_views, leaderboard_views, upload_views, views

urlpatterns = [
    path("runs/", views.run_list, name="run-list"),
    path("runs/start/<slug:slug>/r<int:number>/", views.run_start, name="run-start"),
    path("runs/change/<slug:action>/", views.runs_change, name="runs-change"),
    path("runs/upload/", upload_views.upload_results, name="results-upload"),
    path("runs/upload/<slug:slug>/r<int:number>/", upload_views.upload_results, name="suite-results-upload"),
    path("uploads/<slug:key>/", upload_views.upload_report, name="upload-report"),
    path("uploads/<slug:key>/retry/", upload_views.upload_retry, name="upload-retry"),
    path("uploads/<slug:key>/delete/", upload_views.upload_delete, name="upload-delete"),
    path("runs/<slug:key>/", views.run_detail, name="run-detail"),
    path("runs/<slug:key>/progress/", views.run_progress, name="run-progress"),
    path("runs/<slug:key>/cancel/", views.run_cancel, name="run-cancel"),
    path("runs/<slug:key>/retry/", views.run_retry, name="run-retry"),
    path("runs/<slug:key>/delete/", views.run_delete, name="run-delete"),
    path("runs/<slug:key>/items/<str:item>/", views.run_item, name="run-item"),
    path("runs/<slug:key>/chart.svg", views.run_chart, name="run-chart"),
    path("runs/<slug:key>/download/<str:form>/", views.run_download, name="run-download"),
    path("exports/<slug:what>.<slug:form>", export_views.export_table, name="export-table"),
    path("exports/runs/<slug:key>/evaluated.json", export_views.export_evaluated, name="export-evaluated"),
    path(
        "exports/suites/<slug:slug>/r<int:number>/<str:form>", export_views.export_suite, name="export-suite"
    ),
    path("compare/", compare_views.compare_page, name="compare"),
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
