from django.urls import path

from gym.staff import invitation_views, views

urlpatterns = [
    path("", views.staff, name="staff"),
    path("accounts/", views.staff_accounts, name="staff-accounts"),
    path("doctor/", views.staff_doctor, name="staff-doctor"),
    path("clean-up/", views.staff_clean_up, name="staff-clean-up"),
    path("tidy/", views.staff_tidy, name="staff-tidy"),
    path("invitations/", invitation_views.staff_invitations, name="staff-invitations"),
    path(
        "invitations/<int:pk>/resend/",
        invitation_views.staff_invitation_resend,
        name="staff-invitation-resend",
    ),
    path(
        "invitations/<int:pk>/revoke/",
        invitation_views.staff_invitation_revoke,
        name="staff-invitation-revoke",
    ),
    path("weights/", views.staff_weights, name="staff-weights"),
]
