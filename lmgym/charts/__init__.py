"""Drawings of results, made with lmgym.charts.svg: once for the page, once for a paper."""
