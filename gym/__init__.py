"""The site of LM Gym, on top of the library `lmgym`."""
