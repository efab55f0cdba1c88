"""Attack: several anonymous clients repeatedly search the suites for many short words.

python -m benchmarks.attacks.searches [--url http://127.0.0.1:8000] [--clients 8] [--seconds 30]

First, alice creates a public suite whose title and ten tags contain every word.
"""

from __future__ import annotations

import http.client
import sys
import threading
import time
from collections import Counter

from benchmarks.attacks.people import alice, made
from benchmarks.attacks.watching import Watching, arguments, place_of
from benchmarks.edit.site import document

SEARCHES = (
    "a+a+a+a+a+a+a+a",
    "+".join("abcdefghij"),
    "+".join(f"a{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"),
    "a" * 50_000,
)


def main() -> None:
    options = arguments(__doc__, clients=8, seconds=30)
    tags = [f"abcdefghij{number}" for number in range(10)]
    suite = {"title": f"abcdefghij {time.time():.0f}", "visibility": "public", "tags": tags}
    made(alice(options.url), "/api/v1/suites/", suite | {"document": document()})
    end = time.monotonic() + options.seconds
    answers: Counter[str] = Counter()
    longest = [0.0]

    def search() -> None:
        connection = http.client.HTTPConnection(*place_of(options.url), timeout=60)
        turn = 0
        while time.monotonic() < end:
            began = time.monotonic()
            try:
                connection.request("GET", f"/suites/?q={SEARCHES[turn % len(SEARCHES)]}")
                answer = connection.getresponse()
                answer.read()
                answers[str(answer.status)] += 1
            except (OSError, http.client.HTTPException):
                answers["none"] += 1
                connection.close()
            longest.append(time.monotonic() - began)
            turn += 1

    with Watching(options.url) as watching:
        threads = [threading.Thread(target=search) for _ in range(options.clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(
        f"{options.clients} clients; responses: {dict(sorted(answers.items()))}; slowest search {max(longest):.2f} s"
    )
    sys.exit(not watching.ends_well())


if __name__ == "__main__":
    main()
