from django.urls import path

from gym.sharing import invitation_views

urlpatterns = [
    path("<int:pk>/accept/", invitation_views.invitation_accept, name="invitation-accept"),
    path("<int:pk>/decline/", invitation_views.invitation_decline, name="invitation-decline"),
]
