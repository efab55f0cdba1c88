"""Permissions on answer sets and submissions, used by services, pages and API."""

from __future__ import annotations

from gym.accounts.models import AnyUser
from gym.propara.models import AnswerSet, Submission
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns


def can_view(user: AnyUser, answer_set: AnswerSet) -> bool:
    """Public and unlisted sets: everybody who knows the address. Private ones: owner, collaborators and staff."""
    return answer_set.visibility != Visibility.PRIVATE or may_read(user, answer_set)


def can_edit(user: AnyUser, answer_set: AnswerSet) -> bool:
    """Edit metadata and add versions: owner, staff, and collaborators who can edit."""
    return may_edit(user, answer_set)


def can_manage(user: AnyUser, answer_set: AnswerSet) -> bool:
    """Change visibility and delete: owner and staff."""
    return owns(user, answer_set)


def can_submit(user: AnyUser, answer_set: AnswerSet) -> bool:
    return bool(user.is_authenticated and can_view(user, answer_set))


def can_steer(user: AnyUser, submission: Submission) -> bool:
    """Agree to repairs, edit and delete: the submitter and staff, but not the owner of the answer set, who could delete
    unwelcome results."""
    return owns(user, submission)
