"""A trivial model program that returns a few fixed predictions, or a score per candidate."""

import sys

for line in sys.stdin:
    command, *fields = line.rstrip("\n").split("\t")
    if command == "predict":
        words = fields[1:] or ["the", "of", "and", " ", "s"]
        reply = "\t".join(f"{word}\t-{at + len(word)}" for at, word in enumerate(words))
        sys.stdout.write(reply + "\n")
        sys.stdout.flush()
