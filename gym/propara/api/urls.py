from django.urls import path

from gym.propara.api import board, sets, submissions
from gym.propara.views import SHAREABLE
from gym.sharing.api import people_api

_SET = "propara/answer-sets/<slug:slug>/"
_VERSION = f"{_SET}versions/<int:number>/"
_ONE = "propara/submissions/<slug:key>/"

urlpatterns = [
    path("propara/answer-sets/", sets.SetList.as_view(), name="api-propara-sets"),
    path(_SET, sets.SetDetail.as_view(), name="api-propara-set"),
    *people_api(SHAREABLE, _SET),
    path(f"{_SET}versions/", sets.VersionList.as_view(), name="api-propara-versions"),
    path(_VERSION, sets.VersionDetail.as_view(), name="api-propara-version"),
    path(f"{_VERSION}files/<str:form>/", sets.VersionFile.as_view(), name="api-propara-version-file"),
    path(f"{_VERSION}score-earlier/", sets.ScoreEarlier.as_view(), name="api-propara-score-earlier"),
    path(f"{_VERSION}leaderboard/", board.Leaderboard.as_view(), name="api-propara-leaderboard"),
    path(f"{_VERSION}published/", board.PublishedList.as_view(), name="api-propara-published"),
    path(f"{_VERSION}published/known/", board.PublishedKnown.as_view(), name="api-propara-published-known"),
    path(
        f"{_VERSION}published/<int:pk>/",
        board.PublishedDetail.as_view(),
        name="api-propara-published-result",
    ),
    path("propara/evaluate/", submissions.Evaluate.as_view(), name="api-propara-evaluate"),
    path("propara/generate/", submissions.Generate.as_view(), name="api-propara-generate"),
    path("propara/compare/", submissions.Compare.as_view(), name="api-propara-compare"),
    path("propara/rescore/", submissions.Rescore.as_view(), name="api-propara-rescore"),
    path("propara/submissions/", submissions.SubmissionList.as_view(), name="api-propara-submissions"),
    path(_ONE, submissions.SubmissionDetail.as_view(), name="api-propara-submission"),
    path(f"{_ONE}agree/", submissions.Agree.as_view(), name="api-propara-agree"),
    path(f"{_ONE}save/", submissions.Save.as_view(), name="api-propara-save"),
    path(f"{_ONE}score-on/", submissions.ScoreOn.as_view(), name="api-propara-score-on"),
    path(f"{_ONE}cancel/", submissions.Cancel.as_view(), name="api-propara-cancel"),
    path(f"{_ONE}retry/", submissions.Retry.as_view(), name="api-propara-retry"),
    path(f"{_ONE}report/", submissions.Report.as_view(), name="api-propara-report"),
    path(f"{_ONE}processes/", submissions.Processes.as_view(), name="api-propara-processes"),
    path(f"{_ONE}processes/<int:process_id>/", submissions.Process.as_view(), name="api-propara-process"),
    path(f"{_ONE}files/<str:form>/", submissions.SubmissionFile.as_view(), name="api-propara-file"),
]
