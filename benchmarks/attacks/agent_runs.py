"""Attack: one account starts agent runs that only wait, while bob requests scores.

python -m benchmarks.attacks.agent_runs [--url http://127.0.0.1:8000] [--runs 4] [--seconds 30]

A run of 50 cases that would take weeks must be rejected. The others, 50 minutes each, must not delay other work.
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.attacks.people import alice, bob, made, seconds_for_a_score
from benchmarks.attacks.watching import Watching, arguments

GOAL_SECONDS = 5.0
"""Time limit for a score that bob requests while a run waits."""
AGENT = "demo-agents"


def case(iterations: int) -> str:
    return f'agent: echo\nsuccess_ratio: "1/{iterations}"\ninteractions: [{{text: "SLEEP(290)"}}]\n'


def main() -> None:
    options = arguments(__doc__, runs=4, seconds=30)
    person, other = alice(options.url), bob(options.url)
    slugs = []
    for title, cases in (
        ("Weeks", {f"slow{number}": case(1_000) for number in range(50)}),
        ("Fifty minutes", {"slow": case(10)}),
    ):
        suite = made(person, "/api/v1/agent-suites/", {"title": f"{title} {time.time():.0f}"})
        made(person, f"/api/v1/agent-suites/{suite['id']}/cases/", {"cases": cases})
        slugs.append(suite["id"])
    weeks, answer = person.ask("POST", "/api/v1/agent-runs/", {"suite": slugs[0], "server": AGENT})
    print(f"weeks: {weeks} {json.dumps(answer)[:200]}")
    runs = [
        made(person, "/api/v1/agent-runs/", {"suite": slugs[1], "server": AGENT, "parallel": 1})["id"]
        for _ in range(options.runs)
    ]
    scores = []
    with Watching(options.url) as watching:
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            scores.append(seconds_for_a_score(other))
            time.sleep(1)
        for key in runs:
            person.send("POST", f"/api/v1/agent-runs/{key}/cancel/")
    print(
        f"{options.runs} waiting runs; {len(scores)} scores meanwhile, the slowest took {max(scores):.2f} s"
    )
    sys.exit(not (watching.ends_well() and weeks == 400 and max(scores) < GOAL_SECONDS))


if __name__ == "__main__":
    main()
