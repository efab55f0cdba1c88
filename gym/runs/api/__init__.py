"""Runs, results and uploads in the REST API."""
