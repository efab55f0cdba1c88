"""Runs, results, uploads, scores and the leaderboard in the REST API."""
