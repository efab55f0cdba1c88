"""Drawings of results, made with gym.evaluations.svg: once for the page, once for a paper."""
