"""What may stand in an address."""

from __future__ import annotations


class UserName:
    """A user name as sign-up takes it; "/" and U+0000 are none."""

    regex = r"[\w.@+-]{1,150}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
