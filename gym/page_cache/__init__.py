"""Pages and API responses that visitors share, kept in each web process until a table they were read from changes."""
