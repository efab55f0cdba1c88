from django.urls import path

from gym.agents import selectors
from gym.agents.api import runs, servers, suites
from gym.sharing.api import people_api

_SERVER = "agent-servers/<slug:slug>/"
_SUITE = "agent-suites/<slug:slug>/"
_RUN = "agent-runs/<slug:key>/"
urlpatterns = [
    path("agent-servers/", servers.Servers.as_view(), name="api-agent-servers"),
    path(_SERVER, servers.Server.as_view(), name="api-agent-server"),
    path(f"{_SERVER}check/", servers.Check.as_view(), name="api-agent-server-check"),
    path("agent-suites/", suites.Suites.as_view(), name="api-agent-suites"),
    path(_SUITE, suites.Suite.as_view(), name="api-agent-suite"),
    *people_api("api-agent-suite", selectors.visible_to, _SUITE),
    path(f"{_SUITE}export/", suites.Export.as_view(), name="api-agent-suite-export"),
    path(f"{_SUITE}cases/", suites.Cases.as_view(), name="api-agent-cases"),
    path(f"{_SUITE}cases/<int:pk>/", suites.Case.as_view(), name="api-agent-case"),
    path("agent-compare/", runs.AgentCompare.as_view(), name="api-agent-compare"),
    path("agent-runs/", runs.Runs.as_view(), name="api-agent-runs"),
    path(_RUN, runs.Run.as_view(), name="api-agent-run"),
    path(f"{_RUN}results/", runs.Results.as_view(), name="api-agent-results"),
    path(f"{_RUN}files/<slug:form>/", runs.RunFile.as_view(), name="api-agent-run-file"),
    path(f"{_RUN}cancel/", runs.Cancel.as_view(), name="api-agent-cancel"),
    path(f"{_RUN}rescore/", runs.Rescore.as_view(), name="api-agent-rescore"),
]
