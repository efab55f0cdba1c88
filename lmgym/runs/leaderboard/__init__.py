"""Models x suites: the table, its means, ranks and order, and its files. A site fills it with rows of its own."""
