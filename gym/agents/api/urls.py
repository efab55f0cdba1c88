from django.urls import path

from gym.agents.api import runs, servers, suites
from gym.agents.views import SHAREABLE
from gym.sharing.api import people_api

_SERVER = "agent-servers/<slug:slug>/"
_SUITE = "agent-suites/<slug:slug>/"
_RUN = "agent-runs/<slug:key>/"
_CASE_RUN = f"{_RUN}cases/<int:pk>/"

urlpatterns = [
    path("agent-servers/", servers.Servers.as_view(), name="api-agent-servers"),
    path(_SERVER, servers.Server.as_view(), name="api-agent-server"),
    path(f"{_SERVER}check/", servers.Check.as_view(), name="api-agent-server-check"),
    path("agent-suites/", suites.Suites.as_view(), name="api-agent-suites"),
    path(_SUITE, suites.Suite.as_view(), name="api-agent-suite"),
    *people_api(SHAREABLE, _SUITE),
    path(f"{_SUITE}matrix/", suites.Matrix.as_view(), name="api-agent-matrix"),
    path(f"{_SUITE}schedules/", suites.Schedules.as_view(), name="api-agent-schedules"),
    path(
        f"{_SUITE}schedules/<int:pk>/resume/",
        suites.ScheduleResume.as_view(),
        name="api-agent-schedule-resume",
    ),
    path(f"{_SUITE}schedules/<int:pk>/", suites.Schedule.as_view(), name="api-agent-schedule"),
    path(f"{_SUITE}export/", suites.Export.as_view(), name="api-agent-suite-export"),
    path(f"{_SUITE}check/", suites.Check.as_view(), name="api-agent-case-check"),
    path(f"{_SUITE}cases/", suites.Cases.as_view(), name="api-agent-cases"),
    path(f"{_SUITE}cases/<int:pk>/", suites.Case.as_view(), name="api-agent-case"),
    path("agent-compare/", runs.AgentCompare.as_view(), name="api-agent-compare"),
    path("agent-runs/batch/", runs.Batch.as_view(), name="api-agent-runs-batch"),
    path("agent-runs/", runs.Runs.as_view(), name="api-agent-runs"),
    path(_RUN, runs.Run.as_view(), name="api-agent-run"),
    path(f"{_RUN}results/", runs.Results.as_view(), name="api-agent-results"),
    path(f"{_RUN}files/<slug:form>/", runs.RunFile.as_view(), name="api-agent-run-file"),
    path(f"{_RUN}cancel/", runs.Cancel.as_view(), name="api-agent-cancel"),
    path(f"{_RUN}retry/", runs.Retry.as_view(), name="api-agent-retry"),
    path(f"{_RUN}rescore/", runs.Rescore.as_view(), name="api-agent-rescore"),
    path(_CASE_RUN, runs.CaseResult.as_view(), name="api-agent-case-run"),
    path(f"{_RUN}failures/", runs.Failures.as_view(), name="api-agent-failures"),
    path(f"{_RUN}namings/", runs.Namings.as_view(), name="api-agent-namings"),
    path(f"{_CASE_RUN}naming/", runs.CaseNaming.as_view(), name="api-agent-case-naming"),
    path(f"{_SUITE}failure-modes/", runs.Modes.as_view(), name="api-agent-modes"),
]
