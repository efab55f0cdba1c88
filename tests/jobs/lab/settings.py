"""Settings of a site with only accounts, jobs and the lab's handlers, for worker and server processes."""

import os

from gym.settings import *  # noqa: F403
from gym.settings import DATABASES

INSTALLED_APPS = [
    "gym.accounts",
    "django.contrib.admin.apps.SimpleAdminConfig",  # no account lists, which need the whole site
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "gym.jobs",
    "tests.jobs.lab",
]
MIDDLEWARE = []
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "tests.jobs.lab.urls"
SILENCED_SYSTEM_CHECKS = ["admin.E408", "admin.E409", "admin.E410"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

GYM_JOB_QUEUES = ["default", *filter(None, [os.environ.get("LAB_QUEUE")])]
GYM_BROKER_NAMESPACE = os.environ.get("LAB_NAMESPACE", "lab")
GYM_JOB_LEASE_SECONDS = float(os.environ.get("LAB_LEASE", "1.5"))
GYM_REAPER_SECONDS = 0.3
GYM_JOB_RETRY_SECONDS = 0.1
GYM_JOB_STOP_SECONDS = float(os.environ.get("LAB_STOP", "3"))
GYM_JOB_REACT_SECONDS = float(os.environ.get("LAB_REACT", "7"))
GYM_JOB_DEAF_SECONDS = float(os.environ.get("LAB_DEAF", "60"))
DATABASES["default"].setdefault("OPTIONS", {})
MIGRATION_MODULES = dict.fromkeys(  # create the current tables directly; migrations have their own tests
    ["accounts", "admin", "auth", "contenttypes", "sessions", "jobs"]
)
