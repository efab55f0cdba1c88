"""Attack: one account requests scores on many connections at once, more than the worker can compute.

python -m benchmarks.attacks.many_scores [--url http://127.0.0.1:8000] [--clients 40] [--seconds 20]
"""

from __future__ import annotations

import copy
import http.client
import json
import sys
import threading
import time
from collections import Counter

from benchmarks.attacks.people import alice
from benchmarks.attacks.watching import Watching, arguments

SENTENCES = 30


def main() -> None:
    options = arguments(__doc__, clients=40, seconds=20)
    person = alice(options.url)
    end = time.monotonic() + options.seconds
    answers: Counter[str] = Counter()

    def ask(client: int) -> None:
        mine = copy.copy(person)
        mine.connection = copy.copy(person.connection)
        mine.connection.sock = None
        turn = 0
        while time.monotonic() < end:
            turn += 1
            texts = [f"The {client} old farmers saw {turn} and {row} cats." for row in range(SENTENCES)]
            body = json.dumps({"model": "demo-gpt2", "sentences": texts})
            try:
                answers[str(mine.send("POST", "/api/v1/score/", body)[0])] += 1
            except (OSError, http.client.HTTPException):
                answers["none"] += 1
                mine.connection.close()

    with Watching(options.url) as watching:
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(options.clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f"{options.clients} clients; responses: {dict(sorted(answers.items()))}")
    sys.exit(not watching.ends_well())


if __name__ == "__main__":
    main()
