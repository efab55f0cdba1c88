from django.urls import path

from gym.lmchallenge.api import corpora, games, guesses, reading
from gym.lmchallenge.views import SHAREABLE
from gym.sharing.api import people_api

_CORPUS = "lmc/corpora/<slug:slug>/"
_GAME = "lmc/games/<slug:key>/"

urlpatterns = [
    path("lmc/corpora/", corpora.CorpusList.as_view(), name="api-lmc-corpora"),
    path("lmc/check/", corpora.CorpusCheck.as_view(), name="api-lmc-check"),
    path("lmc/players/", games.Players.as_view(), name="api-lmc-players"),
    path(_CORPUS, corpora.CorpusDetail.as_view(), name="api-lmc-corpus"),
    *people_api(SHAREABLE, _CORPUS),
    path(f"{_CORPUS}files/<str:form>/", corpora.CorpusFile.as_view(), name="api-lmc-corpus-file"),
    path("lmc/games/", games.GameList.as_view(), name="api-lmc-games"),
    path("lmc/games/batch/", games.GameBatch.as_view(), name="api-lmc-game-batch"),
    path("lmc/logs/", games.LogList.as_view(), name="api-lmc-logs"),
    path("lmc/guesses/", guesses.GuessList.as_view(), name="api-lmc-guesses"),
    path("lmc/guesses/<int:pk>/", guesses.GuessDetail.as_view(), name="api-lmc-guess"),
    path("lmc/compare/text/", reading.CompareText.as_view(), name="api-lmc-compare-text"),
    path("lmc/compare/", reading.Compare.as_view(), name="api-lmc-compare"),
    path(_GAME, games.GameDetail.as_view(), name="api-lmc-game"),
    path(f"{_GAME}cancel/", games.Cancel.as_view(), name="api-lmc-cancel"),
    path(f"{_GAME}retry/", games.Retry.as_view(), name="api-lmc-retry"),
    path(f"{_GAME}count-again/", games.CountAgain.as_view(), name="api-lmc-count-again"),
    path(f"{_GAME}files/<str:form>/", reading.GameLog.as_view(), name="api-lmc-log"),
    path(f"{_GAME}text/", reading.GameText.as_view(), name="api-lmc-text"),
    path(f"{_GAME}statistics/", reading.Statistics.as_view(), name="api-lmc-statistics"),
    path(f"{_GAME}search/", reading.Search.as_view(), name="api-lmc-search"),
]
