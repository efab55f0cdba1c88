from django.urls import path

from gym.accounts import views

urlpatterns = [
    path("login/", views.SignIn.as_view(), name="login"),
    path("logout/", views.SignOut.as_view(), name="logout"),
    path("sign-up/", views.sign_up, name="sign-up"),
    path("profile/edit/", views.profile_edit, name="profile-edit"),
    path("password/", views.password_change, name="password-change"),
    path("password/reset/", views.password_reset, name="password-reset"),
    path("password/reset/sent/", views.password_reset_sent, name="password-reset-sent"),
    path(
        "password/reset/<uidb64>/<token>/",
        views.PasswordResetConfirm.as_view(),
        name="password-reset-confirm",
    ),
    path("tokens/", views.token_list, name="token-list"),
    path("tokens/<int:pk>/revoke/", views.token_revoke, name="token-revoke"),
    path("hub-token/", views.hub_token_edit, name="hub-token"),
    path("hub-token/delete/", views.hub_token_delete, name="hub-token-delete"),
]
