#!/usr/bin/env python3
"""Fake LM Zoo container that tests run as a program. The environment is empty, so its behaviour is set by
arguments."""

import json
import os
import re
import sys
import time
import zlib

WAYS = set(sys.argv[1].split(","))
COMMAND = sys.argv[2]
VOCABULARY = ["<s>", "</s>", "<unk>", "the", "keys", "are", "on", "table", "."]


def tokens_of(sentence):
    found = re.findall(r"\w+|[^\w\s]", sentence.lower())
    if "drops" in WAYS:
        found = [token for token in found if token != "."]
    if "oov" in WAYS or "hidden-oov" in WAYS:
        unknown = "<unk>" if "oov" in WAYS else "zzz"
        found = [token if token in VOCABULARY else unknown for token in found]
    start = ["<s>"] if "bos" in WAYS else []
    return start + found + (["</s>"] if "eos" in WAYS else [])


def bits_of(tokens, k):
    return round(1 + zlib.crc32(" ".join(tokens[: k + 1]).encode()) % 1000 / 100, 4)


def main():
    if COMMAND == "spec":
        if "no-spec" in WAYS:
            sys.exit(99)
        spec = {
            "name": "toy",
            "image": {"version": "7"},
            "vocabulary": {
                "items": VOCABULARY,
                "unk_types": ["<unk>"],
                "prefix_types": ["<s>"],
                "suffix_types": ["</s>"],
                "special_types": [],
            },
            "tokenizer": {
                "cased": False,
                "type": "word",
                "drop_token_pattern": r"^[.]+$" if "drops" in WAYS else None,
            },
        }
        print("nonsense" if "bad-spec" in WAYS else json.dumps(spec))
        return
    assert sys.argv[3:] == ["/dev/stdin"]
    sentences = [line.rstrip("\n") for line in sys.stdin]
    if COMMAND == "tokenize":
        if "no-tokenize" in WAYS:
            sys.exit(99)
        for sentence in sentences:
            print(" ".join(tokens_of(sentence)) + (" more" if "disagrees" in WAYS else ""))
    elif COMMAND == "unkify":
        for sentence in sentences:
            print(" ".join(str(int(token == "zzz")) for token in tokens_of(sentence)))
    elif COMMAND == "get_surprisals":
        get_surprisals(sentences)


def get_surprisals(sentences):
    if "no-surprisals" in WAYS:
        sys.exit(99)
    if "fails" in WAYS:
        print("Traceback: out of memory", file=sys.stderr)
        sys.exit(3)
    if "hangs" in WAYS:
        if os.fork() == 0:
            time.sleep(60)
        time.sleep(60)
    if "floods" in WAYS:
        while True:
            print("x" * 100_000)
    print("sentence\ttoken" if "bad-header" in WAYS else "sentence_id\ttoken_id\ttoken\tsurprisal")
    for number, sentence in enumerate(sentences, 1):
        tokens = tokens_of(sentence)
        if "wrong-words" in WAYS and "wrong" in sentence:
            tokens[-2] = "other"
        for k, token in enumerate(tokens):
            bits = 0.0 if k == 0 else bits_of(tokens, k)
            if "not-a-number" in WAYS and "wrong" in sentence and k == 1:
                bits = "nan"
            print(f"{number + ('one-off' in WAYS)}\t{k + 1}\t{token}\t{bits}")
    print(f"HOME={os.environ.get('GYM_SECRET_KEY')}", file=sys.stderr)


main()
