"""Drawings of results, made with gym.lib.charts.svg: once for the page, once for a paper."""
