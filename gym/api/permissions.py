"""What a token is good for. What its owner may do is for the services and selectors to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from gym.accounts.models import ApiToken, Scope

if TYPE_CHECKING:
    from rest_framework.views import APIView


class TokenScope(BasePermission):
    """Reading needs `read`, writing the scope that the view names in `token_scope` (by default `write`)."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        if not isinstance(token, ApiToken):
            return True
        needed = Scope.READ if request.method in SAFE_METHODS else getattr(view, "token_scope", Scope.WRITE)
        self.message = f"This token may not do that: it lacks the scope {needed}."
        return token.allows(needed)
