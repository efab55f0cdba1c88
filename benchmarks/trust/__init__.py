"""Fifteen faults of programs that compute surprisals, each with the right value and every program's answer."""
