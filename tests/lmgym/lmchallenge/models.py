"""Model programs for the tests: `python models.py MODE`. Well-behaved unless the mode says otherwise."""

import os
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "echo"
WORDS = ["the", "cat", "sat", "on", "mat"]
SHOWING = (
    "honest",
    "banner",
    "scored-banner",
    "extra",
    "extra-crash",
    "extra-hang",
)  # replies identify the request
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
if MODE in ("banner", "scored-banner"):  # prints a line during a slow start
    sys.stdout.write("Loading model weights ...\n" if MODE == "banner" else "epoch\t3\n")
    sys.stdout.flush()
    time.sleep(0.3)
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
        if MODE == "extra-crash" and asked == 20:
            sys.exit(7)
        if MODE == "extra-hang" and asked == 20:
            time.sleep(3600)
        if MODE == "crash" and asked == 6:
            sys.stderr.write("out of memory\n")
            sys.exit(7)
        if MODE == "hang" and asked == 6:
            time.sleep(3600)
        reply = answer(fields[0], fields[1:])
        if MODE == "steady" or (MODE == "moody" and asked % 3 == 0):
            time.sleep(0.01)
        if MODE in SHOWING:
            time.sleep(0.004)
            reply = f"ctx{len(fields[0])}\t-1"
        if MODE == "huge":
            reply = "x" * 300_000 + "\t1"
        sys.stdout.buffer.write((reply + "\n").encode())
        sys.stdout.buffer.flush()
        if MODE in ("extra", "extra-crash", "extra-hang") and asked == 10:
            time.sleep(0.002)
            sys.stdout.write("cache flushed\t0\n")
            sys.stdout.flush()
        if MODE == "leaves" and asked == 6 and os.fork() == 0:
            time.sleep(20)  # keeps standard output open
            os._exit(0)
        if MODE == "leaves" and asked == 6:
            os._exit(4)
if MODE == "deaf":
    time.sleep(3600)
