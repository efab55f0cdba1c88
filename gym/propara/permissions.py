"""Permissions on answer sets and submissions, used by services, pages and the API."""

from __future__ import annotations

from gym.accounts.models import AnyUser
from gym.propara.models import AnswerSet, Submission
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns


def can_view(user: AnyUser, answer_set: AnswerSet) -> bool:
    """Return True if the set is public or unlisted, or if the user is its owner, a collaborator or staff."""
    return answer_set.visibility != Visibility.PRIVATE or may_read(user, answer_set)


def can_edit(user: AnyUser, answer_set: AnswerSet) -> bool:
    """Return True for users who may edit metadata and add versions: owner, staff, and collaborators who can edit."""
    return may_edit(user, answer_set)


def can_manage(user: AnyUser, answer_set: AnswerSet) -> bool:
    """Return True for users who may change the visibility and delete the set: owner and staff."""
    return owns(user, answer_set)


def can_submit(user: AnyUser, answer_set: AnswerSet) -> bool:
    return bool(user.is_authenticated and can_view(user, answer_set))


def can_steer(user: AnyUser, submission: Submission) -> bool:
    """Return True for users who may agree to repairs, edit and delete: the submitter and staff. The owner of the answer
    set could delete unwelcome results and is therefore excluded."""
    return owns(user, submission)
