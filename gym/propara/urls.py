from django.urls import path

from gym.propara import comparison_views, submission_views, views
from gym.sharing.views import people_urls

_SET = "<slug:slug>/v<int:number>/"
_ONE = "submissions/<slug:key>/"

urlpatterns = [
    path("", views.set_list, name="propara-list"),
    path("new/", views.set_new, name="propara-new"),
    path("rescore/", views.rescore, name="propara-rescore"),
    path("compare/", comparison_views.compare_page, name="propara-compare"),
    path("compare/download/<str:form>/", comparison_views.compare_download, name="propara-compare-download"),
    path(
        "compare/processes/<int:process_id>/",
        comparison_views.compare_process,
        name="propara-compare-process",
    ),
    path(
        "compare/<slug:first>/<slug:second>/", comparison_views.former_address, name="propara-compare-former"
    ),
    path(
        "compare/<slug:first>/<slug:second>/<int:process_id>/",
        comparison_views.former_address,
        name="propara-compare-former-process",
    ),
    path(_ONE, submission_views.submission_detail, name="propara-submission"),
    path(f"{_ONE}agree/", submission_views.submission_agree, name="propara-submission-agree"),
    path(f"{_ONE}save/", submission_views.submission_save, name="propara-submission-save"),
    path(f"{_ONE}score-on/<int:number>/", submission_views.submission_score_on, name="propara-score-on"),
    path(f"{_ONE}edit/", submission_views.submission_edit, name="propara-submission-edit"),
    path(f"{_ONE}delete/", submission_views.submission_delete, name="propara-submission-delete"),
    path(
        f"{_ONE}download/<str:form>/",
        submission_views.submission_download,
        name="propara-submission-download",
    ),
    path(f"{_ONE}processes/<int:process_id>/", submission_views.process_detail, name="propara-process"),
    path("<slug:slug>/", views.set_detail, name="propara-set"),
    *people_urls(views.SHAREABLE),
    path("<slug:slug>/edit/", views.set_edit, name="propara-edit"),
    path("<slug:slug>/delete/", views.set_delete, name="propara-delete"),
    path("<slug:slug>/new-version/", views.version_new, name="propara-version-new"),
    path(_SET, views.set_detail, name="propara-version"),
    path(f"{_SET}submit/", submission_views.submit, name="propara-submit"),
    path(f"{_SET}score-earlier/", views.score_earlier, name="propara-score-earlier"),
    path(f"{_SET}published/", views.published, name="propara-published"),
    path(f"{_SET}published/known/", views.published_known, name="propara-published-known"),
    path(f"{_SET}published/<int:pk>/", views.published, name="propara-published-edit"),
    path(f"{_SET}published/<int:pk>/delete/", views.published_delete, name="propara-published-delete"),
    path(f"{_SET}download/<str:form>/", views.set_download, name="propara-download"),
    path(f"{_SET}processes/<int:process_id>/", views.set_process, name="propara-answers"),
]
