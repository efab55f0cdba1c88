"""OpenID Connect, with what allauth's provider leaves out: a nonce, and checks of the ID token's signature, of the
issuer that the discovery document names, and of the subject of the user info (OpenID Connect Core 1.0, 3.1.3.7 and
5.3.2; Discovery 1.0, 4.3). ORCID is an OpenID Connect issuer, too."""

from __future__ import annotations

from typing import Any

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare, salted_hmac

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures by a private key of the issuer. HS256 and `none` are not among them."""
NEEDED = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
CLOCK_SECONDS = 60
"""Difference between the clocks that is accepted."""


def checked_configuration(answer: Any, issuer: str) -> dict[str, Any]:
    """Return a discovery document. Raises OAuth2Error if it is incomplete or belongs to another issuer."""
    if not isinstance(answer, dict) or any(not isinstance(answer.get(name), str) for name in NEEDED):
        raise OAuth2Error(f"the discovery document of {issuer} lacks one of {', '.join(NEEDED)}")
    if answer["issuer"].rstrip("/") != issuer:
        raise OAuth2Error(f"the discovery document of {issuer} names another issuer, {answer['issuer']}")
    return answer


class OidcAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth is untyped
    """The requests of one sign-in."""

    nonce = ""

    @property
    def openid_config(self) -> dict[str, Any]:
        configuration: dict[str, Any] = super().openid_config
        return checked_configuration(configuration, self.get_provider().app.settings["issuer"])

    def get_access_token_data(
        self, request: HttpRequest, app: SocialApp, client: Any, pkce_code_verifier: str | None = None
    ) -> Any:
        self.nonce = nonce_of(pkce_code_verifier or "")
        return super().get_access_token_data(request, app, client, pkce_code_verifier)

    def complete_login(
        self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any
    ) -> SocialLogin:
        claims = self._decode_id_token(app, kwargs["response"].get("id_token"))
        if not constant_time_compare(str(claims.get("nonce", "")), self.nonce):
            raise OAuth2Error("the ID token belongs to another sign-in (nonce)")
        if "userinfo_endpoint" in self.openid_config:
            info = self._fetch_user_info(token.token)
            if info.get("sub") != claims["sub"]:
                raise OAuth2Error("the user info belongs to another person (sub)")
            claims |= info
        return self.get_provider().sociallogin_from_response(request, claims)

    def _decode_id_token(self, app: SocialApp, id_token: Any) -> dict[str, Any]:
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
        try:
            key = _key(jwt.PyJWKSet.from_dict(answer.json()), jwt.get_unverified_header(id_token).get("kid"))
            claims: dict[str, Any] = jwt.decode(
                id_token,
                key,
                algorithms=ALGORITHMS,
                audience=app.client_id,
                issuer=self.openid_config["issuer"],
                leeway=CLOCK_SECONDS,
                options={"require": ["exp", "iat", "sub", "aud", "iss"]},
            )
        except (jwt.PyJWTError, AttributeError) as error:  # AttributeError: the keys are not an object
            raise OAuth2Error(f"the ID token is not valid: {error}") from error
        return claims


def _key(keys: jwt.PyJWKSet, key_id: str | None) -> jwt.PyJWK:
    matches = [
        key for key in keys.keys if key_id in (None, key.key_id) and key.public_key_use in (None, "sig")
    ]
    if not matches:
        raise OAuth2Error("the issuer has no key for the signature of the ID token")
    return matches[0]


def nonce_of(code_verifier: str) -> str:
    """Derive the nonce of a sign-in from its PKCE verifier, which the session keeps, so that both are used once."""
    return salted_hmac("gym.accounts.external.oidc.nonce", code_verifier, algorithm="sha256").hexdigest()


class OidcProvider(OpenIDConnectProvider):  # type: ignore[misc]  # allauth is untyped
    """Provider of `GYM_OIDC_…` and `GYM_ORCID_…`, distinguished by `app.provider_id`."""

    oauth2_adapter_class = OidcAdapter
    pkce_enabled_default = True

    def get_pkce_params(self) -> dict[str, str]:
        """Add the nonce to the parameters that send a person to the issuer."""
        parameters: dict[str, str] = super().get_pkce_params()
        return parameters | {"nonce": nonce_of(parameters["code_verifier"])}

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the claims to store: who it is for people, and the groups."""
        names = ("name", "preferred_username", "email")
        kept = {name: data[name] for name in names if isinstance(data.get(name), str)}
        groups = data.get(settings.GYM_OIDC_GROUPS_CLAIM)
        return kept | {"groups": [str(group) for group in groups] if isinstance(groups, list) else []}
