"""Notifications: what happened to somebody's things while they were away. Rooms write them by `services.tell`."""
