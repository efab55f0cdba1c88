"""Game logs: read, write, evaluate, compare and colour them.

`log_rows` is the format of version 4, `decoder` reads it fast, and `table` turns a log into columns for
statistics. `version5` has the parts that differ in LM Challenge 5.
"""
