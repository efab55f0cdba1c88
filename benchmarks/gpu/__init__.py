"""Correctness, robustness and speed on a GPU: python -m benchmarks.gpu."""
