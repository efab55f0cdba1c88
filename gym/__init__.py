"""LM Gym: targeted tests for language models, in the open."""

__version__ = "0.1.0"
