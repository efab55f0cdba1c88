"""Give games new keys when their corpus gets a secret address, which the old keys would reveal."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver

from gym.lmchallenge.models import Corpus, FormerGameKey, Game
from gym.sharing.addresses import renew_keys, secret_address_given


@receiver(secret_address_given, sender=Corpus, dispatch_uid="gym.lmchallenge.keys")
def _new_keys(obj: Corpus, **kwargs: Any) -> None:
    renew_keys(Game.objects.filter(corpus=obj).only("pk", "key"), FormerGameKey)
