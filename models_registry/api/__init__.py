"""The models' resources in the REST API."""
