"""Play games: the rules of each game, the loop over a corpus, and the players that make predictions.

Needs only the row format of `lmgym.lmchallenge.logs`. torch is imported only in functions that run a model.
"""
