"""People beside models: reading times and judgments for the sentences of a suite.

`observations.py` has what every other module works on; `intake/` reads files of experiments and matches them to a
suite; `exclusions.py` trims; `simulate.py` makes an experiment with a known effect; `predictions.py` evaluates the
suite's predictions on people; `against.py` and `mixed_models.py` explain people's values by the surprisals of models.
"""
