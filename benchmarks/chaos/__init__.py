LEASE = 5.0
"""Seconds; the site's default is 60."""
