"""Leaderboard of models × suites: table, means, ranks, order and export. The site fills it from its database."""
