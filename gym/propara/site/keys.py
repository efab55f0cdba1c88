"""An answer set that gets a secret address closes the old ones of its submissions, too: they would tell the new one."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver

from gym.propara.models import AnswerSet, FormerSubmissionKey, Submission
from gym.sharing.addresses import renew_keys, secret_address_given


@receiver(secret_address_given, sender=AnswerSet, dispatch_uid="gym.propara.keys")
def _new_keys(thing: AnswerSet, **kwargs: Any) -> None:
    renew_keys(Submission.objects.filter(version__answer_set=thing).only("pk", "key"), FormerSubmissionKey)
