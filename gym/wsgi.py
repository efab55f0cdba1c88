"""WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gym.settings")
application = get_wsgi_application()

from gym.time_limits import limit_statements  # noqa: E402  settings are read by now

limit_statements()
