"""Logs of games: read and write them, count them, compare them and show them in colour.

`log_rows` is the format of version 4, `decoder` reads it fast, and `table` turns a log into the columns that everything
else counts. `version5` has the parts that differ for LM Challenge 5.
"""
