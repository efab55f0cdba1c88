"""Token scopes. Services and selectors check the permissions of the token's owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from gym.accounts.models import ApiToken, Scope

if TYPE_CHECKING:
    from rest_framework.views import APIView


class TokenScope(BasePermission):
    """Permission that requires the token scope `read` for safe methods, else the view's `token_scope`
    (default: `write`)."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        if not isinstance(token, ApiToken):
            return True
        needed = Scope.READ if request.method in SAFE_METHODS else getattr(view, "token_scope", Scope.WRITE)
        self.message = f"This token lacks the scope {needed}."
        return token.allows(needed)
