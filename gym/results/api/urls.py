from django.urls import path

from gym.results.api import board, comparing, profile

urlpatterns = [
    path("leaderboard/", board.Leaderboard.as_view(), name="api-leaderboard"),
    path("compare/", comparing.Models.as_view(), name="api-compare"),
    path("compare/<slug:slug>/", comparing.OnSuite.as_view(), name="api-compare-suite"),
    path("compare/<slug:slug>/items/", comparing.Items.as_view(), name="api-compare-items"),
    path("models/<slug:slug>/profile/", profile.Profile.as_view(), name="api-model-profile"),
]
