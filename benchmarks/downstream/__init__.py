"""From token bits to outcomes, over many items."""
