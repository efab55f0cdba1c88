"""How many requests somebody may send: one allowance per account, or per address without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from gym.accounts import throttle

if TYPE_CHECKING:
    from rest_framework.views import APIView


class Requests(BaseThrottle):
    """GYM_API_REQUESTS_PER_MINUTE; several tokens of one account share it."""

    wait_seconds: float | None = None

    def allow_request(self, request: Request, view: APIView) -> bool:
        user = request.user
        subject = f"user {user.pk}" if user.is_authenticated else throttle.client_address(request)
        try:
            throttle.api_requests().take(subject)
        except throttle.TooManyTries as error:
            self.wait_seconds = error.wait
            return False
        return True

    def wait(self) -> float | None:
        return self.wait_seconds
