"""Cost of splitting a run into chunks."""
