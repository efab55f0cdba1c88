"""What counts as blank."""

BLANKS = " \t\r\n\v\f"
"""What counts as blank in a suite and in what models read. No-break, narrow and ideographic spaces are text."""
