"""Models in the REST API."""
