from django.urls import path

from gym.accounts import second_factor_views, views
from gym.accounts.external import views as external

urlpatterns = [
    path("login/", views.SignIn.as_view(), name="login"),
    path("login/", views.SignIn.as_view(), name="account_login"),  # allauth's name for it
    path("logout/", views.SignOut.as_view(), name="logout"),
    path("sign-up/", views.sign_up, name="sign-up"),
    path("invitation/<str:token>/", views.invitation, name="account-invitation"),
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
    # Other services. The names with underscores are those by which allauth looks up its pages.
    path("services/", external.connection_list, name="socialaccount_connections"),
    path("services/<int:pk>/disconnect/", external.disconnect, name="service-disconnect"),
    path("services/sign-up/", external.sign_up, name="socialaccount_signup"),
    path("services/cancelled/", external.cancelled, name="socialaccount_login_cancelled"),
    path("services/<slug:kind>/start/", external.start, name="service-start"),
    path("services/github/callback/", external.github_callback, name="github_callback"),
    path("services/<slug:provider_id>/callback/", external.oidc_callback, name="openid_connect_callback"),
    # Second factors
    path("reauthenticate/", second_factor_views.reauthenticate, name="account_reauthenticate"),
    path("2fa/", second_factor_views.index, name="mfa_index"),
    path("2fa/authenticate/", second_factor_views.authenticate, name="mfa_authenticate"),
    path("2fa/reauthenticate/", second_factor_views.code_again, name="mfa_reauthenticate"),
    path("2fa/app/", second_factor_views.totp_activate, name="mfa_activate_totp"),
    path("2fa/app/remove/", second_factor_views.totp_deactivate, name="mfa_deactivate_totp"),
    path("2fa/recovery-codes/", second_factor_views.codes, name="mfa_view_recovery_codes"),
    path("2fa/recovery-codes/new/", second_factor_views.codes_generate, name="mfa_generate_recovery_codes"),
    path("2fa/recovery-codes/file/", second_factor_views.codes_download, name="mfa_download_recovery_codes"),
    path("2fa/passkeys/", second_factor_views.passkeys, name="mfa_list_webauthn"),
    path("2fa/passkeys/add/", second_factor_views.passkey_add, name="mfa_add_webauthn"),
    path("2fa/passkeys/again/", second_factor_views.passkey_again, name="mfa_reauthenticate_webauthn"),
    path("2fa/passkeys/<int:pk>/", second_factor_views.passkey_edit, name="mfa_edit_webauthn"),
    path("2fa/passkeys/<int:pk>/remove/", second_factor_views.passkey_remove, name="mfa_remove_webauthn"),
]
