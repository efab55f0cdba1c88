"""What every room may use. Imports no Django and no room."""
