"""Surprisals of plain sentences on demand: no suite, no regions, no formula."""
