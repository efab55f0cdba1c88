"""Notifications about events on a user's objects. Apps write them with `services.notify`."""
