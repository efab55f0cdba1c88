"""Who sends an API request: the bearer of a token, or somebody signed in on the pages."""

from __future__ import annotations

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from gym.accounts import throttle, tokens
from gym.accounts.models import ApiToken, User


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer lmg_…`. A wrong token is refused, also where nobody needs one: 401, never a guess."""

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
        tokens.mark_used(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return f'{self.keyword} realm="LM Gym"'
