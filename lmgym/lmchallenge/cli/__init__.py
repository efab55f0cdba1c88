"""The command line of LM Challenge: `lmgym lmc` and `manage.py lmc`. Start at `main`."""
