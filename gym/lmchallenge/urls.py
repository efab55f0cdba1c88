from django.urls import path

from gym.lmchallenge import game_views, views
from gym.sharing.views import people_urls

_CORPUS = "corpora/<slug:slug>/"
_GAME = "<slug:key>/"

urlpatterns = [
    path("", views.overview, name="lmc-list"),
    path("corpora/new/", views.corpus_new, name="lmc-corpus-new"),
    path(_CORPUS, views.corpus_detail, name="lmc-corpus"),
    *people_urls(views.SHAREABLE, _CORPUS),
    path(f"{_CORPUS}edit/", views.corpus_edit, name="lmc-corpus-edit"),
    path(f"{_CORPUS}delete/", views.corpus_delete, name="lmc-corpus-delete"),
    path(f"{_CORPUS}download/<str:form>/", views.corpus_download, name="lmc-corpus-download"),
    path(f"{_CORPUS}play/", game_views.start, name="lmc-start"),
    path("upload/", game_views.upload, name="lmc-upload"),
    path("compare/", game_views.compare, name="lmc-compare"),
    path("compare/text/", game_views.compare_text, name="lmc-compare-text"),
    path("compare/comparison.csv", game_views.compare_table, name="lmc-compare-csv"),
    path(_GAME, game_views.game_detail, name="lmc-game"),
    path(f"{_GAME}progress/", game_views.game_progress, name="lmc-progress"),
    path(f"{_GAME}cancel/", game_views.game_cancel, name="lmc-cancel"),
    path(f"{_GAME}retry/", game_views.game_retry, name="lmc-retry"),
    path(f"{_GAME}count-again/", game_views.game_count_again, name="lmc-count-again"),
    path(f"{_GAME}edit/", game_views.game_edit, name="lmc-edit"),
    path(f"{_GAME}delete/", game_views.game_delete, name="lmc-delete"),
    path(f"{_GAME}text/", game_views.game_text, name="lmc-text"),
    path(f"{_GAME}search/", game_views.mixture, name="lmc-search"),
    path(f"{_GAME}download/<str:form>/", game_views.game_download, name="lmc-download"),
]
