"""The suites' resources in the REST API."""
