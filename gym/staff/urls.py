from django.urls import path

from gym.staff import views

urlpatterns = [
    path("", views.staff, name="staff"),
    path("accounts/", views.staff_accounts, name="staff-accounts"),
    path("doctor/", views.staff_doctor, name="staff-doctor"),
    path("clean-up/", views.staff_clean_up, name="staff-clean-up"),
    path("tidy/", views.staff_tidy, name="staff-tidy"),
    path("weights/", views.staff_weights, name="staff-weights"),
]
