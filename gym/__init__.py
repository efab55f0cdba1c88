"""The LM Gym site, built on the library `lmgym`."""
