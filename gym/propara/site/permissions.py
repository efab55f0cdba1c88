"""Who may do what with answer sets and submissions. One table, asked by services, pages and API alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gym.propara.models import AnswerSet, Submission
from suites.models import Visibility

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User


def _owns(user: User | AnonymousUser, thing: AnswerSet | Submission) -> bool:
    return bool(user.is_authenticated and (user.is_staff or thing.owner_id == user.pk))


def can_view(user: User | AnonymousUser, answer_set: AnswerSet) -> bool:
    """Public and unlisted ones are for everybody who knows the address; private ones for their owner and staff."""
    return answer_set.visibility != Visibility.PRIVATE or _owns(user, answer_set)


def can_edit(user: User | AnonymousUser, answer_set: AnswerSet) -> bool:
    return _owns(user, answer_set)


def can_submit(user: User | AnonymousUser, answer_set: AnswerSet) -> bool:
    return bool(user.is_authenticated and can_view(user, answer_set))


def can_steer(user: User | AnonymousUser, submission: Submission) -> bool:
    """Agree to repairs, edit, delete: the person who submitted, and staff. Not the answer set's owner: results that
    displease stay."""
    return _owns(user, submission)
