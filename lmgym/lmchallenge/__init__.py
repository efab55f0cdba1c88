"""LM Challenge: typing games (next word, text completion, input correction) for any predictive language model.

The games, logs and statistics follow LM Challenge 4 and 5. `play` plays the games, `logs` reads and evaluates
logs, and `cli` is the command line. docs/lmchallenge-reference.md lists the differences from the original
program.
"""
