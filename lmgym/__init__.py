"""Targeted tests for language models: suites, surprisal, predictions, and three neighbouring evaluations.

Nothing here imports Django or the site (gym, suites, models_registry), which stands on top of this package.
"""

__version__ = "0.1.0"
