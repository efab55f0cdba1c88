"""Suites in the REST API."""
