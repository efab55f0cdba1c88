"""Results for other programs. `evaluated` and `pairs` are pure."""
