"""Background jobs. Rows hold the state; messages only wake up workers. Independent of the site's other apps."""
