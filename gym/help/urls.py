from django.urls import path

from gym.help import views

urlpatterns = [
    path("", views.help_home, name="help"),
    path("templates/<slug:form>/", views.help_template, name="help-template"),
    path("<slug:name>/", views.help_page, name="help-page"),
]
