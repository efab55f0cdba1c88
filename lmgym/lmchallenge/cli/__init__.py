"""Command line of LM Challenge: `lmgym lmc` and `manage.py lmc`. The entry point is `main`."""
