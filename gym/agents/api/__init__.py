"""REST API of agent servers, suites of agent tests, cases and runs."""
