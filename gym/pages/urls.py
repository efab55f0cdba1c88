from django.urls import path

from gym.pages import figure_views

urlpatterns = [
    path("figures/<slug:kind>.<slug:form>", figure_views.figure, name="figure"),
]
