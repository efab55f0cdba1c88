"""Models × suites: table, means, ranks, order, and files. The site fills it from its database."""
