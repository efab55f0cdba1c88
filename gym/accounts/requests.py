"""Request types whose `user` is signed in, for views behind `login_required` and API operations that need an
account."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.request import Request

from gym.accounts.models import User


class SignedInRequest(HttpRequest):
    user: User


class SignedInApiRequest(Request):
    user: User
