"""What is told of runs that have ended, in every room that has runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gym.accounts.models import User
from gym.jobs.models import State
from gym.notices.models import Notice
from gym.notices.services import tell
from lmgym.text import count


@dataclass(frozen=True)
class Ended:
    """A run: its state, who ran on what, in words, and the addresses of the run and of what it ran on (both empty where
    that is not on this site)."""

    state: str
    who: str
    what: str
    address: str
    what_address: str


def tell_of_runs(owner: User, runs: Iterable[Ended], *, noun: str, all_runs: str) -> None:
    """One notice for all: how many are done and how many failed. Cancelled ones are nobody's news. It leads to the run,
    else to what all ran on, else to the list of one's runs."""
    runs = [run for run in runs if run.state in (State.DONE, State.FAILED)]
    if not runs:
        return
    places = {run.what_address: run.what for run in runs}
    failed = sum(run.state == State.FAILED for run in runs)
    done = len(runs) - failed
    place, what = next(iter(places.items())) if len(places) == 1 else ("", "")
    where = f" on {what}" if what else ""
    if len(runs) == 1:
        text = f"{runs[0].who}{where} {'failed' if failed else 'is done'}."
        address = runs[0].address
    else:
        said = f"{count(done, noun)}{where} {'is' if done == 1 else 'are'} done"
        text = (
            f"{said}{f', {failed} failed' if failed else ''}."
            if done
            else f"{count(failed, noun)}{where} failed."
        )
        address = place or all_runs
    tell(owner, Notice.Kind.RUNS, text, address)
