from django.urls import path

from gym.pages import (
    bulk_views,
    figure_views,
    freeze_views,
    import_views,
    model_page,
    paper_views,
    profile,
    site_pages,
    suite_page,
)

urlpatterns = [
    path("suites/", suite_page.suite_list, name="suite-list"),
    path("suites/import/", import_views.suite_import, name="suite-import"),
    path("suites/import/<slug:key>/", import_views.import_report, name="suite-import-report"),
    path("suites/import/<slug:key>/reading/", import_views.import_reading, name="suite-import-reading"),
    path("several-suites/", bulk_views.several_suites, name="several-suites"),
    path("suites/<slug:slug>/", suite_page.suite_detail, name="suite-detail"),
    path("suites/<slug:slug>/under-way/", suite_page.suite_under_way, name="suite-under-way"),
    path("suites/<slug:slug>/freeze/", freeze_views.suite_freeze, name="suite-freeze"),
    path("suites/<slug:slug>/diff/<int:a>/<int:b>/", freeze_views.suite_diff, name="suite-diff"),
    path("suites/<slug:slug>/r<int:number>/", suite_page.suite_detail, name="suite-revision"),
    path("models/<slug:slug>/", model_page.model_detail, name="model-detail"),
    path("accounts/profile/", profile.profile, name="profile"),
    path("accounts/export/", profile.account_export, name="account-export"),
    path("accounts/export/file/", profile.account_export_file, name="account-export-file"),
    path("accounts/delete/", profile.account_delete, name="account-delete"),
    path("", site_pages.home, name="home"),
    path("about/", site_pages.about, name="about"),
    path("retention/", site_pages.retention_policy, name="retention"),
    path("queue/", site_pages.queue, name="queue"),
    path("figures/<slug:kind>.<slug:form>", figure_views.figure, name="figure"),
    path("paper/<slug:kind>.<slug:form>", paper_views.paper_file, name="paper"),
]
