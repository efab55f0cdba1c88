"""The leaderboard, comparisons and profiles of models in the REST API: the numbers of their pages."""
