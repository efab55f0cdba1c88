"""Authentication of API requests by token, and their rate limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied, Throttled
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from gym.accounts import second_factor, throttle, tokens
from gym.accounts.models import ApiToken, User

if TYPE_CHECKING:
    from rest_framework.views import APIView


class TokenAuthentication(BaseAuthentication):
    """Authentication by `Authorization: Bearer lmg_…`. An invalid token gives a 401 even where no token is required."""

    keyword = "Bearer"

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, plain = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != self.keyword.lower():
            return None
        limit, address = throttle.bad_token_by_address(), throttle.client_address(request)
        try:
            token = tokens.find_token(plain.strip())
        except tokens.BadToken as error:
            try:
                limit.take(address)
            except throttle.TooManyTries as refused:
                raise Throttled(refused.wait) from None
            raise AuthenticationFailed(str(error)) from None
        if second_factor.is_missing(token.user):
            raise PermissionDenied(second_factor.MISSING)
        tokens.mark_used(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return f'{self.keyword} realm="LM Gym"'


class Requests(SimpleRateThrottle):
    """Throttle of GYM_API_REQUESTS_PER_MINUTE requests per account (with a token) or IP address (anonymous).

    Counted in process memory: a database row would turn every read into a write. Requests from browsers with a session
    are not limited, as for pages."""

    def get_rate(self) -> str | None:
        limit = settings.GYM_API_REQUESTS_PER_MINUTE
        return f"{limit}/minute" if limit else None

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        if not request.user.is_authenticated:
            return f"api-address-{throttle.client_address(request)}"
        return f"api-user-{request.user.pk}" if request.auth else None
