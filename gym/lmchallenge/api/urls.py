from django.urls import path

from gym.lmchallenge import selectors
from gym.lmchallenge.api import corpora, games, reading
from gym.sharing.api import people_api

_CORPUS = "lmc/corpora/<slug:slug>/"
_GAME = "lmc/games/<slug:key>/"

urlpatterns = [
    path("lmc/corpora/", corpora.CorpusList.as_view(), name="api-lmc-corpora"),
    path("lmc/players/", games.Players.as_view(), name="api-lmc-players"),
    path(_CORPUS, corpora.CorpusDetail.as_view(), name="api-lmc-corpus"),
    *people_api("api-lmc-corpus", selectors.visible_to, _CORPUS),
    path(f"{_CORPUS}files/<str:form>/", corpora.CorpusFile.as_view(), name="api-lmc-corpus-file"),
    path("lmc/games/", games.GameList.as_view(), name="api-lmc-games"),
    path("lmc/logs/", games.LogList.as_view(), name="api-lmc-logs"),
    path("lmc/compare/", reading.Compare.as_view(), name="api-lmc-compare"),
    path(_GAME, games.GameDetail.as_view(), name="api-lmc-game"),
    path(f"{_GAME}cancel/", games.Cancel.as_view(), name="api-lmc-cancel"),
    path(f"{_GAME}files/<str:form>/", reading.GameLog.as_view(), name="api-lmc-log"),
    path(f"{_GAME}statistics/", reading.Statistics.as_view(), name="api-lmc-statistics"),
]
