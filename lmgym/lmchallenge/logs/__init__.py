"""Logs of games: read, write, count, compare and colour them.

`log_rows` is the format of version 4, `decoder` reads it fast, and `table` turns a log into columns for counting.
`version5` has the parts that differ in LM Challenge 5.
"""
