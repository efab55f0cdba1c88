"""LM Challenge: typing games (next word, text completion, input correction) on any predictive language model.

The games, logs and statistics follow LM Challenge 4. docs/lmchallenge.md has the contracts.
"""
