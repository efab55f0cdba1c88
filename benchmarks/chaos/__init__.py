LEASE = 5.0
"""Lease of a job in seconds; the site's default is 60."""
