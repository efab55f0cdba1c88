"""How many requests the API takes in a minute from the tokens of an account, or from an address without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from gym.accounts.throttle import client_address

if TYPE_CHECKING:
    from rest_framework.views import APIView


class Requests(SimpleRateThrottle):
    """GYM_API_REQUESTS_PER_MINUTE, counted in the memory of the process: a row in the database would make each read a
    write. Several tokens of an account share it. Calls of a signed-in browser are bounded as pages are."""

    def get_rate(self) -> str | None:
        limit = settings.GYM_API_REQUESTS_PER_MINUTE
        return f"{limit}/minute" if limit else None

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        if not request.user.is_authenticated:
            return f"api-address-{client_address(request)}"
        return f"api-user-{request.user.pk}" if request.auth else None
