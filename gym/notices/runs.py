"""Notifications about finished runs, shared by the apps that have runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gym.accounts.models import User
from gym.jobs.models import State
from gym.notices.models import Notice
from gym.notices.services import notify
from lmgym.text import count


@dataclass(frozen=True)
class Ended:
    """A finished run. `who` is the model's name, `what` the name of the suite or data it ran on; `address` and
    `what_address` are the URLs of the run and of this suite or data (empty if not on this site)."""

    state: str
    who: str
    what: str
    address: str
    what_address: str


def notify_of_runs(owner: User, runs: Iterable[Ended], *, noun: str, all_runs: str) -> None:
    """Send one notification with the numbers of finished and failed runs; cancelled runs are left out. It links to the
    single run, else to the suite or data that all of them ran on, else to `all_runs`."""
    runs = [run for run in runs if run.state in (State.DONE, State.FAILED)]
    if not runs:
        return
    places = {run.what_address: run.what for run in runs}
    failed = sum(run.state == State.FAILED for run in runs)
    done = len(runs) - failed
    place, title = next(iter(places.items())) if len(places) == 1 else ("", "")
    where = f" on {title}" if title else ""
    if len(runs) == 1:
        text = f"{runs[0].who}{where} {'failed' if failed else 'is done'}."
        address = runs[0].address
    else:
        finished = f"{count(done, noun)}{where} {'is' if done == 1 else 'are'} done"
        text = (
            f"{finished}{f', {failed} failed' if failed else ''}."
            if done
            else f"{count(failed, noun)}{where} failed."
        )
        address = place or all_runs
    notify(owner, Notice.Kind.RUNS, text, address)
