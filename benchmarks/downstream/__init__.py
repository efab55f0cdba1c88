"""Time from token bits to outcomes, for many items."""
