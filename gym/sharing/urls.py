from django.urls import path

from gym.sharing import views

urlpatterns = [
    path("from/<int:inviter>/accept/", views.invitations_accept, name="invitations-accept"),
    path("<int:pk>/accept/", views.invitation_accept, name="invitation-accept"),
    path("<int:pk>/decline/", views.invitation_decline, name="invitation-decline"),
]
