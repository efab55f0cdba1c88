"""The typing games from `lmgym.lmchallenge` on the site: jobs, pages and API."""
