"""The typing games of `lmgym.lmchallenge` on the site: jobs, pages and API."""
