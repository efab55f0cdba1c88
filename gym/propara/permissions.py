"""Who may do what with answer sets and submissions. One table, asked by services, pages and API alike."""

from __future__ import annotations

from gym.accounts.models import AnyUser
from gym.propara.models import AnswerSet, Submission
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns


def can_view(user: AnyUser, answer_set: AnswerSet) -> bool:
    """Public and unlisted ones are for everybody who knows the address; private ones for their people and staff."""
    return answer_set.visibility != Visibility.PRIVATE or may_read(user, answer_set)


def can_edit(user: AnyUser, answer_set: AnswerSet) -> bool:
    """Edit metadata and add versions: the owner, staff and collaborators who may edit."""
    return may_edit(user, answer_set)


def can_manage(user: AnyUser, answer_set: AnswerSet) -> bool:
    """Change visibility and delete: the owner and staff."""
    return owns(user, answer_set)


def can_submit(user: AnyUser, answer_set: AnswerSet) -> bool:
    return bool(user.is_authenticated and can_view(user, answer_set))


def can_steer(user: AnyUser, submission: Submission) -> bool:
    """Agree to repairs, edit, delete: the person who submitted, and staff. Not the answer set's owner, who could
    otherwise delete unwelcome results."""
    return owns(user, submission)
