"""How a draft is edited; the public face is `suites.editing`."""
