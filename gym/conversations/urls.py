from django.urls import path

from gym.conversations import case_views, run_views, server_views, views

urlpatterns = [
    path("", views.home, name="agent-home"),
    path("new/", views.suite_new, name="agent-suite-new"),
    path("compare/", run_views.compare, name="agent-compare"),
    path("servers/new/", server_views.server_new, name="agent-server-new"),
    path("servers/<slug:slug>/", server_views.server_detail, name="agent-server"),
    path("servers/<slug:slug>/edit/", server_views.server_edit, name="agent-server-edit"),
    path("servers/<slug:slug>/check/", server_views.server_check, name="agent-server-check"),
    path("servers/<slug:slug>/status/", server_views.server_status, name="agent-server-status"),
    path("runs/<slug:key>/", run_views.run_detail, name="agent-run"),
    path("runs/<slug:key>/progress/", run_views.run_progress, name="agent-run-progress"),
    path("runs/<slug:key>/cancel/", run_views.run_cancel, name="agent-run-cancel"),
    path("runs/<slug:key>/retry/", run_views.run_retry, name="agent-run-retry"),
    path("runs/<slug:key>/rescore/", run_views.run_rescore, name="agent-run-rescore"),
    path("runs/<slug:key>/download/<str:form>/", run_views.run_download, name="agent-run-download"),
    path("runs/<slug:key>/<int:pk>/", run_views.case_run, name="agent-case-run"),
    path("runs/<slug:key>/<int:pk>/assess/", run_views.assess, name="agent-assess"),
    path("runs/<slug:key>/<int:pk>/assess/mode/", run_views.change_mode, name="agent-mode"),
    path(
        "runs/<slug:key>/<int:pk>/assess/<str:form>/", run_views.assess_download, name="agent-assess-download"
    ),
    path("<slug:slug>/", views.suite_detail, name="agent-suite"),
    path("<slug:slug>/edit/", views.suite_edit, name="agent-suite-edit"),
    path("<slug:slug>/delete/", views.suite_delete, name="agent-suite-delete"),
    path("<slug:slug>/import/", views.suite_import, name="agent-suite-import"),
    path("<slug:slug>/download/", views.suite_download, name="agent-suite-download"),
    path("<slug:slug>/run/", views.suite_run, name="agent-suite-run"),
    path("<slug:slug>/cases/new/", case_views.case_new, name="agent-case-new"),
    path("<slug:slug>/cases/check/", case_views.case_check, name="agent-case-check"),
    path("<slug:slug>/cases/<int:pk>/", case_views.case_detail, name="agent-case"),
    path("<slug:slug>/cases/<int:pk>/edit/", case_views.case_edit, name="agent-case-edit"),
    path("<slug:slug>/cases/<int:pk>/form/", case_views.case_form, name="agent-case-form"),
    path("<slug:slug>/cases/<int:pk>/delete/", case_views.case_delete, name="agent-case-delete"),
    path("<slug:slug>/cases/<int:pk>/download/", case_views.case_download, name="agent-case-download"),
]
