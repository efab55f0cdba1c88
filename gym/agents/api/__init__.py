"""REST API for agent servers, suites of agent tests, cases and runs."""
