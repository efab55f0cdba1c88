"""Typing games of `lmgym.lmchallenge` on the site: jobs, pages, API."""
