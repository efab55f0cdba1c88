"""Help on the site: the project's own docs for users, and files to begin a suite with."""
