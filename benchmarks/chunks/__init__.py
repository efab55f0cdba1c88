"""What it costs that a run is cut into chunks."""
