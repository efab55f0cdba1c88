"""Agents, suites of agent tests, their cases and runs in the REST API."""
