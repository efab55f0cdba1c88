"""LM Challenge: typing games (next word, text completion, input correction) on any predictive language model.

The games, logs and statistics follow LM Challenge 4 and 5. `play` plays them, `logs` reads and counts their logs, `cli`
is the command line. docs/lmchallenge-reference.md lists what differs from the original program.
"""
