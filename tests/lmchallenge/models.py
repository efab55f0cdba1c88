"""Model programs for the tests: `python models.py MODE`. Well-behaved unless the mode says otherwise."""

import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "echo"
WORDS = ["the", "cat", "sat", "on", "mat"]
seen: dict[str, int] = {}
asked = 0


def answer(context: str, candidates: list[str]) -> str:
    if candidates:
        pairs = [(word, seen.get(word, 0) - sum(map(ord, word)) % 7) for word in candidates]
    else:
        pairs = [(word, seen.get(word, 0) - at) for at, word in enumerate([*WORDS, *seen])]
    return "\t".join(f"{word}\t{score}" for word, score in pairs)


if MODE == "slow-start":
    time.sleep(0.6)
if MODE == "stderr":
    sys.stderr.write("loading weights\n" * 20_000)
    sys.stderr.flush()
for raw in iter(sys.stdin.buffer.readline, b""):
    command, *fields = raw.decode("utf-8").rstrip("\n").split("\t")
    if command == "clear":
        seen.clear()
    elif command == "train":
        for word in fields[0].split():
            seen[word] = seen.get(word, 0) + 1
        if MODE == "late-train":
            time.sleep(0.1)
            sys.stdout.write("\n")
            sys.stdout.flush()
    else:
        asked += 1
        if MODE == "crash" and asked == 6:
            sys.stderr.write("out of memory\n")
            sys.exit(7)
        if MODE == "hang" and asked == 6:
            time.sleep(3600)
        reply = answer(fields[0], fields[1:])
        if MODE == "steady":
            time.sleep(0.01)
        if MODE == "huge":
            reply = "x" * 300_000 + "\t1"
        sys.stdout.buffer.write((reply + "\n").encode())
        sys.stdout.buffer.flush()
if MODE == "deaf":
    time.sleep(3600)
