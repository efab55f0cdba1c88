from django.urls import path

from gym.notices import views

urlpatterns = [
    path("", views.notifications, name="notifications"),
    path("read/", views.notifications_read, name="notifications-read"),
    path("<int:pk>/read/", views.notification_read, name="notification-read"),
]
